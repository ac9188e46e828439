"""Motion constraints: rows K a = k on the acceleration of a frame, or of one frame relative to another.

What is kept at zero (or at `acceleration`), everything in the axes of `frame`:

    Point   the classical acceleration of the frame's origin, dv/dt = a + w x v                    (1)
    Weld    the rate of the frame's twist in its own axes, which is its spatial acceleration       (2)
    Rows    K times (2)

With `other`, the same relative to it: the difference of the two origins' classical accelerations (1'), or
the rate of V = v_frame - X v_other, which is a_frame - X a_other + V x v_frame (2'). `Closure` is a loop of
the mechanism that is constrained here instead of being embedded in a cluster: all its rows, K qdd = k.

With `stabilize`, k becomes k - 2 e'/T - e/T^2 with T the `period`: e' the velocity of what is kept and e its
distance from `at` (a world point or 4x4 pose; for two frames the pose of `frame` in `other`, for two points
nothing is needed); without `at` velocities alone decay.  [Featherstone2008, section 8.3]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinloop.algorithms.trees.kinematics import FrameAt, find_frame
from kinloop.errors import ModelError
from kinloop.model.frozen_arrays import frozen
from kinloop.model.topology import Topology
from kinloop.scalar import Array

PERIOD = 0.1
"""Time in which stabilised errors decay by default [s]: many steps of a controller, short against motions."""


@dataclass(frozen=True, eq=False)
class MotionConstraint:
    """Base of what constrains the acceleration of a frame; `numbers` are what a kernel takes of it as inputs."""

    frame: str
    other: str | None = None

    adjustable: ClassVar[tuple[str, ...]] = ("acceleration", "at")

    @property
    def size(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    @property
    def selection(self) -> Array:
        """K (r, 6): which combinations of the frame's spatial acceleration [rad/s^2, m/s^2] the rows read."""
        raise NotImplementedError

    @property
    def wanted(self) -> Array | None:
        """What the rows are to become (r,) [rad/s^2, m/s^2]; None is zero."""
        raise NotImplementedError

    @property
    def stabilize(self) -> bool:
        """Whether errors decay (Baumgarte)."""
        raise NotImplementedError

    @property
    def period(self) -> float:
        """Time T in which they decay [s]."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """How messages name it."""
        ends = f"{self.frame!r}" if self.other is None else f"{self.frame!r}, {self.other!r}"
        return f"{type(self).__name__}({ends})"

    def _given(self) -> list[tuple[str, Array, Array]]:
        """Name, value and free entries of every array: 0 and +-1 in K are structure, so that kernels fold them."""
        named = [(f, getattr(self, f)) for f in self.adjustable if getattr(self, f) is not None]
        return [(f, a, ~np.isin(a, (-1.0, 0.0, 1.0)) if f == "K" else np.full(a.shape, True)) for f, a in named]

    def structure(self) -> tuple[Any, ...]:
        """Everything but the numbers."""
        arrays = tuple((f, a.shape, tuple(np.where(free, 2.0, a).ravel())) for f, a, free in self._given())
        options = (self.stabilize, self.period)
        return (type(self).__name__, self.frame, self.other, self.size, options, arrays)

    def numbers(self) -> Array:
        """The free entries (n), in order [m/s^2, rad/s^2, m]."""
        parts = [a[free] for _, a, free in self._given()]
        return np.concatenate(parts) if parts else np.zeros(0)

    def with_numbers(self, x: Array) -> MotionConstraint:
        """The same constraint with other numbers (n) [m/s^2, rad/s^2, m], or symbols, in place of its own."""
        out = replace(self)
        start = 0
        for f, a, free in self._given():
            new = a.astype(object) if x.dtype == object else a.copy()
            count = int(free.sum())
            new[free] = x[start : start + count]
            start += count
            object.__setattr__(out, f, new)
        return out


def _check(c: MotionConstraint, shapes: dict[str, tuple[int, ...]]) -> None:
    for f, shape in shapes.items():
        if getattr(c, f) is not None:
            object.__setattr__(c, f, frozen(getattr(c, f), shape, f"{f} of {c.name}"))
    if not (np.isfinite(c.period) and c.period > 0):
        raise ModelError(f"period of {c.name} is {c.period!r}; give a positive number of seconds")


@dataclass(frozen=True, eq=False)
class Point(MotionConstraint):
    """The origin of a frame accelerates by `acceleration` (3) [m/s^2], zero by default: rows in the frame's axes."""

    acceleration: ArrayLike | None = None
    at: ArrayLike | None = None
    stabilize: bool = False
    period: float = PERIOD

    def __post_init__(self) -> None:
        _check(self, {"acceleration": (3,), "at": (3,)})

    @property
    def size(self) -> int:
        return 3

    @property
    def selection(self) -> Array:
        return np.eye(6)[3:]

    @property
    def wanted(self) -> Array | None:
        return None if self.acceleration is None else np.asarray(self.acceleration)


