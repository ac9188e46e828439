"""Polygons in a plane: hulls of points, and what two of them share. Segments and points are polygons, too."""

from __future__ import annotations

import math

import numpy as np

from kinloop.scalar import Array

THIN = 1e-9
"""Polygons that are nowhere wider are segments, segments that are shorter are points [m]."""

ALIGNED = 0.01
"""Segments on one line leave it by less, as a part of their length."""


FEW = 16
"""Corners that an outline has at most: of a circle they leave out 2 % of its radius."""

DIRECTIONS = np.array([[math.cos(x), math.sin(x)] for x in 2.0 * math.pi * np.arange(FEW) / FEW])


def hull(points: Array) -> Array:
    """The corners (m, 2) of the convex hull of points (n, 2), counterclockwise; of a thin one its two ends, or one."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))].tolist()
    if len(ordered) > 2:
        sides = []
        for row in (ordered, ordered[::-1]):
            side: list[list[float]] = []
            for x in row:
                while len(side) > 1 and _left_of(side[-2], side[-1], x) <= THIN:
                    side.pop()
                side.append(x)
            sides.append(side)
        ordered = sides[0][:-1] + sides[1][:-1]
    corners = np.array(ordered)
    return corners[:1] if np.ptp(corners, axis=0).max() < THIN else corners


def _left_of(a: list[float], b: list[float], x: list[float]) -> float:
    """How far x is to the left of the line from a to b."""
    d_x, d_y = b[0] - a[0], b[1] - a[1]
    length = max(math.hypot(d_x, d_y), THIN)
    return (d_x * (x[1] - a[1]) - d_y * (x[0] - a[0])) / length


def inside(window: Array, x: Array) -> bool:
    """Whether a point (2,) is in a polygon (n, 2), counterclockwise."""
    corners, point = window.tolist(), x.tolist()
    return all(_left_of(corners[k - 1], corners[k], point) >= -THIN for k in range(len(corners)))


def overlap(a: Array, b: Array) -> Array:
    """Corners (m, 2) of what the hulls of two sets of points (n, 2) share.

    Nothing where it is a point of one of them or the crossing of two segments. Of many corners `FEW` stand for all.
    """
    a, b = hull(_few(a)), hull(_few(b))
    if min(len(a), len(b)) < 2:
        return np.empty((0, 2))
    if len(b) == 2:
        a, b = b, a
    return _cut(a, b) if len(b) > 2 else _shared(a, b)


def _few(points: Array) -> Array:
    """Of many points those furthest along as many directions."""
    return points[np.unique(np.argmax(DIRECTIONS @ points.T, axis=1))] if len(points) > FEW else points


def _cut(subject: Array, window: Array) -> Array:
    """A polygon cut off at the edges of another one, edge after edge [Sutherland1974]."""
    after = np.roll(window, -1, axis=0)
    (d_x, d_y), (x, y) = (after - window).T, (subject[:, None] - window).T
    left = d_x[:, None] * y - d_y[:, None] * x
    if (left.max(axis=1) < 0.0).any():
        return np.empty((0, 2))
    corners, some = subject.tolist(), np.flatnonzero(left.min(axis=1) < 0.0)  # others cut nothing off
    for begin, end in zip(window[some].tolist(), after[some].tolist(), strict=True):
        kept: list[list[float]] = []
        side = [_left_of(begin, end, x) for x in corners]
        for k, x in enumerate(corners):
            before, s, t = corners[k - 1], side[k - 1], side[k]
            if (s >= 0.0) != (t >= 0.0):
                part = s / (s - t)
                kept.append([before[0] + part * (x[0] - before[0]), before[1] + part * (x[1] - before[1])])
            if t >= 0.0:
                kept.append(x)
        corners = kept
    return hull(np.array(corners)) if corners else np.empty((0, 2))


def _shared(a: Array, b: Array) -> Array:
    """Both ends of what two segments on nearly the same line share."""
    along = a[1] - a[0]
    length = np.linalg.norm(along)
    u = along / length
    off, where = np.abs((b - a[0]) @ [-u[1], u[0]]), (b - a[0]) @ u
    low, high = max(0.0, where.min()), min(float(length), where.max())
    if off.max() > ALIGNED * length or high <= low:
        return np.empty((0, 2))
    return np.asarray(a[0] + np.outer([low, high], u))
