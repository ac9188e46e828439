"""The frozen facts of a mechanism: bodies, tree joints, frames, and what closes its loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.joints import JointType
from kinloop.spatial import Transform

WORLD = "world"


def frozen(x: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """A read-only float array of the given shape, or an error that says what was given."""
    try:
        a = np.array(x, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers of shape {shape}, received {x!r}") from None
    if a.shape != shape:
        raise ModelError(f"{what} must have shape {shape}, received shape {a.shape}")
    if not np.all(np.isfinite(a)):
        raise ModelError(f"{what} must be finite, received {a.tolist()}")
    a.setflags(write=False)
    return a


def _is_finite(x: Any) -> bool:
    return isinstance(x, int | float | np.number) and bool(np.isfinite(x))


def _check_type(kind: Any, what: str) -> None:
    if not isinstance(kind, JointType):
        raise ModelError(f"{what} has the type {kind!r}; give a joint type such as joint_type('revolute', 'z')")


def _check_function(f: Any, what: str) -> None:
    if not callable(f):
        raise ModelError(f"the function of {what} is {f!r}; give a Python function of joint positions")


def placement(at: Any = (0.0, 0.0, 0.0), rotation: Any = None, what: str = "placement") -> Transform:
    """A pose from a position [m] and a rotation matrix; rounding dust is swept to exact zeros and ones."""
    p = frozen(at, (3,), f"{what} position")
    R = frozen(np.eye(3) if rotation is None else rotation, (3, 3), f"{what} rotation")
    if np.max(np.abs(R @ R.T - np.eye(3))) > 1e-6 or np.linalg.det(R) < 0:
        raise ModelError(f"{what} rotation is not a rotation matrix; its columns must be orthonormal and right-handed")
    return Transform(swept(R), p)


def swept(a: np.ndarray, dust: float = 1e-12) -> np.ndarray:
    """`a` with entries within rounding of -1, 0, 1 made exact, so that traces can fold them."""
    nearest = np.round(a)
    out = np.where((np.abs(a - nearest) < dust) & (np.abs(nearest) <= 1), nearest, a) + 0.0
    out.setflags(write=False)
    return out


GEOMETRIES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "ellipsoid": 3, "plane": 2, "mesh": 3}
"""Kinds of geometry and how many figures their size has."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape fixed to a body, for viewers and contact.

    `size` [m]: box: full lengths; sphere: radius; cylinder and capsule: radius, length along z (a capsule's
    between the centres of its caps); ellipsoid: semi-axes; plane: half lengths (0: infinite), normal z;
    mesh: scale. `role` is "visual", "collision" or "both". `mesh` is the reference as the file has it,
    `path` the file found for it, if any. `color` is r g b a in 0..1.
    """

    kind: str
    size: tuple[float, ...]
    placement: Transform = field(default_factory=Transform.identity)
    role: str = "both"
    name: str = ""
    mesh: str | None = None
    path: str | None = None
    color: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in GEOMETRIES:
            raise ModelError(f"geometry {self.kind!r} is not one of {', '.join(GEOMETRIES)}")
        size = frozen(self.size, (GEOMETRIES[self.kind],), f"size of {self.kind} {self.name!r}")
        if self.kind != "mesh" and np.any(size < 0):
            raise ModelError(f"size of {self.kind} {self.name!r} is {size.tolist()}; sizes must not be negative")
        object.__setattr__(self, "size", tuple(float(x) for x in size))


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body: mass [kg], centre of mass [m] and inertia about it [kg m^2], in its own frame.

    `accept_inertia` takes figures that no distribution of mass can have (published ones do that).
    `geometry` is kept for viewers and contact; dynamics never looks at it.
    """

    name: str
    mass: float = 0.0
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = field(default_factory=lambda: np.zeros((3, 3)))
    accept_inertia: bool = False
    geometry: tuple = ()

    def __post_init__(self) -> None:
        what = f"body {self.name!r}"
        inertia = np.diag(self.inertia) if np.shape(self.inertia) == (3,) else self.inertia
        object.__setattr__(self, "mass", float(frozen(self.mass, (), f"mass of {what}")))
        object.__setattr__(self, "com", frozen(self.com, (3,), f"com of {what}"))
        object.__setattr__(self, "inertia", frozen(inertia, (3, 3), f"inertia of {what}"))


