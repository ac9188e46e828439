"""Tendons: lengths that springs and actuators pull on, sums of joint positions or paths through points of bodies.

A path is a row of frames, whose origins it passes in straight lines, and of shapes between two of them that it goes
around on the shortest way. Pulleys divide it into branches, each of which counts for a part of its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.annotations import UNBOUNDED, Transmission, as_range
from kinloop.model.frame import Frame
from kinloop.model.frozen_arrays import is_finite

WRAPS = ("sphere", "cylinder")
"""Shapes that a path may go around."""


@dataclass(frozen=True, eq=False)
class Wrap:
    """A sphere about the origin of `frame`, or a cylinder about its z axis, that a tendon goes around where it must.

    The tendon passes it on the side on which the origin of `side` lies; if that lies inside, the tendon runs through
    the inside of the shape and is bent outward by it.
    """

    kind: str
    frame: Frame
    radius: float
    side: Frame | None = None

    def __post_init__(self) -> None:
        if self.kind not in WRAPS:
            raise ModelError(f"wrap {self.frame.name!r} has the kind {self.kind!r}; it must be one of {WRAPS}")
        if not (is_finite(self.radius) and self.radius > 0):
            raise ModelError(f"wrap {self.frame.name!r} has radius {self.radius!r}; it must be a positive number")


@dataclass(frozen=True)
class Pulley:
    """Where a path ends and another branch begins, of whose length and force counts the part 1 / `divisor`."""

    divisor: float

    def __post_init__(self) -> None:
        if not (is_finite(self.divisor) and self.divisor > 0):
            raise ModelError(f"a pulley has the divisor {self.divisor!r}; it must be a positive number")


@dataclass(frozen=True, eq=False)
class Tendon:
    """A length l of a robot: the sum of gear times position over `joints`, or that of a `path`.

    It pulls with `-stiffness (l - rest) - damping ldot`, where the rest is the nearest to l in the range `rest`;
    `friction` is its dry friction [N or N m], along its length. Beyond `length_range` it resists with
    `limit_stiffness` and `limit_damping`, if that pushes it back.
    """

    name: str
    joints: tuple[Transmission, ...] = ()
    path: tuple[Frame | Wrap | Pulley, ...] = ()
    stiffness: float = 0.0
    damping: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    length_range: tuple[float, float] = UNBOUNDED
    limit_stiffness: float = 0.0
    limit_damping: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        what = f"tendon {self.name!r}"
        for key in ("stiffness", "damping", "limit_stiffness", "limit_damping", "friction"):
            value = getattr(self, key)
            if not (is_finite(value) and value >= 0):
                raise ModelError(f"{what} has {key} {value!r}; it must be a number not below zero")
        for key in ("rest", "length_range"):
            object.__setattr__(self, key, as_range(getattr(self, key), f"{key} of {what}"))
        if not np.isfinite(self.rest).all():
            raise ModelError(
                f"{what} has its spring at rest from {self.rest[0]} to {self.rest[1]}; give finite lengths"
            )
        if bool(self.joints) == bool(self.path):
            raise ModelError(
                f"{what} has {len(self.joints)} joints and a path of {len(self.path)} parts; give one of both"
            )
        for branch in self.branches:
            ends = branch[:1] + branch[-1:]
            if len(branch) < 2 or not all(isinstance(x, Frame) for x in ends):
                raise ModelError(f"a branch of {what} does not begin and end at frames; it must")
            if any(isinstance(a, Wrap) and isinstance(b, Wrap) for a, b in pairwise(branch)):
                raise ModelError(f"a branch of {what} has two shapes in a row; a frame must lie between them")

    @property
    def acts(self) -> bool:
        """Whether it does anything by itself."""
        return bool(self.stiffness or self.damping or self.is_limited)

    @property
    def is_limited(self) -> bool:
        """Whether something resists beyond its range."""
        return bool(self.limit_stiffness and self.length_range != UNBOUNDED)

    @property
    def frames(self) -> list[Frame]:
        """All frames that its path is made of."""
        wraps = [x for x in self.path if isinstance(x, Wrap)]
        own = [x for x in self.path if isinstance(x, Frame)]
        return [*own, *(w.frame for w in wraps), *(w.side for w in wraps if w.side is not None)]

    @property
    def branches(self) -> list[list[Frame | Wrap]]:
        """The parts of the path between pulleys."""
        out: list[list[Frame | Wrap]] = [[]] if self.path else []
        for part in self.path:
            if isinstance(part, Pulley):
                out.append([])
            else:
                out[-1].append(part)
        return [x for k, x in enumerate(out) if x or k]

    @property
    def divisors(self) -> list[float]:
        """What the length of every branch is divided by."""
        first = [] if self.path and isinstance(self.path[0], Pulley) else [1.0]
        return [*first, *(x.divisor for x in self.path if isinstance(x, Pulley))]