@dataclass(frozen=True, eq=False)
class Weld(MotionConstraint):
    """A frame keeps its pose, or accelerates by (6) [rad/s^2, m/s^2]: rows angular first, in the frame's axes."""

    acceleration: ArrayLike | None = None
    at: ArrayLike | None = None
    stabilize: bool = False
    period: float = PERIOD

    def __post_init__(self) -> None:
        _check(self, {"acceleration": (6,), "at": (4, 4)})

    @property
    def size(self) -> int:
        return 6

    @property
    def selection(self) -> Array:
        return np.eye(6)

    @property
    def wanted(self) -> Array | None:
        return None if self.acceleration is None else np.asarray(self.acceleration)


@dataclass(frozen=True, eq=False, init=False)
class Rows(MotionConstraint):
    """K a = k for a frame's spatial acceleration in its axes: K (r, 6), k (r,) [rad/s^2, m/s^2], zero if left out."""

    K: Array = field(default_factory=lambda: np.zeros((0, 6)))
    k: Array | None = None
    stabilize: bool = False
    period: float = PERIOD
    adjustable: ClassVar[tuple[str, ...]] = ("K", "k")

    def __init__(
        self,
        frame: str,
        K: ArrayLike,
        k: ArrayLike | None = None,
        other: str | None = None,
        stabilize: bool = False,
        period: float = PERIOD,
    ) -> None:
        rows = np.atleast_2d(np.asarray(K, dtype=float))
        target = None if k is None else np.atleast_1d(k)
        values = {"frame": frame, "other": other, "K": rows, "k": target, "stabilize": stabilize, "period": period}
        for f, value in values.items():
            object.__setattr__(self, f, value)
        _check(self, {"K": (len(rows), 6), "k": (len(rows),)})

    @property
    def size(self) -> int:
        return len(self.K)

    @property
    def selection(self) -> Array:
        return self.K

    @property
    def wanted(self) -> Array | None:
        return self.k


@dataclass(frozen=True, eq=False)
class Closure(MotionConstraint):
    """A loop named in `Mechanism.constrained`, kept closed by all its rows; `frame` is the loop's name."""

    stabilize: bool = False
    period: float = PERIOD
    rows: int = 0
    adjustable: ClassVar[tuple[str, ...]] = ()

    @property
    def size(self) -> int:
        return self.rows


Constraints = MotionConstraint | Sequence[MotionConstraint]
"""What users give where constraints are asked for."""


class Placed(NamedTuple):
    """A constraint with its frames found: (body, placement) of each end."""

    constraint: MotionConstraint
    frame: FrameAt | None = None
    other: FrameAt | None = None


def place(top: Topology, constraints: Constraints) -> tuple[Placed, ...]:
    """Constraints with their frames found; loops that the mechanism leaves to constraints come last."""
    constraints = [constraints] if isinstance(constraints, MotionConstraint) else list(constraints)
    for c in constraints:
        if not isinstance(c, MotionConstraint):
            raise ModelError(f"{c!r} is not a motion constraint; give kinloop.Point, Weld, Rows or Closure")
    out = [_closure(top, c) if isinstance(c, Closure) else _framed(top, c) for c in constraints]
    named = {c.frame for c in constraints if isinstance(c, Closure)}
    return (*out, *(_closure(top, Closure(name)) for name in top.mechanism.constrained if name not in named))


def _framed(top: Topology, c: MotionConstraint) -> Placed:
    return Placed(c, find_frame(top, c.frame), None if c.other is None else find_frame(top, c.other))


def _closure(top: Topology, c: Closure) -> Placed:
    m = top.mechanism
    if c.frame not in m.constrained:
        raise ModelError(
            f"{c.name} names no loop held by constraints; {m.name!r} has {list(m.constrained)} (Mechanism.constrained)"
        )
    loop = next(p for p in m.loops if p.name == c.frame)
    return Placed(replace(c, rows=len(loop.rows(top, top.neutral()).phi)))


def all_numbers(placed: Sequence[Placed]) -> Array:
    """The numbers of several constraints, one after the other."""
    return np.concatenate([np.zeros(0), *(p.constraint.numbers() for p in placed)])


def with_numbers(placed: Sequence[Placed], numbers: Array) -> list[Placed]:
    """The same constraints with other numbers, or symbols, in the order of `all_numbers`."""
    out, start = [], 0
    for p in placed:
        n = len(p.constraint.numbers())
        out.append(p._replace(constraint=p.constraint.with_numbers(numbers[start : start + n])))
        start += n
    return out
