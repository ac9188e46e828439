"""Forces that a user adds to a simulation: springs, dampers, and functions of time and state.

`Simulator(robot, forces=[...])` takes them, and every integrator evaluates them at every one of its stages. A spring or
damper acts along coordinates of its own (`spring_rows`); the default integrator takes it implicitly
(`implicit_springs`). An `ExternalForce` may be any function, and is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import FrameAt, find_frame
from kinloop.clusters import ClusterTree
from kinloop.compiler.keys import function_digest
from kinloop.errors import MethodError, ShapeError, unknown
from kinloop.inputs import checked, checked_number
from kinloop.model.frame import WORLD
from kinloop.model.frozen_arrays import frozen
from kinloop.model.joints import Prismatic, Revolute
from kinloop.model.loops import LoopJoint
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.sim.force_state import BodyPlaces, ForceState
from kinloop.sim.spring_rows import BoundSpring, CoordinateSpring, LoopJointSpring, PointSpring, frame_with
from kinloop.spatial import Transform
from kinloop.spatial.transform import cross

AXES = ("world", "body")

ForceFunction = Callable[[ForceState], Any]
"""The state -> a wrench (6,), [moment; force] [N m, N], written with functions of `kinloop.scalar`."""


@dataclass(frozen=True)
class Spring:
    """A spring with a damper between points of two bodies or frames, one of which may be "world".

    With a `length` [m] it acts along the line between the points: stiffness (l - length) + damping dl/dt pulls them
    together. Without one it pulls the second point towards the first in all directions alike, and damps its motion as
    the first body sees it. `stiffness` [N/m], `damping` [N s/m]; `at_first` and `at_second` (3) [m] are places in the
    bodies or frames.
    """

    first: str
    second: str
    stiffness: float
    length: float = 0.0
    damping: float = 0.0
    at_first: ArrayLike = (0.0, 0.0, 0.0)
    at_second: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        what = f"of the spring from {self.first!r} to {self.second!r}"
        for name in ("stiffness", "length", "damping"):
            checked_number(f"{name} {what}", getattr(self, name), "not be negative or infinite", 0.0)
        _fix_places(self, what)

    def bound(self, tree: ClusterTree) -> BoundSpring:
        """The spring of a robot."""
        ends = _ends(self, tree.top, "spring")
        return PointSpring(*ends, self.stiffness, self.length, self.damping, not self.length)


@dataclass(frozen=True)
class Damper:
    """A damper along the line between points of two bodies or frames: damping [N s/m] dl/dt pulls them together.

    `at_first` and `at_second` (3) [m] are places in the bodies or frames."""

    first: str
    second: str
    damping: float
    at_first: ArrayLike = (0.0, 0.0, 0.0)
    at_second: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        what = f"of the damper from {self.first!r} to {self.second!r}"
        checked_number(f"damping {what}", self.damping, "not be negative or infinite", 0.0)
        _fix_places(self, what)

    def bound(self, tree: ClusterTree) -> BoundSpring:
        """The damper of a robot."""
        return PointSpring(*_ends(self, tree.top, "damper"), 0.0, 0.0, self.damping, False)


@dataclass(frozen=True)
class JointSpring:
    """A spring with a damper on a joint: a coordinate of the tree, or a revolute or prismatic joint that closes a loop.

    The force is -stiffness (x - rest) - damping dx/dt. The angle of a loop joint is taken within half a turn of `rest`.
    """

    joint: str
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0

    def __post_init__(self) -> None:
        what = f"of the spring on joint {self.joint!r}"
        for name in ("stiffness", "damping"):
            checked_number(f"{name} {what}", getattr(self, name), "not be negative or infinite", 0.0)
        checked_number(f"rest {what}", self.rest, "be a finite number")

    def bound(self, tree: ClusterTree) -> BoundSpring:
        """The spring of a robot."""
        top, numbers = tree.top, (self.stiffness, self.damping, self.rest)
        loops = {c.name: c for c in top.mechanism.closures if isinstance(c, LoopJoint)}
        if self.joint in top.coordinates:
            dof = top.coordinates.index(self.joint)
            place = _place_of(top, dof)
            if place < 0 and self.stiffness:
                raise MethodError(f"coordinate {self.joint!r} has no plain position; a spring on it needs one")
            return CoordinateSpring(dof, place, *numbers)
        if self.joint not in loops:
            raise unknown("joint", self.joint, [*top.coordinates, *loops])
        loop = loops[self.joint]
        if not isinstance(loop.type, Revolute | Prismatic):
            raise MethodError(
                f"loop joint {self.joint!r} is of type {loop.type.name!r}; a JointSpring takes revolute and prismatic "
                "ones, a Spring any two points"
            )
        first = top.body_index[loop.predecessor], loop.predecessor_placement
        second = top.body_index[loop.successor], loop.successor_placement
        return LoopJointSpring(first, second, loop.type.axis, isinstance(loop.type, Revolute), *numbers)


@dataclass(frozen=True)
class ExternalForce:
    """A wrench (6), moment then force [N m, N], at the origin of a body or frame: numbers, or a function of them.

    The function takes a `ForceState` (time, positions, velocities, poses and twists of frames, controls `inputs`) and
    gives the six numbers. It is traced once: written with arrays, arithmetic and functions of `kinloop.scalar` (sin,
    sqrt, where, ...), which decide at every step, not with `if`. `axes` are those of the "world" or of the "body" (the
    frame named). `inputs` are names of controls that the function finds in `ForceState.u`: they follow those of motors.
    """

    body: str
    wrench: ArrayLike | ForceFunction
    axes: str = "world"
    inputs: Sequence[str] = ()

    def __post_init__(self) -> None:
        what = f"of the external force on {self.body!r}"
        if self.axes not in AXES:
            raise MethodError(f"axes {self.axes!r} {what} is not one of {', '.join(map(repr, AXES))}")
        if isinstance(self.inputs, str):
            raise MethodError(f"inputs {what} must be a list of names, received {self.inputs!r}")
        object.__setattr__(self, "inputs", tuple(map(str, self.inputs)))
        if not callable(self.wrench):
            given = checked(f"wrench {what}", self.wrench, 6)
            if given.ndim != 1:
                raise ShapeError(f"wrench {what} must be six numbers, received an array of shape {given.shape}")
            object.__setattr__(self, "wrench", tuple(given.tolist()))

    def bound(self, tree: ClusterTree) -> Push:
        """The force on a robot."""
        top = tree.top
        body, placement = _frame(top, self.body)
        if body < 0:
            raise MethodError(f"an external force acts on {self.body!r}, which does not move; name a body of the robot")

        def wrench(q: Array, qd: Array, t: Array, u: Array) -> dict[str, Array]:
            given = self._asked(ForceState(tree, q, qd, t[0], u))
            return {"wrench": self._about_origin(BodyPlaces(top, q).pose(body).then(placement), given)}

        def force(q: Array, qd: Array, t: Array, u: Array) -> dict[str, Array]:
            return {"force": BodyPlaces(top, q).on_joints(top.support(body), wrench(q, qd, t, u)["wrench"])}

        sizes = {"q": top.nq, "qd": top.n_spanning, "t": 1, "u": len(self.inputs)}
        names = tuple(f"{self.body}.{name}" for name in self.inputs)
        return Push(sc.trace(force, sizes), names, body, sc.trace(wrench, sizes))

    def _asked(self, state: ForceState) -> Array:
        """The six numbers at a state."""
        if not callable(self.wrench):
            return np.array(self.wrench)
        try:
            found = np.asarray(self.wrench(state))
        except TypeError as error:
            raise MethodError(
                f"the function of the external force on {self.body!r} could not be traced on symbols ({error}); "
                "write it with kinloop.scalar functions (sin, sqrt, where, ...) without math or if"
            ) from error
        if found.shape != (6,) or found.dtype.kind not in "biufO":
            raise ShapeError(
                f"the function of the external force on {self.body!r} must give six numbers, a moment and a force, "
                f"received an array of shape {found.shape}"
            )
        return found

    def _about_origin(self, T: Transform, wrench: Array) -> Array:
        """The wrench about the world's origin in world axes, for the pose T of the frame that it acts on."""
        if self.axes == "body":
            return T.force(wrench)
        return np.concatenate([wrench[:3] + cross(T.p, wrench[3:]), wrench[3:]])


