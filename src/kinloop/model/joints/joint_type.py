"""What a joint type is: the motion it allows as a tree joint, and the rows it writes where it closes a loop.

A joint places its child relative to its placement frame, a frame fixed in the parent; at the neutral
position the two coincide. `pose` is where the child is, `columns` how it moves per unit of velocity,
in the placement's axes: rows 0-2 the angular velocity, rows 3-5 the velocity of the child's origin.
`subspace` is the same motion in the child's frame, the motion subspace `S` of the algorithms.
`loop_rows` is the opposite question: which equations hold two loop frames together as the joint would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kinloop.errors import ModelError
from kinloop.scalar import Array
from kinloop.spatial import Transform

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from kinloop.model.loops.row_writer import RowWriter

Axis = tuple[float, float, float]

X: Axis = (1.0, 0.0, 0.0)
Y: Axis = (0.0, 1.0, 0.0)
Z: Axis = (0.0, 0.0, 1.0)
_NAMED: dict[str, Axis] = {
    "x": X, "y": Y, "z": Z, "-x": (-1.0, 0.0, 0.0), "-y": (0.0, -1.0, 0.0), "-z": (0.0, 0.0, -1.0)
}  # fmt: skip

_COORDINATE_AXES = {axis: axis for axis in _NAMED.values()}

NO_DIRECTION = 1e-9
"""A vector shorter than this is not taken for a direction."""

DUST = 1e-12
"""Components of a unit axis this close to 0 or 1 are made exact, so that traces fold them."""


def unit_axis(axis: str | ArrayLike, where: str = "axis") -> Axis:
    """A unit vector from 'x', '-z', ... or three numbers; what is not a direction is an error."""
    if isinstance(axis, str):
        if axis not in _NAMED:
            raise ModelError(f"{where} {axis!r} is not one of {', '.join(_NAMED)}; give one of these or three numbers")
        return _NAMED[axis]
    a = np.asarray(axis, dtype=float)
    if a.shape == (3,) and (along := _COORDINATE_AXES.get(tuple(a.tolist()))) is not None:
        return along  # most are: nothing to round
    if a.shape != (3,) or not np.all(np.isfinite(a)):
        raise ModelError(f"{where} must be three finite numbers, received {axis!r}")
    n = float(np.linalg.norm(a))
    if n < NO_DIRECTION:
        raise ModelError(f"{where} {a.tolist()} has no direction; give a non-zero vector")
    a = a / n
    a[np.abs(a) < DUST] = 0.0
    a = np.where(np.abs(np.abs(a) - 1.0) < DUST, np.sign(a), a)
    return float(a[0]), float(a[1]), float(a[2])


def perpendicular(axis: Sequence[float] | Array) -> tuple[Array, Array]:
    """Two unit vectors that make a right-handed frame (t1, t2, axis)."""
    x, y, z = map(float, axis)
    return _perpendicular((x, y, z))


@lru_cache(maxsize=4096)
def _perpendicular(axis: Axis) -> tuple[Array, Array]:
    a = np.array(axis)
    e = np.eye(3)[(int(np.argmax(np.abs(a))) + 1) % 3]
    t1 = e - a * (a @ e)
    t1 /= np.linalg.norm(t1)
    t1[np.abs(t1) < 1e-15] = 0.0
    t2 = np.cross(a, t1)
    for t in (t1, t2):  # shared by all who ask
        t.setflags(write=False)
    return t1, t2


@dataclass(frozen=True)
class JointType:
    """Base of joint types. Positions of a plain joint are numbers whose rates are its velocities.

    A type that adds fields of its own is decorated as a frozen dataclass too.
    """

    nq = 0
    nv = 0
    is_free: ClassVar[bool] = False
    """Whether the position is (x y z, w x y z) and the velocity (angular, linear) in the child's axes."""

    @property
    def name(self) -> str:
        """As builders and files call it."""
        return type(self).__name__.lower()

    # --- how the child moves

    def neutral(self) -> Array:
        """The position (nq,) [rad, m] at which the child is where the joint is placed."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator) -> Array:
        """A position (nq,) [rad, m] well spread over what the joint can do: uniform over `spread`, by default."""
        low, high = np.reshape(self.spread(), (self.nq, 2)).T
        return rng.uniform(low, high)

    def spread(self) -> list[tuple[float, float]]:
        """Between what the positions are drawn that `random` draws [rad, m]."""
        return [(-np.pi, np.pi)] * self.nq

    def pose(self, q: Array) -> Transform:
        """The pose of the child in the joint's placement at q (nq,) [rad, m]."""
        raise NotImplementedError

    def columns(self, q: Array) -> Array:
        """Motion of the child (6, nv) [1, m] per unit velocity, about its origin in the placement's axes."""
        raise NotImplementedError

    def columns_bias(self, q: Array, qd: Array) -> Array:
        """Rate (6,) [rad/s^2, m/s^2] of `columns(q) @ qd` at constant `qd`, in the placement's axes."""
        return np.zeros(6)

    def subspace(self, q: Array) -> Array:
        """`S` (6, nv) [1, m]: motion of the child per unit velocity, in the child's frame."""
        R, columns = self.pose(q).R, self.columns(q)
        return np.concatenate([R.T @ columns[:3], R.T @ columns[3:]])

    def subspace_bias(self, q: Array, qd: Array) -> Array:
        """`(dS/dt) qd` (6,) [rad/s^2, m/s^2], components in the child's frame."""
        return np.zeros(6)

    def rate(self, q: Array, qd: Array) -> Array:
        """dq/dt (nq,) for the velocity `qd` (nv,) [rad/s, m/s]."""
        return qd

    def integrate(self, q: Array, step: Array) -> Array:
        """The position (nq,) [rad, m] reached from `q` by the constant velocity `step` (nv,) in unit time."""
        out: Array = q + step
        return out

    def difference(self, q0: Array, q1: Array) -> Array:
        """The step (nv,) [rad, m] that leads from `q0` to `q1` (nq,); inverse of `integrate`."""
        out: Array = q1 - q0
        return out

    def normalized(self, q: Array) -> Array:
        """The position (nq,) [rad, m] with quaternions brought to unit length."""
        return q

    # --- how it closes a loop

    def loop_rows(self, writer: RowWriter) -> None:
        """Write the equations that hold the successor's loop frame where the joint would hold its child."""
        raise ModelError(
            f"joint type {self.name!r} does not say its loop rows; define {type(self).__name__}.loop_rows(writer) "
            "to close loops with it"
        )

    @property
    def says_loop_rows(self) -> bool:
        """Whether a loop can be closed by a joint of this type."""
        return type(self).loop_rows is not JointType.loop_rows

    # --- what others ask

    @property
    def direction(self) -> Axis | None:
        """The axis to show in pictures and tables; None where the type has none."""
        return None

    @property
    def spin_axis(self) -> Axis | None:
        """The axis of a pure rotation, the same in the child as in the placement; None for any other motion."""
        return None

    def slides(self) -> list[bool]:
        """Of every velocity coordinate, whether it only shifts the child [m]; the others turn it [rad]."""
        return [not np.any(turn) for turn in self.columns(self.neutral())[:3].T]

    def turning_axes(self) -> list[Array]:
        """Directions, unit vectors (3,) [1], about which the coordinates turn the child, at the neutral position."""
        return [turn for turn in self.columns(self.neutral())[:3].T if np.any(turn)]


@dataclass(frozen=True)
class AxisJoint(JointType):
    """Base of joint types with an axis, given by name ('x', '-z') or as a vector of any length."""

    axis: Axis = Z

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @property
    def direction(self) -> Axis | None:
        return self.axis


def check_joint_type(kind: object, what: str) -> None:
    """Refuse what is not a joint type, naming the part that has it."""
    if not isinstance(kind, JointType):
        raise ModelError(f"{what} has the type {kind!r}; give a joint type such as joint_type('revolute', 'z')")
