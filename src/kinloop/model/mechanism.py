"""A mechanism: the rigid-body connectivity graph, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kinloop.model.annotations import Actuator, CarriedWeight, Keyframe
from kinloop.model.body import Body, Geometry
from kinloop.model.contact_rules import ContactRules
from kinloop.model.frame import WORLD, Frame
from kinloop.model.frozen_arrays import frozen
from kinloop.model.joint import Joint
from kinloop.model.joints import JointType
from kinloop.model.loops import Coupling, Loop, LoopClosure
from kinloop.model.sensor import Sensor
from kinloop.model.tendon import Tendon
from kinloop.model.validation import validate

if TYPE_CHECKING:
    from kinloop.robot import Robot

GRAVITY = (0.0, 0.0, -9.81)
SEQUENCES = (
    "bodies", "joints", "loops", "couplings", "frames", "independent", "constrained",
    "actuators", "keyframes", "motors", "end_effectors", "world_geometry", "inactive", "warnings",
    "tendons", "carried", "sensors",
)  # fmt: skip
"""Fields of a mechanism that are sequences: any iterable is taken and kept as a tuple."""


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Bodies, tree joints, loops and couplings. The order of `joints` is the order of q.

    `independent` names joints whose velocities the user wants in v (their clusters' others follow);
    clusters it does not touch choose by conditioning. `"joint[1]"` names one coordinate of a joint.
    `constrained` names loops that are not embedded in clusters but kept as motion constraints.

    What follows `constrained` is kept for users, the simulator and the viewer; dynamics never looks at it. `motors`
    names joints that motors drive, `end_effectors` frames, `inactive` loops that the file has and does not close.
    `contact_rules` say which shapes may touch, `warnings` what of the file was taken with reservations or left out,
    `source` is the file's path. `tendons` pull, and weights are `carried`, in simulations; `sensors` are what they can
    tell.
    """

    name: str = "mechanism"
    bodies: tuple[Body, ...] = ()
    joints: tuple[Joint, ...] = ()
    loops: tuple[Loop, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    frames: tuple[Frame, ...] = ()
    independent: tuple[str, ...] = ()
    gravity: Any = GRAVITY
    constrained: tuple[str, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    keyframes: tuple[Keyframe, ...] = ()
    motors: tuple[str, ...] = ()
    end_effectors: tuple[str, ...] = ()
    world_geometry: tuple[Geometry, ...] = ()
    contact_rules: ContactRules = field(default_factory=ContactRules)
    inactive: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    source: str | None = None
    tendons: tuple[Tendon, ...] = ()
    carried: tuple[CarriedWeight, ...] = ()
    sensors: tuple[Sensor, ...] = ()

    def __post_init__(self) -> None:
        for parts in SEQUENCES:
            object.__setattr__(self, parts, tuple(getattr(self, parts)))
        object.__setattr__(self, "gravity", frozen(self.gravity, (3,), f"gravity of {self.name!r}"))
        validate(self)
        object.__setattr__(self, "joints", _regular_order(self))
        order = {j.child: k for k, j in enumerate(self.joints)}
        object.__setattr__(self, "bodies", tuple(sorted(self.bodies, key=lambda b: order[b.name])))

    @cached_property
    def body_names(self) -> frozenset[str]:
        return frozenset(b.name for b in self.bodies)

    @cached_property
    def joint_types(self) -> dict[str, JointType]:
        """The types of joints, by their names."""
        return {j.name: j.type for j in self.joints}

    @cached_property
    def parents(self) -> frozenset[str]:
        """Bodies, or the world, on which others move."""
        return frozenset(j.parent for j in self.joints)

    @property
    def closures(self) -> tuple[LoopClosure, ...]:
        """Everything that closes a loop: loops, then couplings."""
        return (*self.loops, *self.couplings)

    def build(self, **options: Any) -> Robot:
        """The robot: clusters, coordinates, algorithms. Options as for `kinloop.Robot`."""
        from kinloop.robot import Robot  # the one import against the layers: the front door's front step

        return Robot(self, **options)


def _regular_order(m: Mechanism) -> tuple[Joint, ...]:
    """Joints as given, moved only where a child came before its parent."""
    carrier = {j.child: j for j in m.joints}
    done, out = {WORLD}, []
    for joint in m.joints:
        chain = []
        while joint.child not in done:
            chain.append(joint)
            done.add(joint.child)
            if joint.parent in done:
                break
            joint = carrier[joint.parent]
        out += chain[::-1]
    return tuple(out)