@dataclass(frozen=True, eq=False)
class Push:
    """An external force of a robot: `function(q, qd, t, u)` gives its forces on the spanning coordinates.

    `wrench` of the same gives that on the body, in world axes about the world's origin.
    """

    function: sc.Function
    inputs: tuple[str, ...]
    body: int
    wrench: sc.Function

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        return "push", function_digest(self.function)

    @property
    def is_timed(self) -> bool:
        """Whether it depends on time."""
        return any(s.op == "input" and s.payload[0] == "t" for s in self.function.nodes)


UserForce = Spring | Damper | JointSpring | ExternalForce
"""What `Simulator(forces=[...])` takes."""


def _fix_places(force: Spring | Damper, what: str) -> None:
    """Make numbers that cannot be changed of the places of a force between two points."""
    for name in ("at_first", "at_second"):
        object.__setattr__(force, name, tuple(frozen(getattr(force, name), (3,), f"{name} {what}").tolist()))


def _ends(force: Spring | Damper, top: Topology, kind: str) -> tuple[FrameAt, FrameAt]:
    """The two frames between whose origins a force acts."""
    first, second = (
        frame_with(_frame(top, force.first), force.at_first),
        frame_with(_frame(top, force.second), force.at_second),
    )
    if first[0] == second[0]:
        raise MethodError(
            f"the {kind} from {force.first!r} to {force.second!r} has both ends on one body, where it does nothing; "
            "name two bodies, or 'world' for one of them"
        )
    return first, second


def _frame(top: Topology, name: str) -> FrameAt:
    return (-1, Transform.identity()) if name == WORLD else find_frame(top, name)


def _place_of(top: Topology, dof: int) -> int:
    """The place in q of a spanning coordinate; -1 for joints with more positions than velocities."""
    i = next(i for i, at in enumerate(top.v_of) if at.start <= dof < at.stop)
    return top.q_of[i].start + dof - top.v_of[i].start if top.types[i].nq == top.types[i].nv else -1
