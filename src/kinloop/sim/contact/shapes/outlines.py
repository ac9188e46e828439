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


Corners = list[list[float]]
"""Points of a plane. There are few of them, and numbers one by one take less time than arrays."""


def hull(points: Array) -> Array:
    """The corners (m, 2) of the convex hull of points (n, 2), counterclockwise; of a thin one its two ends, or one."""
    return np.array(_hull(points.tolist())).reshape(-1, 2)


def _hull(points: Corners) -> Corners:
    ordered = sorted(points)
    if len(ordered) > 2:
        sides = []
        for row in (ordered, ordered[::-1]):
            side: Corners = []
            for x in row:
                while len(side) > 1 and _left_of(side[-2], side[-1], x) <= THIN:
                    side.pop()
                side.append(x)
            sides.append(side)
        ordered = sides[0][:-1] + sides[1][:-1]
    wide = any(max(column) - min(column) >= THIN for column in zip(*ordered, strict=True))
    return ordered if wide else ordered[:1]


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
    first, second = (_hull((_few(x) if len(x) > FEW else x).tolist()) for x in (a, b))
    if min(len(first), len(second)) < 2:
        return np.empty((0, 2))
    if len(second) == 2:
        first, second = second, first
    if len(second) > 2:
        return np.array(_cut(first, second)).reshape(-1, 2)
    return _shared(np.array(first), np.array(second))


def _few(points: Array) -> Array:
    """Of many points those furthest along as many directions."""
    return np.asarray(points[np.unique(np.argmax(DIRECTIONS @ points.T, axis=1))])


def _cut(corners: Corners, window: Corners) -> Corners:
    """A polygon cut off at the edges of another one, edge after edge [Sutherland1974]."""
    for edge, end in enumerate(window):
        begin, kept = window[edge - 1], list[list[float]]()
        side = [_left_of(begin, end, x) for x in corners]
        if min(side) >= 0.0:
            continue
        for k, x in enumerate(corners):
            before, s, t = corners[k - 1], side[k - 1], side[k]
            if (s >= 0.0) != (t >= 0.0):
                part = s / (s - t)
                kept.append([before[0] + part * (x[0] - before[0]), before[1] + part * (x[1] - before[1])])
            if t >= 0.0:
                kept.append(x)
        corners = kept
        if not corners:
            return []
    return _hull(corners)


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