@dataclass(frozen=True, eq=False)
class Joint:
    """A tree joint: `child` moves on `parent` as `type` allows, from `placement` in the parent's frame.

    `armature` is a reflected inertia added at the joint [kg m^2 or kg], `damping` and `friction` resist
    its motion [N m s/rad, N m], `stiffness` pulls it to `rest` [N m/rad]; limits are on position, velocity
    and force. Inverse and forward dynamics know the armature; the rest is for the simulator.
    `home` is the position the mechanism is drawn in, where that is not the type's neutral one.
    """

    name: str
    parent: str
    child: str
    type: JointType
    placement: Transform = field(default_factory=Transform.identity)
    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    max_velocity: float = np.inf
    max_force: float = np.inf
    home: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.home is not None:
            home = frozen(self.home, (self.type.nq,), f"home of joint {self.name!r}")
            object.__setattr__(self, "home", tuple(float(x) for x in home))
        for what in ("armature", "damping", "friction", "stiffness"):
            value = getattr(self, what)
            if not (_is_finite(value) and value >= 0):
                raise ModelError(f"joint {self.name!r} has {what} {value!r}; it must be a number not below zero")
        _check_type(self.type, f"joint {self.name!r}")
        if not self.lower <= self.upper:
            raise ModelError(
                f"joint {self.name!r} has limits from {self.lower} to {self.upper}; the lower must not be "
                "above the upper"
            )


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to a body."""

    name: str
    body: str
    placement: Transform = field(default_factory=Transform.identity)


@dataclass(frozen=True, eq=False)
class Loop:
    """Base of what closes a loop by an equation phi(q) = 0."""

    name: str


@dataclass(frozen=True, eq=False)
class LoopJoint(Loop):
    """A joint of any type that closes a loop between two bodies (or a body and the world)."""

    predecessor: str
    successor: str
    type: JointType
    predecessor_placement: Transform = field(default_factory=Transform.identity)
    successor_placement: Transform = field(default_factory=Transform.identity)

    def __post_init__(self) -> None:
        _check_type(self.type, f"loop {self.name!r}")


@dataclass(frozen=True, eq=False)
class Rod(Loop):
    """A massless rod of fixed length [m] between a point on each of two bodies, with ball ends."""

    predecessor: str
    successor: str
    predecessor_point: Any
    successor_point: Any
    length: float

    def __post_init__(self) -> None:
        for end in ("predecessor_point", "successor_point"):
            object.__setattr__(self, end, frozen(getattr(self, end), (3,), f"{end} of rod {self.name!r}"))
        if not (_is_finite(self.length) and self.length > 0):
            raise ModelError(f"rod {self.name!r} has length {self.length!r}; it must be a positive number of metres")


@dataclass(frozen=True, eq=False)
class LoopFunction(Loop):
    """phi(q1, q2, ...) = 0 for any function of the positions of the named joints.

    The function is plain Python on scalars (arrays for joints of several coordinates), written with
    `kinloop.scalar` functions; it returns one value or a sequence of them.
    """

    joints: tuple[str, ...]
    phi: Callable

    def __post_init__(self) -> None:
        _check_function(self.phi, f"loop {self.name!r}")


@dataclass(frozen=True, eq=False)
class Coupling:
    """Base of what fixes joints explicitly: q_dependent = gamma(q_independent)."""

    name: str
    dependent: tuple[str, ...]
    independent: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LinearCoupling(Coupling):
    """q_dependent = matrix @ q_independent + offset: gears, belts, mimics, linear differentials."""

    matrix: Any
    offset: Any = None

    def __post_init__(self) -> None:
        shape = (len(self.dependent), len(self.independent))
        matrix = np.atleast_2d(np.asarray(self.matrix, dtype=float))
        offset = np.zeros(shape[0]) if self.offset is None else np.atleast_1d(self.offset)
        object.__setattr__(self, "matrix", frozen(matrix, shape, f"matrix of coupling {self.name!r}"))
        object.__setattr__(self, "offset", frozen(offset, shape[:1], f"offset of coupling {self.name!r}"))


@dataclass(frozen=True, eq=False)
class PolynomialCoupling(Coupling):
    """q_dependent = c0 + c1 q + c2 q^2 + ... of one independent joint."""

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        what = f"coupling {self.name!r}"
        if not len(self.coefficients):
            raise ModelError(f"{what} has no coefficients; give at least one")
        frozen(self.coefficients, (len(self.coefficients),), f"coefficients of {what}")
        if (len(self.dependent), len(self.independent)) != (1, 1):
            raise ModelError(
                f"{what} joins {len(self.dependent)} dependent and {len(self.independent)} independent joints; "
                "a polynomial takes one of each"
            )


@dataclass(frozen=True, eq=False)
class FunctionCoupling(Coupling):
    """q_dependent = gamma(q_independent...) for any Python function written with `kinloop.scalar`."""

    gamma: Callable

    def __post_init__(self) -> None:
        _check_function(self.gamma, f"coupling {self.name!r}")
