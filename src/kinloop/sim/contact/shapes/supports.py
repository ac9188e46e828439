"""How far convex shapes reach along a direction, and where: what a search for the nearest points asks of them.

A shape is what its core covers when a ball of its `rounding` goes over it. The core of a sphere is a point, that of a
capsule a segment, that of a hull its vertices; boxes, cylinders and ellipsoids are their own. All cores but those of
hulls are sums of a box, a disc across the last axis and an ellipsoid, most of these of no size: what such a sum has
furthest along d is the sum of what its parts have.

The vertices of hulls are found by climbing from vertex to vertex along edges, as far as there is a neighbour further
along d. On the surface of a convex body that ends at the furthest of all. Where it begins is kept for some directions.
Neighbours are looked at in blocks of `BLOCK`, with all that is needed of them side by side in memory: what a climb
costs is mostly waiting for numbers, and those of a block come together.

How far a hull reaches at most is known without a climb: reach is convex in the direction and grows with its length, so
that between directions for which it is kept it is at most what lies between theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.convex import ConvexShape, Hull
from kinloop.sim.contact.shapes.proximity import dot, signed, vector

SUM = 8
"""Numbers of a core: half the lengths of a box, the radius of a disc, half axes of an ellipsoid, and rounding [m]."""

BLOCK = 6
"""Neighbours that are looked at together; most vertices have as many."""

CELLS = 16
"""Cells along the edges of a cube about a hull; the middle of each is a direction whose furthest vertex is known."""

REACHES = 8
"""The same of cells at whose corners the reach of the hull is known."""


def core(shape: ConvexShape) -> list[float]:
    """The numbers of a shape's core; of a hull all are zero."""
    s = shape.size.ravel().tolist()
    match shape.kind:
        case "sphere":
            return [0.0] * 7 + [s[0]]
        case "capsule":
            return [0.0, 0.0, 0.5 * s[1], 0.0, 0.0, 0.0, 0.0, s[0]]
        case "cylinder":
            return [0.0, 0.0, 0.5 * s[1], s[0], 0.0, 0.0, 0.0, 0.0]
        case "box":
            return [0.5 * x for x in s] + [0.0] * 5
        case "ellipsoid":
            return [0.0] * 4 + s + [0.0]
    return [0.0] * SUM


