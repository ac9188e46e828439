"""Spheres, and the ends of capsules, over a height field: a grid of heights with two triangles to each cell.

The cell between nodes 00 and 11 is divided along the diagonal from 00 to 11. The four cells nearest to the centre of a
sphere are looked at: what is further away than half a cell from the centre may not be seen. A sphere touches at the
nearest point of their triangles, and in a valley at further ones: where the foot of the centre on a triangle's plane is
inside the triangle. Edges count for the nearest point only, so that a sphere that rolls over level cells does not feel
them. Vectors are in the field's frame until the end. A centre below the surface leaves through the triangle above it.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.proximity import (
    FAR,
    Proximity,
    choose,
    clamped,
    direction,
    dot,
    in_world,
    seen_from,
    vector,
)
from kinloop.spatial import Transform

PARTS = 3
"""Proximities of a sphere."""

SAME = 1e-9
"""Normals that differ by less are the same."""


class Heights(NamedTuple):
    """What a height field has in place of a size: lengths along x and y [m], and heights [m].

    Heights (rows along y, columns along x) are at points spread evenly over the lengths, from negative x and y on.
    """

    lengths: Any
    heights: Array


def sphere_heightfield(size_a: Any, pose_a: Transform, size_b: Heights, pose_b: Transform) -> list[Proximity]:
    """A sphere over a height field: the nearest point, and up to two more triangles it rests on."""
    x = seen_from(pose_b.R, pose_a.p - pose_b.p)
    radius = size_a[0]
    inside = _beside(x, size_b.lengths) <= radius
    out = []
    for distance, *n in _nearest(x, _Cells(x, size_b)):
        gap = sc.where(inside, sc.minimum(distance - radius, FAR), FAR)
        normal = in_world(pose_b.R, n)
        out.append(Proximity(gap, pose_a.p - 0.5 * (sc.minimum(distance, FAR) + radius) * normal, normal))
    return out


def sphere_terrain(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A sphere over a ground that a function describes, `size_b`: it sees the tangent plane below its centre."""
    return [_over_terrain(pose_a.p, size_a[0], size_b)]


