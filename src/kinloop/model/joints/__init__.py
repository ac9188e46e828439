"""Joint types: what motion each allows, in any direction, and the rows it writes where it closes a loop.

joint_type      JointType, the base of all; AxisJoint, the base of those with an axis; unit_axis, perpendicular
fixed           no motion
revolute        rotation about an axis
prismatic       translation along an axis
helical         a screw
cylindrical     rotation about and translation along one axis
planar          motion in a plane
universal       two rotations about perpendicular axes
spherical       a ball in a socket
free            all six freedoms

`JOINT_TYPES` is the registry: the types by the names that builders and files use. A type need not be in it
to be used; docs/extending.md shows how to write one.
"""

from kinloop.errors import ModelError
from kinloop.model.joints.cylindrical import Cylindrical
from kinloop.model.joints.fixed import Fixed
from kinloop.model.joints.free import Free
from kinloop.model.joints.helical import Helical
from kinloop.model.joints.joint_type import (
    Axis,
    AxisJoint,
    JointType,
    X,
    Y,
    Z,
    check_joint_type,
    perpendicular,
    unit_axis,
)
from kinloop.model.joints.planar import Planar
from kinloop.model.joints.prismatic import Prismatic
from kinloop.model.joints.revolute import Revolute
from kinloop.model.joints.spherical import Spherical
from kinloop.model.joints.universal import Universal

JOINT_TYPES: dict[str, type[JointType]] = {
    cls.__name__.lower(): cls
    for cls in (Revolute, Prismatic, Helical, Universal, Spherical, Planar, Cylindrical, Free, Fixed)
}


def registered_name(kind: JointType) -> str:
    """The name of a type in the registry, for files; a type that is not in it is refused."""
    if JOINT_TYPES.get(kind.name) is not type(kind):
        raise ModelError(
            f"joint type {type(kind).__name__} is not one of {', '.join(JOINT_TYPES)}, the types a file can hold; "
            "use one of these, or build the mechanism in Python"
        )
    return kind.name


__all__ = [
    "JOINT_TYPES", "Axis", "AxisJoint", "Cylindrical", "Fixed", "Free", "Helical", "JointType", "Planar", "Prismatic",
    "Revolute", "Spherical", "Universal", "X", "Y", "Z", "check_joint_type", "perpendicular", "registered_name",
    "unit_axis",
]  # fmt: skip