class Hulls:
    """Hulls as tables of numbers: vertices, blocks of their neighbours, and where climbs begin.

    A block has the number of the next one of the same vertex, or -1, and of each neighbour its place and the number of
    its own first block; where there are too few it has the vertex itself. `number` has numbers of hulls by their id.
    """

    def __init__(self, hulls: Iterable[Hull]) -> None:
        found = {id(x): x for x in hulls}
        vertices, lists, begins, reaches = list[Array](), list[list[int]](), list[Array](), list[Array]()
        self.number = {key: float(k) for k, key in enumerate(found)}
        directions, corners = cell_directions(CELLS), corner_directions(REACHES)
        for hull in found.values():
            first = len(lists)
            lists += [[first + w for w in own] for own in hull.neighbours()]
            begins.append(first + np.argmax(directions @ hull.vertices.T, axis=1))
            reaches.append(np.max(corners @ hull.vertices.T, axis=1))
            vertices.append(hull.vertices)
        self.vertices = np.concatenate(vertices) if vertices else np.zeros((0, 3))
        counts = [-(-max(len(own), 1) // BLOCK) for own in lists]
        rows = np.column_stack([self.vertices, np.cumsum([0, *counts])[: len(self.vertices)]])
        self._rows, self._blocks = rows.ravel(), _blocks(rows, lists, counts).ravel()
        self._owner = np.repeat(np.arange(len(lists)), counts).astype(float)
        self.begin = np.concatenate(begins).astype(float) if begins else np.zeros(0)
        self._reach = np.concatenate(reaches) if reaches else np.zeros(0)

    def __bool__(self) -> bool:
        return len(self.vertices) > 0

    def beginning(self, number: Any, d: Array) -> Any:
        """The vertex at which a climb along d begins in the hull of a number, its own axes."""
        side, _, cells, _ = _on_cube(d, CELLS)
        place = (side * CELLS + cells[0]) * CELLS + cells[1]
        return sc.take(self.begin, number * (6.0 * CELLS * CELLS) + place)

    def reach_at_most(self, number: Any, d: Array) -> Any:
        """At least how far the hull of a number reaches along d, in its own axes: by a few percent of its size more."""
        side, most, cells, parts = _on_cube(d, REACHES)
        n = REACHES + 1.0
        corner = number * (6.0 * n * n) + (side * n + cells[0]) * n + cells[1]
        along = [sc.take(self._reach, corner + shift) for shift in (0.0, 1.0, n, n + 1.0)]
        near, far = (x + parts[1] * (y - x) for x, y in (along[:2], along[2:]))
        return most * (near + parts[0] * (far - near))

    def vertex(self, v: Any) -> Array:
        """A vertex by its number."""
        return self._row(v)[:3]

    def _row(self, v: Any) -> Array:
        """A vertex and its first block of neighbours; all of it lies side by side."""
        return vector(*(sc.take(self._rows, 4.0 * v + float(k)) for k in range(4)))

    def higher(self, v: Any, number: Any, d: Array) -> Any:
        """A vertex v, or the one at which climbs along d begin in this hull, whichever is further along d."""
        begin = self.beginning(number, d)
        return sc.where(dot(d, self.vertex(begin)) > dot(d, self.vertex(v)), begin, v)

    def climbed(self, v: Any, d: Array, when: Any = True) -> Any:
        """The vertex furthest along d, from a vertex v of the same hull on."""

        width = float(1 + 4 * BLOCK)

        def look(carry: Any, given: Any) -> list[Any]:
            block, at, most = carry
            following, *each = (sc.take(self._blocks, width * block + float(k)) for k in range(1 + 4 * BLOCK))
            best: Any = -1.0
            for k in range(BLOCK):
                *x, first = each[4 * k : 4 * k + 4]
                reach = dot(given, x)
                further = reach > most
                best, most = sc.where(further, first, best), sc.where(further, reach, most)
            moves = best >= 0.0
            return [sc.where(moves, best, following), sc.where(moves, best, at), most]

        *x, first = self._row(v)
        begin = [first, first, dot(d, x)]
        limit = len(self._owner)
        end = sc.repeat(limit, look, begin, d, when=when, until=lambda carry: carry[0] < 0.0, usual=3)
        return sc.take(self._owner, end[1])


def _blocks(rows: Array, lists: list[list[int]], counts: list[int]) -> Array:
    """The blocks (n, 1 + 4 BLOCK) of vertices, by their neighbours; `rows` has places and first blocks of vertices."""
    out, k = np.empty((sum(counts), 1 + 4 * BLOCK)), 0
    for v, (own, count) in enumerate(zip(lists, counts, strict=True)):
        members = [*own, *[v] * (count * BLOCK - len(own))]
        out[k : k + count, 0] = [*range(k + 1, k + count), -1]
        out[k : k + count, 1:] = rows[members].reshape(count, -1)
        k += count
    return out


def _on_cube(d: Array, count: int) -> tuple[Any, Any, list[Any], list[Any]]:
    """Where a direction meets the cube: its side, its length there, its cell along either axis, and where in that."""
    x, y, z = (sc.abs(d[k]) for k in range(3))
    first, second = sc.logical_and(x >= y, x >= z), y >= z

    def of(values: Any) -> Any:
        return sc.where(first, values[0], sc.where(second, values[1], values[2]))

    most = sc.maximum(of((x, y, z)), 1e-300)
    side = of((0.0, 1.0, 2.0)) * 2.0 + sc.where(of(d) < 0.0, 1.0, 0.0)
    cells, parts = [], []
    for other in (of((d[1], d[2], d[0])), of((d[2], d[0], d[1]))):
        place = (other / most + 1.0) * (0.5 * count)
        cells.append(sc.minimum(sc.maximum(sc.floor(place), 0.0), count - 1.0))
        parts.append(place - cells[-1])
    return side, most, cells, parts


def cell_directions(count: int) -> Array:
    """The middles of all cells of a cube with so many along its edges (6 count^2, 3)."""
    return _over_sides((2.0 * np.arange(count) + 1.0) / count - 1.0)


def corner_directions(count: int) -> Array:
    """The corners of all cells of a cube, side by side (6 (count + 1)^2, 3)."""
    return _over_sides(2.0 * np.arange(count + 1.0) / count - 1.0)


def _over_sides(t: Array) -> Array:
    """Directions to the points (t, t) of all sides of a cube."""
    u, w = (x.ravel() for x in np.meshgrid(t, t, indexing="ij"))
    out = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            d = np.empty((len(u), 3))
            d[:, axis], d[:, (axis + 1) % 3], d[:, (axis + 2) % 3] = sign, u, w
            out.append(d)
    return np.concatenate(out)


class Sum(NamedTuple):
    """Which parts some cores have at all: boxes, discs, ellipsoids."""

    boxes: bool
    discs: bool
    ellipsoids: bool

    @classmethod
    def of(cls, cores: Array) -> Sum:
        return cls(bool(np.any(cores[:, :3])), bool(np.any(cores[:, 3])), bool(np.any(cores[:, 4:7])))

    def furthest(self, size: Any, d: Array) -> Array:
        """What a core has furthest along d."""
        x = vector(0.0, 0.0, 0.0)
        if self.boxes:
            x = x + vector(*(signed(d[k], size[k]) for k in range(3)))
        if self.discs:
            length = sc.sqrt(d[0] * d[0] + d[1] * d[1])
            per = size[3] / sc.maximum(length, 1e-300)
            x = x + vector(d[0] * per, d[1] * per, 0.0)
        if self.ellipsoids:
            scaled = [size[4 + k] * d[k] for k in range(3)]
            per = 1.0 / sc.maximum(sc.sqrt(dot(scaled, scaled)), 1e-300)
            x = x + vector(*(size[4 + k] * scaled[k] * per for k in range(3)))
        return x