def capsule_terrain(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A capsule over a ground that a function describes: both ends."""
    half = 0.5 * size_a[1] * pose_a.R[:, 2]
    return [_over_terrain(pose_a.p + side * half, size_a[0], size_b) for side in (1.0, -1.0)]


def _over_terrain(x: Array, radius: Any, terrain: Any) -> Proximity:
    distance, axes = terrain.surface(x)
    return Proximity(distance - radius, x - 0.5 * (distance + radius) * axes[:, 0], axes[:, 0])


def capsule_heightfield(size_a: Any, pose_a: Transform, size_b: Heights, pose_b: Transform) -> list[Proximity]:
    """A capsule over a height field: its two end spheres."""
    reach = 0.5 * size_a[1] * pose_a.R[:, 2]
    ends = (pose_a._replace(p=pose_a.p + sign * reach) for sign in (-1.0, 1.0))
    return [found for end in ends for found in sphere_heightfield(size_a, end, size_b, pose_b)]


def _beside(x: Array, lengths: Any) -> Any:
    """How far a point is beside the rectangle of the field."""
    return sc.maximum(sc.abs(x[0]) - 0.5 * lengths[0], sc.abs(x[1]) - 0.5 * lengths[1])


class _Cells:
    """The cells next to a point, two by two where there are as many: their nodes, and the point in units of cells."""

    def __init__(self, x: Array, field: Heights) -> None:
        counts = field.heights.shape[1], field.heights.shape[0]
        self.size = [field.lengths[k] / (counts[k] - 1.0) for k in range(2)]
        self.per_size = [1.0 / size for size in self.size]
        self.cells = [min(2, counts[k] - 1) for k in range(2)]
        half = [0.5 * field.lengths[k] for k in range(2)]
        first = []
        for k in range(2):
            last = float(counts[k] - 1 - self.cells[k])
            first.append(sc.minimum(sc.maximum(sc.floor((x[k] + half[k]) * self.per_size[k] - 0.5), 0.0), last))
        self.origin = [first[k] * self.size[k] - half[k] for k in range(2)]
        self.heights = [
            [_entry(field.heights, first[1] + i, first[0] + j) for j in range(self.cells[0] + 1)]
            for i in range(self.cells[1] + 1)
        ]

    def node(self, i: int, j: int) -> Array:
        """The node in row i and column j."""
        return vector(self.origin[0] + j * self.size[0], self.origin[1] + i * self.size[1], self.heights[i][j])


def _entry(table: Array, row: Any, column: Any) -> Any:
    """The entry of a table at a row and column that may be symbols."""
    return sc.take(np.asarray(table).ravel(), row * float(table.shape[1]) + column)


class _Triangle(NamedTuple):
    """A triangle as seen from a point: signed distance of its plane, normal, whether its inside is next to the point
    along the normal, and whether it is straight below or above it."""

    distance: Any
    n: Array
    facing: Any
    level: Any


def _triangles(x: Array, cells: _Cells) -> list[_Triangle]:
    out = []
    per_x, per_y = cells.per_size
    for i, j, upper in product(range(cells.cells[1]), range(cells.cells[0]), (False, True)):
        a, b, c, d = (cells.node(*node) for node in ((i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)))
        g_x = (c[2] - d[2] if upper else b[2] - a[2]) * per_x
        g_y = (d[2] - a[2] if upper else c[2] - b[2]) * per_y
        rise = 1.0 / sc.sqrt(1.0 + g_x * g_x + g_y * g_y)
        n = vector(-g_x * rise, -g_y * rise, rise)
        along, across = x[0] - a[0], x[1] - a[1]
        distance = (x[2] - (a[2] + g_x * along + g_y * across)) * rise
        foot = (along - distance * n[0]) * per_x, (across - distance * n[1]) * per_y
        under = along * per_x, across * per_y
        out.append(_Triangle(distance, n, _in_half(*foot, upper), _in_half(*under, upper)))
    return out


def _in_half(f_x: Any, f_y: Any, upper: bool) -> Any:
    """Whether a point in units of a cell is in the triangle below its diagonal, or above it."""
    low, high = (f_x, f_y) if upper else (f_y, f_x)
    return sc.logical_and(sc.logical_and(low >= 0.0, high <= 1.0), low <= high)


def _nearest(x: Array, cells: _Cells) -> list[Array]:
    """Three rows (distance, normal), `FAR` where they are not needed: the nearest point, then further triangles."""
    faces = [vector(FAR, 0.0, 0.0, 1.0)] * PARTS
    under = vector(FAR, 0.0, 0.0, 1.0)
    for t in _triangles(x, cells):
        row = vector(t.distance, *t.n)
        under = choose(t.level, row, under)
        row = choose(sc.logical_and(t.facing, t.distance >= 0.0), row, faces[-1])
        for k in range(PARTS):
            nearer = row[0] < faces[k][0]
            faces[k], row = choose(nearer, row, faces[k]), choose(nearer, faces[k], row)
    edge = _nearest_edge(x, cells)
    rows = [choose(edge[0] < faces[0][0], *both) for both in zip([edge, *faces], [*faces, faces[-1]], strict=True)]
    below = under[0] < 0.0
    out = [choose(below, under, rows[0])]
    for k in range(1, PARTS):
        # Where two level triangles share an edge, rounding may put the foot of the centre into both.
        left_out = below
        for other in rows[:k]:
            left_out = sc.logical_or(left_out, _same(rows[k], other))
        out.append(vector(sc.where(left_out, FAR, rows[k][0]), *rows[k][1:]))
    return out


def _same(one: Array, other: Array) -> Any:
    """Whether two rows have the same normal."""
    apart = [sc.abs(one[k] - other[k]) for k in range(1, 4)]
    return sc.maximum(sc.maximum(apart[0], apart[1]), apart[2]) < SAME


def _nearest_edge(x: Array, cells: _Cells) -> Array:
    """Distance and direction from the nearest point of all edges."""
    columns, rows = cells.cells
    nodes = [(i, j) for i in range(rows + 1) for j in range(columns + 1)]
    ends = [(node, (node[0] + i, node[1] + j)) for node in nodes for i, j in ((0, 1), (1, 0), (1, 1))]
    best = vector(FAR, 0.0, 0.0, FAR)
    for begin, end in ends:
        if end[0] > rows or end[1] > columns:
            continue
        a, b = cells.node(*begin), cells.node(*end)
        along = 0.5 * (b - a)
        middle = x - (a + along)
        off = middle - clamped(dot(middle, along) / dot(along, along), 1.0) * along
        square = dot(off, off)
        best = choose(square < best[0], (square, *off), best)
    length, n = direction(best[1:], vector(0.0, 0.0, 1.0))
    return vector(length, *n)
