"""A sphere or a capsule beside a box or a cylinder, or inside it. Vectors are in its frame until the end."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.patches import APART
from kinloop.sim.contact.shapes.proximity import (
    NEAR,
    Axis,
    Proximity,
    choose,
    clamped,
    direction,
    dot,
    in_world,
    one_of,
    permuted,
    reciprocal,
    seen_from,
    signed,
    vector,
)
from kinloop.sim.contact.shapes.swept import only_where
from kinloop.spatial import Transform

ROUNDING = 1e-15
"""Rounding of sizes and offsets, as a part of them."""

SLACK = 1e-9
"""By how much points beside a face still count as over it [m]."""


def sphere_box(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A sphere and a box: one proximity. A centre inside leaves through the nearest face."""
    x = seen_from(pose_b.R, pose_a.p - pose_b.p)
    h = [0.5 * size_b[k] for k in range(3)]
    face = one_of([Axis(sc.abs(x[k]) - h[k], signed(x[k]) * unit(k)) for k in range(3)])
    length, n = direction(beyond(x, h), face.n)
    gap = sc.where(length > NEAR, length, face.separation) - size_a[0]
    n = in_world(pose_b.R, n)
    return [Proximity(gap, pose_a.p - (size_a[0] + 0.5 * gap) * n, n)]


def sphere_cylinder(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A sphere and a cylinder: one proximity. A centre inside leaves through the nearest cap, or the side."""
    x = seen_from(pose_b.R, pose_a.p - pose_b.p)
    off_axis, outward = direction(vector(x[0], x[1], 0.0), unit(0))
    side, cap = off_axis - size_b[0], sc.abs(x[2]) - 0.5 * size_b[1]
    face = one_of([Axis(side, outward), Axis(cap, signed(x[2]) * unit(2))])
    off = sc.maximum(side, 0.0) * outward + sc.maximum(cap, 0.0) * signed(x[2]) * unit(2)
    length, n = direction(off, face.n)
    gap = sc.where(length > NEAR, length, face.separation) - size_a[0]
    n = in_world(pose_b.R, n)
    return [Proximity(gap, pose_a.p - (size_a[0] + 0.5 * gap) * n, n)]


def unit(k: int) -> Array:
    """The unit vector along axis k."""
    return vector(*(float(k == i) for i in range(3)))


def beyond(x: Any, h: Any) -> Array:
    """From the nearest point of a box with half lengths h to x; zero inside."""
    return vector(*(x[k] - clamped(x[k], h[k]) for k in range(3)))


def capsule_box(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A capsule and a box: both ends of the part of the capsule that is over the face it touches."""
    R = pose_b.R
    c, u = seen_from(R, pose_a.p - pose_b.p), seen_from(R, pose_a.R[:, 2])
    h, l, r = [0.5 * size_b[k] for k in range(3)], 0.5 * size_a[1], size_a[0]
    nearest = _nearest(c, u, l, h)
    deepest = _deepest(c, u, l, h)
    length, n = direction(beyond(c + nearest * u, h), deepest.n)
    least = sc.where(length > NEAR, length, deepest.separation)
    low, high, over, slope = _over_face(c, u, l, h, n)
    low, high = sc.minimum(low, high), sc.maximum(low, high)
    out = []
    for s in (low, high):
        rise = sc.maximum(over + s * slope, least)
        x = c + s * u - 0.5 * (rise + r) * n
        out.append(Proximity(rise - r, pose_b.p + in_world(R, x), in_world(R, n)))
    two = high - low > APART
    first = sc.where(two, out[0].gap, sc.minimum(out[0].gap, out[1].gap))
    return [out[0]._replace(gap=first), only_where(two, out[1])]


def _nearest(c: Array, u: Array, l: Any, h: list[Any]) -> Any:
    """Where on the segment c + s u, |s| <= l, the distance from a box is smallest.

    Half the slope of its square, u . beyond(c + s u), grows with s and is linear between the places where a coordinate
    passes a face: the last of these with a negative slope and the first with a positive one enclose the place.
    """
    places = [-l, l]
    for k in range(3):
        per_unit = reciprocal(u[k])
        places += [clamped((side - c[k]) * per_unit, l) for side in (-h[k], h[k])]
    low, slope_low, high, slope_high = -l, 0.0, l, 0.0
    for j, s in enumerate(places):
        slope = dot(u, beyond(c + s * u, h))
        before, after = slope <= 0.0, slope >= 0.0
        if j == 0:
            slope_low = sc.minimum(slope, 0.0)
        elif j == 1:
            slope_high = sc.maximum(slope, 0.0)
        else:
            low, slope_low = choose(sc.logical_and(before, s >= low), (s, slope), (low, slope_low))
            high, slope_high = choose(sc.logical_and(after, s <= high), (s, slope), (high, slope_high))
    rise = slope_high - slope_low
    return low - (high - low) * (slope_low / sc.maximum(rise, 1e-300))


def _deepest(c: Array, u: Array, l: Any, h: list[Any]) -> Axis:
    """The direction in which a segment and a box overlap least: square to a face, or to the segment and an edge."""
    axes = [Axis(sc.abs(c[k]) - h[k] - l * sc.abs(u[k]), signed(c[k]) * unit(k)) for k in range(3)]
    for i, j in pairwise((0, 1, 2, 0)):
        across = u[i] * c[j] - u[j] * c[i]
        length = sc.maximum(sc.sqrt(u[i] * u[i] + u[j] * u[j]), ROUNDING)
        blur = ROUNDING * (h[i] + h[j] + l)
        per_length = signed(across) / length
        separation = (sc.abs(across) - h[i] * sc.abs(u[j]) - h[j] * sc.abs(u[i]) - blur) / length
        n = -u[j] * per_length * unit(i) + u[i] * per_length * unit(j)
        axes.append(Axis(separation, n))
    return one_of(axes)


def _over_face(c: Array, u: Array, l: Any, h: list[Any], n: Array) -> tuple[Any, Any, Any, Any]:
    """The part low <= s <= high of a segment c + s u that is over the face of a box that looks most along n.

    Seen along n; with the distance from the face at s = 0, and how it grows with s.
    """
    n_f, *n_s = permuted(n, n)
    (c_f, *c_s), (u_f, *u_s), (h_f, *h_s) = (permuted(n, v) for v in (c, u, h))
    per_height = 1.0 / sc.abs(n_f)
    over = (signed(n_f) * c_f - h_f) * per_height
    slope = signed(n_f) * u_f * per_height
    low, high = -l, l
    for c_k, u_k, n_k, h_k in zip(c_s, u_s, n_s, h_s, strict=True):
        per_unit = reciprocal(u_k - slope * n_k)
        middle = -(c_k - over * n_k) * per_unit
        reach = (h_k + SLACK) * sc.abs(per_unit)
        low, high = sc.maximum(low, middle - reach), sc.minimum(high, middle + reach)
    return clamped(low, l), clamped(high, l), over, slope
