"""Where two shapes are next to each other: what every pair gives, and the vector algebra that all pairs share.

Functions of pairs run on numbers and on symbols with the same roundings: products are written out, since `@` on numbers
adds in another order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array

FAR = 1e6
"""Gap of a proximity that a pair has a place for and does not need [m]."""

NEAR = 1e-10
"""Lengths below it count as zero where a direction is asked for, and as equal where one of two is chosen [m]."""


class Proximity(NamedTuple):
    """Two surfaces next to each other, in the world.

    `gap` [m] is their distance, negative where the shapes overlap; `normal` is a unit vector from b to a, `point` lies
    halfway between the surfaces. Moved by `-gap` along the normal, a touches b there.
    """

    gap: Any
    point: Array
    normal: Array

    def turned_round(self) -> Proximity:
        """The same seen from b."""
        return Proximity(self.gap, self.point, -self.normal)


def dot(a: Any, b: Any) -> Any:
    """The product of two vectors of three."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def seen_from(R: Array, v: Any) -> Array:
    """A vector of the world in axes that are the columns of R."""
    return vector(*(dot(R[:, k], v) for k in range(3)))


def in_world(R: Array, v: Any) -> Array:
    """A vector given in axes that are the columns of R, in the world."""
    return vector(*(dot(R[k], v) for k in range(3)))


def vector(*entries: Any) -> Array:
    """An array of numbers or symbols."""
    return np.array(entries)


def clamped(x: Any, half: Any) -> Any:
    """x, no further from zero than `half`."""
    return sc.minimum(sc.maximum(x, -half), half)


def signed(x: Any, size: Any = 1.0) -> Any:
    """`size` with the sign of x; zero counts as positive."""
    return sc.where(x < 0.0, -size, size)


def direction(v: Array, otherwise: Array) -> tuple[Any, Array]:
    """Length and direction of a vector; where it is shorter than `NEAR`, `otherwise` is the direction."""
    square = dot(v, v)
    length = sc.sqrt(square)
    unit = v / sc.maximum(length, NEAR)
    return length, sc.where(length > NEAR, unit, otherwise)


def choose(condition: Any, a: Any, b: Any) -> Array:
    """`a` where the condition holds, else `b`: vectors, or sequences of numbers and symbols."""
    return vector(*(sc.where(condition, x, y) for x, y in zip(a, b, strict=True)))


def reciprocal(x: Any) -> Any:
    """1 / x, finite for zero too."""
    return 1.0 / sc.where(sc.abs(x) < 1e-150, 1e-150, x)


class Axis(NamedTuple):
    """A direction along which two shapes are apart by `separation`, negative where they overlap."""

    separation: Any
    n: Array


def one_of(axes: list[Axis]) -> Axis:
    """The axis of largest separation; of axes that differ by less than `NEAR`, the first."""
    best = axes[0]
    for axis in axes[1:]:
        better = axis.separation > best.separation + NEAR
        best = Axis(sc.where(better, axis.separation, best.separation), choose(better, axis.n, best.n))
    return best


def permuted(n: Array, v: Any) -> tuple[Any, Any, Any]:
    """The entries of v, that of the axis where n is largest first, in cyclic order."""
    x, y, z = (sc.abs(n[k]) for k in range(3))
    first, second = sc.logical_and(x >= y, x >= z), y >= z
    shifts = [[v[(k + j) % 3] for j in range(3)] for k in range(3)]
    a, b, c = choose(first, shifts[0], choose(second, shifts[1], shifts[2]))
    return a, b, c
