"""The shortest way of a taut string around a sphere or a cylinder, between two points outside.

A cylinder is seen along its axis, a sphere in the plane of its centre and both points: there the string is made of two
tangents of a circle and an arc between them, on the shorter way or on that of a given side. On a cylinder it climbs in
proportion to its way around. A string that runs inside is bent at one point of the circle, where it leaves as a ray of
light would. The rules (when there is no arc, which of two ways) are those of MuJoCo, so that lengths agree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.spatial import cross

TINY = 1e-15
"""Lengths below this are none."""

ROUNDS, NEARLY_ONE, CLOSE = 20, 1.0 - 1e-7, 1e-12
"""Newton's rounds for the point inside, where they begin, and where they end."""


class Around(NamedTuple):
    """Where a string touches a shape first and last, in its frame, how far it lies on it, and whether it does."""

    first: Array
    last: Array
    length: Any
    touches: Any


def around(kind: str, radius: float, a: Array, b: Array, side: Array | None) -> Around:
    """The string from a to b around a shape at the origin (a cylinder along z); `side` is a point on its side, or None.

    All points are in the shape's frame. A side point inside the shape lets the string run inside.
    """
    x, y = _plane(a, b) if kind == "sphere" else (np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    p, r = np.array([a @ x, a @ y]), np.array([b @ x, b @ y])
    if side is None:
        ends, arc, touches = _outside(p, r, None, radius)
    else:
        toward = np.array([side @ x, side @ y])
        toward = toward * (radius / sc.sqrt(sc.maximum(toward @ toward, TINY**2)))
        within = side @ side < radius**2
        outside, inside = _outside(p, r, toward, radius), _inside(p, r, radius)
        ends, arc = (sc.where(within, i, o) for i, o in zip(inside[:2], outside[:2], strict=True))
        touches = _either(within, inside[2], outside[2])
    touches = sc.logical_and(touches, sc.logical_and(a @ a > TINY**2, b @ b > TINY**2))
    first, last = ends[0] * x + ends[1] * y, ends[2] * x + ends[3] * y
    if kind == "cylinder":
        before, after = (sc.sqrt((e - o)[:2] @ (e - o)[:2]) for e, o in ((a, first), (b, last)))
        climb = (b[2] - a[2]) / sc.maximum(before + arc + after, TINY)
        along = np.array([0.0, 0.0, 1.0])
        first, last = first + (a[2] + climb * before) * along, last + (a[2] + climb * (before + arc)) * along
        arc = sc.sqrt(arc * arc + (climb * arc) * (climb * arc))
    return Around(first, last, arc, touches)


def _plane(a: Array, b: Array) -> tuple[Array, Array]:
    """Axes of the plane of a, b and the origin, the first one along a; of any plane with a where these are in line."""
    x = a * (1.0 / sc.sqrt(sc.maximum(a @ a, TINY**2)))
    size = [sc.abs(x[k]) for k in range(3)]
    along_x = sc.where(sc.logical_and(size[0] <= size[1], size[0] <= size[2]), 1.0, 0.0)
    along_y = (1.0 - along_x) * sc.where(size[1] <= size[2], 1.0, 0.0)
    other = [along_x, along_y, 1.0 - along_x - along_y]  # the axis that is least along x
    normal, spare = cross(a, b), cross(x, np.array(other))
    normal = sc.where(normal @ normal < TINY**2, spare, normal)
    y = cross(normal * (1.0 / sc.sqrt(sc.maximum(normal @ normal, TINY**2))), x)
    return x, y * (1.0 / sc.sqrt(sc.maximum(y @ y, TINY**2)))


def _outside(p: Array, r: Array, side: Array | None, radius: float) -> tuple[Array, Any, Any]:
    """Both ends of the arc (4,), its length and whether there is one, for points p and r in the plane of a circle."""
    lengths = p @ p, r @ r
    apart = (r - p) @ (r - p)
    along = sc.minimum(sc.maximum(-((r - p) @ p) / sc.maximum(apart, TINY), 0.0), 1.0)
    nearest = p + along * (r - p)
    clear = nearest @ nearest > radius**2
    if side is not None:
        clear = sc.logical_and(clear, side @ nearest >= 0.0)
    possible = sc.logical_and(sc.minimum(*lengths) >= radius**2, apart >= TINY)
    tangent = [sc.sqrt(sc.maximum(x - radius**2, 0.0)) for x in lengths]
    ways, worth = [], []
    for sign in (1.0, -1.0):
        ends = np.array([
            (p[0] * radius**2 + sign * radius * p[1] * tangent[0]) / sc.maximum(lengths[0], TINY),
            (p[1] * radius**2 - sign * radius * p[0] * tangent[0]) / sc.maximum(lengths[0], TINY),
            (r[0] * radius**2 - sign * radius * r[1] * tangent[1]) / sc.maximum(lengths[1], TINY),
            (r[1] * radius**2 + sign * radius * r[0] * tangent[1]) / sc.maximum(lengths[1], TINY),
        ])  # fmt: skip
        if side is None:
            good = -((ends[:2] - ends[2:]) @ (ends[:2] - ends[2:]))
        else:
            middle = ends[:2] + ends[2:]
            good = (middle @ side) / sc.sqrt(sc.maximum(middle @ middle, TINY**2))
        ways.append(ends)
        worth.append(sc.where(_crosses(p, ends[:2], r, ends[2:]), -np.inf, good))
    first = worth[0] > worth[1]
    ends = sc.where(first, ways[0], ways[1])
    touches = sc.logical_and(possible, sc.logical_not(clear))
    touches = sc.logical_and(touches, sc.logical_not(_crosses(p, ends[:2], r, ends[2:])))
    turn = ends[1] * ends[2] - ends[0] * ends[3]
    back = _either(first, turn < 0.0, turn > 0.0)
    angle = sc.atan2(sc.abs(turn), ends[:2] @ ends[2:])
    return ends, radius * sc.where(back, 2.0 * np.pi - angle, angle), touches


def _crosses(a: Array, b: Array, c: Array, d: Array) -> Any:
    """Whether the segments from a to b and from c to d of a plane cross."""
    u, w, o = b - a, d - c, a - c
    size = w[1] * u[0] - w[0] * u[1]
    some = sc.abs(size) >= TINY
    by = 1.0 / sc.where(some, size, 1.0)
    s, t = (w[0] * o[1] - w[1] * o[0]) * by, (u[0] * o[1] - u[1] * o[0]) * by
    low, high = sc.minimum(s, t), sc.maximum(s, t)
    return sc.logical_and(some, sc.logical_and(low >= 0.0, high <= 1.0))


def _inside(p: Array, r: Array, radius: float) -> tuple[Array, Any, Any]:
    """The same for a string that runs inside a circle: it touches at one point, where both its parts meet alike.

    With z the sine of half the angle between the radius and the string, asin(A z) + asin(B z) - 2 asin(z) + G = 0 for
    the radius over both distances A and B and the angle G between p and r.
    """
    lengths = [sc.sqrt(sc.maximum(x @ x, TINY**2)) for x in (p, r)]
    apart = (r - p) @ (r - p)
    along = -((r - p) @ p) / sc.maximum(apart, TINY)
    nearest = p + along * (r - p)
    between = sc.logical_and(apart > TINY, sc.logical_and(along > 0.0, along < 1.0))
    free = sc.logical_and(between, nearest @ nearest <= radius**2)
    cosine = (lengths[0] * lengths[0] + lengths[1] * lengths[1] - apart) / (2.0 * lengths[0] * lengths[1])
    touches = sc.logical_and(sc.minimum(*lengths) > radius, sc.logical_not(free))
    touches = sc.logical_and(touches, cosine >= TINY - 1.0)
    z, well = _bend(radius / lengths[0], radius / lengths[1], sc.acos(sc.minimum(sc.maximum(cosine, -1.0), 1.0)))
    well = sc.logical_and(well, cosine <= 1.0 - TINY)
    left = p[0] * r[1] - p[1] * r[0] > 0.0
    start = sc.where(left, p * (1.0 / lengths[0]), r * (1.0 / lengths[1]))
    turn = sc.asin(z) - sc.asin(z * radius / sc.where(left, lengths[0], lengths[1]))
    c, s = sc.cos(turn), sc.sin(turn)
    point = radius * np.array([c * start[0] - s * start[1], s * start[0] + c * start[1]])
    mean = p + r
    mean = mean * (radius / sc.sqrt(sc.maximum(mean @ mean, TINY**2)))
    point = sc.where(well, point, mean)
    return np.concatenate([point, point]), 0.0, touches


def _bend(A: Any, B: Any, G: Any) -> tuple[Any, Any]:
    """The root z of the equation of `_inside` by Newton's method, and whether it was found."""

    def value(z: Any, A: Any, B: Any, G: Any) -> Any:
        return sc.asin(_unit(A * z)) + sc.asin(_unit(B * z)) - 2.0 * sc.asin(_unit(z)) + G

    def body(carry: Array, given: Array) -> Array:
        z, (A, B, G) = carry[0], given
        slope = sum(k / sc.sqrt(sc.maximum(1.0 - (k * z) * (k * z), TINY)) for k in (A, B))
        slope = slope - 2.0 / sc.sqrt(sc.maximum(1.0 - z * z, TINY))
        return np.array([z - value(z, A, B, G) / slope])

    given = np.array([A, B, G])
    (z,) = sc.repeat(ROUNDS, body, np.array([NEARLY_ONE]), given)
    begun = value(NEARLY_ONE, A, B, G) <= 0.0
    return _unit(z), sc.logical_and(begun, sc.abs(value(z, A, B, G)) <= CLOSE)


def _either(condition: Any, a: Any, b: Any) -> Any:
    """The truth of a where a condition holds, else that of b."""
    return sc.logical_or(sc.logical_and(condition, a), sc.logical_and(sc.logical_not(condition), b))


def _unit(x: Any) -> Any:
    return sc.minimum(sc.maximum(x, -1.0), 1.0)
