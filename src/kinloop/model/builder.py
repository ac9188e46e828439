"""A builder that reads like the mechanism it builds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.errors import ModelError
from kinloop.model import joints as jt
from kinloop.model.annotations import Actuator, Keyframe
from kinloop.model.body import Body, Geometry
from kinloop.model.frame import WORLD, Frame, placement
from kinloop.model.joint import Joint
from kinloop.model.loops import (
    Coupling,
    FunctionCoupling,
    LinearCoupling,
    Loop,
    LoopFunction,
    LoopJoint,
    PolynomialCoupling,
    Rod,
)
from kinloop.model.loops.traced_function import JointFunction
from kinloop.model.mechanism import GRAVITY, Mechanism
from kinloop.spatial import Transform, rpy_rotation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from kinloop.robot import Robot


def joint_type(kind: str | jt.JointType, axis: str | ArrayLike | None = None, **more: Any) -> jt.JointType:
    """A joint type from its name, an axis where it has one, and further parameters (pitch, axis2)."""
    if isinstance(kind, jt.JointType):
        return kind
    if kind not in jt.JOINT_TYPES:
        raise ModelError(f"joint type {kind!r} is not one of {', '.join(jt.JOINT_TYPES)}")
    if axis is not None:
        more["axis"] = jt.unit_axis(axis)
    unknown = [key for key in more if key not in jt.JOINT_TYPES[kind].__dataclass_fields__]
    if unknown:
        raise ModelError(f"a {kind} joint takes no {', '.join(unknown)}; remove what it does not have")
    return jt.JOINT_TYPES[kind](**more)


def pose(
    at: ArrayLike = (0.0, 0.0, 0.0),
    rpy: ArrayLike | None = None,
    rotation: ArrayLike | None = None,
    what: str = "placement",
) -> Transform:
    """A pose from a position and either roll-pitch-yaw or a rotation matrix."""
    if rpy is not None:
        rotation = rpy_rotation(*np.asarray(rpy, dtype=float))
    return placement(at, rotation, what)


class Builder:
    """Collects bodies, joints, loops and couplings; `mechanism()` checks them, `build()` makes the robot.

    Every body comes with the joint that carries it:

        b = Builder("four_bar")
        b.body("crank", mass=1, com=(0.2, 0, 0), inertia=(0, 0.01, 0.01), joint="revolute", axis="y")
        b.body("coupler", "crank", at=(0.4, 0, 0), ...)
        b.body("rocker", at=(1.2, 0, 0), ...)
        b.loop("pin", "coupler", "rocker", "revolute", axis="y", at=(1, 0, 0), at_successor=(0.8, 0, 0))
        robot = b.build()
    """

    def __init__(self, name: str = "mechanism", gravity: Sequence[float] = GRAVITY) -> None:
        self.name, self.gravity = name, gravity
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.loops: list[Loop] = []
        self.couplings: list[Coupling] = []
        self.frames: list[Frame] = []
        self.independent: list[str] = []
        self.constrained: list[str] = []
        self.actuators: list[Actuator] = []
        self.keyframes: list[Keyframe] = []
        self.end_effectors: list[str] = []
        self.world_geometry: list[Geometry] = []

    def body(
        self,
        name: str,
        parent: str = WORLD,
        *,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        joint: str | jt.JointType = "revolute",
        axis: str | ArrayLike | None = None,
        at: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        joint_name: str | None = None,
        accept_inertia: bool = False,
        geometry: tuple[Geometry, ...] = (),
        **more: Any,
    ) -> str:
        """Add a body and the joint that carries it, `at` (3) [m] of its `parent`; returns the joint's name.

        `mass` [kg], `com` (3) [m], `inertia` (3) or (3, 3) [kg m^2] about the com. `more` has parameters of the joint's
        type (pitch [m/rad], axis2) and of the joint (armature [kg m^2, kg], damping [N m s, N s/m], ...).
        """
        self.bodies.append(Body(name, mass, com, inertia, accept_inertia, geometry))
        joint_name = joint_name or f"{name}_joint"
        where = pose(at, rpy, rotation, f"placement of joint {joint_name!r}")
        own = {key: more.pop(key) for key in list(more) if key in Joint.__dataclass_fields__}
        self.joints.append(Joint(joint_name, parent, name, joint_type(joint, axis, **more), where, **own))
        return joint_name

    def frame(
        self,
        name: str,
        body: str,
        at: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        """Name a frame fixed to a body, `at` (3) [m], turned by `rpy` (3) [rad] or `rotation` (3, 3)."""
        self.frames.append(Frame(name, body, pose(at, rpy, rotation, f"placement of frame {name!r}")))

    def loop(
        self,
        name: str,
        predecessor: str,
        successor: str,
        kind: str | jt.JointType = "revolute",
        *,
        axis: str | ArrayLike | None = None,
        at: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        at_successor: ArrayLike = (0.0, 0.0, 0.0),
        rpy_successor: ArrayLike | None = None,
        rotation_successor: ArrayLike | None = None,
        **more: Any,
    ) -> None:
        """Close a loop by a joint, `at` (3) [m] on the predecessor and `at_successor` (3) [m] on the successor."""
        self.loops.append(
            LoopJoint(
                name,
                predecessor,
                successor,
                joint_type(kind, axis, **more),
                pose(at, rpy, rotation, f"predecessor frame of loop {name!r}"),
                pose(at_successor, rpy_successor, rotation_successor, f"successor frame of loop {name!r}"),
            )
        )

    def rod(
        self, name: str, predecessor: str, successor: str, at: ArrayLike, at_successor: ArrayLike, length: float
    ) -> None:
        """Tie points `at` (3) [m] and `at_successor` (3) [m] of two bodies by a massless rod of fixed `length` [m]."""
        self.loops.append(Rod(name, predecessor, successor, at, at_successor, length))

    def loop_function(self, name: str, joints: Sequence[str], phi: JointFunction) -> None:
        """Close a loop by phi(positions of the joints) = 0."""
        self.loops.append(LoopFunction(name, tuple(joints), phi))

    def gear(self, driven: str, driver: str, ratio: float, offset: float = 0.0, name: str | None = None) -> None:
        """q_driven = ratio * q_driver + offset [rad, m], e.g. a rotor (driven) on a link's joint (driver)."""
        self.linear([driven], [driver], [[ratio]], [offset], name or f"{driver}~{driven}")

    mimic = gear

    def linear(
        self,
        dependent: Sequence[str],
        independent: Sequence[str],
        matrix: ArrayLike,
        offset: ArrayLike | None = None,
        name: str = "",
    ) -> None:
        """q_dependent (m) = matrix (m, n) @ q_independent + offset (m) [rad, m]: belts, linear differentials."""
        name = name or "~".join((*independent, *dependent))
        self.couplings.append(LinearCoupling(name, tuple(dependent), tuple(independent), matrix, offset))

    def polynomial(self, dependent: str, independent: str, coefficients: Sequence[float], name: str = "") -> None:
        """q_dependent = c0 + c1 q_independent + c2 q_independent^2 + ... [rad, m]."""
        name = name or f"{independent}~{dependent}"
        self.couplings.append(PolynomialCoupling(name, (dependent,), (independent,), tuple(map(float, coefficients))))

    def coupling(
        self, dependent: Sequence[str], independent: Sequence[str], gamma: JointFunction, name: str = ""
    ) -> None:
        """q_dependent = gamma(q_independent...), any function."""
        name = name or "~".join((*independent, *dependent))
        self.couplings.append(FunctionCoupling(name, tuple(dependent), tuple(independent), gamma))

    def mechanism(self) -> Mechanism:
        """What was added, as a frozen and checked description."""
        return Mechanism(
            self.name, tuple(self.bodies), tuple(self.joints), tuple(self.loops), tuple(self.couplings),
            tuple(self.frames), tuple(self.independent), self.gravity, tuple(self.constrained),
            actuators=tuple(self.actuators), keyframes=tuple(self.keyframes), end_effectors=tuple(self.end_effectors),
            world_geometry=tuple(self.world_geometry),
        )  # fmt: skip

    def build(self, **options: Any) -> Robot:
        """The robot; `options` are those of `kinloop.Robot`."""
        return self.mechanism().build(**options)
