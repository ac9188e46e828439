"""Convex shapes over height fields, triangle by triangle: where their faces, edges and corners come down on them.

A field is a grid of heights with two triangles to a cell, divided as `height_fields` says; a ground that a function
describes is one with nodes on its surface, as narrow as the shape needs. Each triangle near a shape is asked twice:

- for its own normal: what the shape has furthest against it, seen along the normal, is cut off at the triangle.
  Of a point of the shape that lies below the surface only ways out count that are no longer than straight up.
- where an edge or a node of it sticks out: `convex_pairs`, for the triangle with what is below it. Its normal counts
  only where the triangles beside that edge, or about that node, lie below the plane square to it: there are
  no walls between cells.

Points in one place with one normal count once; of many the nearest are kept, spread wide. All is in the field's frame.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.contact.shapes.convex import TILT, ConvexShape
from kinloop.sim.contact.shapes.convex_pairs import INWARD, LOST, furthest_along_diagonals, proximities_of
from kinloop.sim.contact.shapes.height_fields import Heights
from kinloop.sim.contact.shapes.outlines import hull, inside, overlap
from kinloop.sim.contact.shapes.patches import APART
from kinloop.sim.contact.shapes.proximity import Proximity
from kinloop.spatial import cross

MOST = 8
"""Proximities of a shape and a field at most."""

SHARP = 1e-6
"""Edges and nodes count where they stick out by more than this part of a cell's width."""

CORNER = 1e-5
"""Points of a triangle that are nearer to a side than this part of its height are on it."""

CLOSE = 1e-7
"""Lengths below it count as none [m]."""

WIDE = 1e6
"""Half the lengths of a ground that has no end [m]."""

KEPT = 20_000
"""Prisms that are kept."""


class Block(NamedTuple):
    """Nodes (rows along y, columns along x, 3) of some cells and one more on each side; `origin`: place of the first.

    Where a field ends, nodes beyond have a height of minus infinity. `size` are the lengths of a cell.
    """

    nodes: Array
    origin: tuple[int, int]
    size: Array

    @property
    def width(self) -> float:
        """The longer side of a cell [m]."""
        return float(self.size.max())

    def height(self, x: Array) -> float:
        """The height of the surface at x (2,); minus infinity where there is none."""
        f = (x - self.nodes[0, 0, :2]) / self.size
        j, i = (int(k) for k in np.clip(np.floor(f), 0, np.array(self.nodes.shape[1::-1]) - 2))
        (a, b), (d, c) = self.nodes[i : i + 2, j : j + 2, 2].tolist()
        along, across = f[0] - j, f[1] - i
        if max(abs(along - 0.5), abs(across - 0.5)) > 0.5 + SHARP or not np.isfinite([a, b, c, d]).all():
            return -np.inf
        return float(
            a + (along * (b - a) + across * (c - b) if along >= across else along * (c - d) + across * (d - a))
        )


class Field:
    """A height field as searches take it: `middle` and `half` [m] of a box that holds it, in its own frame.

    `data` are `Heights`, or a ground with `heights(x, y)`; `base` is how far below z = 0 there is something [m].
    """

    def __init__(self, data: Any, base: float = WIDE) -> None:
        self.data, self.base, self._prisms = data, base, dict[Any, ConvexShape]()
        if isinstance(data, Heights):
            low, high = -base, float(np.max(data.heights))
            self.middle = np.array([0.0, 0.0, 0.5 * (low + high)])
            self.half = np.array([0.5 * data.lengths[0], 0.5 * data.lengths[1], 0.5 * (high - low)])
        else:
            self.middle, self.half = np.zeros(3), np.full(3, WIDE)

    def spacing(self, shape: ConvexShape) -> Array:
        """Lengths of a cell along x and y."""
        if isinstance(self.data, Heights):
            return np.asarray(self.data.lengths) / (np.array(self.data.heights.shape[::-1]) - 1.0)
        return np.full(2, 0.5 * shape.half.max())

    def block(self, size: Array, low: Array, high: Array) -> Block | None:
        """The cells that lie between two corners (2,); None where there are none."""
        if isinstance(self.data, Heights):
            begin, counts = -0.5 * np.asarray(self.data.lengths), np.array(self.data.heights.shape[::-1])
            first = np.maximum(np.floor((low - begin) / size).astype(int), 0)
            last = np.minimum(np.ceil((high - begin) / size).astype(int), counts - 1)
            if (last <= first).any():
                return None
            j, i = (np.arange(first[k] - 1, last[k] + 2) for k in range(2))
            z = np.full((len(i), len(j)), -np.inf)
            there = np.ix_((i >= 0) & (i < counts[1]), (j >= 0) & (j < counts[0]))
            z[there] = self.data.heights[np.ix_(np.clip(i, 0, counts[1] - 1), np.clip(j, 0, counts[0] - 1))][there]
        else:
            begin = np.zeros(2)
            first, last = np.floor(low / size).astype(int), np.ceil(high / size).astype(int)
            j, i = (np.arange(first[k] - 1, last[k] + 2) for k in range(2))
        x, y = np.meshgrid(begin[0] + size[0] * j, begin[1] + size[1] * i)
        z = z if isinstance(self.data, Heights) else np.asarray(self.data.heights(x, y))
        return Block(np.stack([x, y, z], axis=-1), (int(i[0]), int(j[0])), size)

    def prism(self, key: Any, corners: Array, depth: float) -> ConvexShape:
        """A triangle and what is below it."""
        if key not in self._prisms:
            if len(self._prisms) >= KEPT:
                self._prisms.clear()
            below = corners.copy()
            below[:, 2] = corners[:, 2].min() - depth
            self._prisms[key] = ConvexShape("mesh", np.concatenate([corners, below]), "a cell of a height field")
        return self._prisms[key]

    def proximities(self, a: ConvexShape, poses: tuple[Array, ...], reach: float) -> list[Proximity]:
        """Proximities of a shape and this field, poses as those of two shapes; none further apart than `reach` [m]."""
        R_a, p_a, R_b, p_b = poses
        placed = Placed(a, R_b.T @ R_a, R_b.T @ (p_a - p_b))
        found = _reduced(over(self, placed, reach))
        return [Proximity(x.gap, p_b + R_b @ x.point, R_b @ x.normal) for x in found]


class Placed(NamedTuple):
    """A shape at its pose in the field's frame."""

    shape: ConvexShape
    R: Array
    p: Array

    def way_out(self, x: Array, n: Array) -> Array:
        return self.shape.way_out((x - self.p) @ self.R, n @ self.R)

    def lowest(self, n: Array) -> float:
        """How far it reaches down along n, from the origin."""
        return float(n @ self.p - self.shape.reach(-n @ self.R))

    def face(self, n: Array, tolerance: float) -> Array:
        """What it has furthest against n."""
        return np.asarray(self.shape.end(-n @ self.R, tolerance) @ self.R.T + self.p)


class Triangle(NamedTuple):
    """Corners (3, 3), counterclockwise seen from above, the normal, and places in the block: of the corners, and of the
    nodes that are opposite to its sides 01, 12 and 20 in the triangles beside it."""

    corners: Array
    normal: Array
    places: tuple[tuple[int, int], ...]
    beside: tuple[tuple[int, int], ...]


LOWER = ((0, 0), (0, 1), (1, 1)), ((-1, 0), (1, 2), (1, 0))
UPPER = ((0, 0), (1, 1), (1, 0)), ((0, 1), (2, 1), (0, -1))
"""Places of the corners of a cell's triangles, and of the nodes beside their sides, from the cell's first node on."""

AROUND = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1))
"""Places of the nodes that share triangles with a node."""


def over(field: Field, a: Placed, reach: float) -> list[Proximity]:
    """Proximities of a shape with all triangles of a field, in its frame."""
    middle, half = a.p + a.R @ a.shape.middle, np.abs(a.R) @ a.shape.half + reach
    block = field.block(field.spacing(a.shape), (middle - half)[:2], (middle + half)[:2])
    if block is None or middle[2] + half[2] < -field.base:
        return []
    out, tolerance = list[Proximity](), TILT * min(a.shape.half.max(), block.width)
    for t in _near(block, a, middle[2] - half[2], reach):
        down = a.lowest(t.normal) - float(t.normal @ t.corners[0])
        if down <= reach:
            out += [x for x in _on_face(t, a, down, tolerance) if _is_way_out(block, x)]
            out += _at_edges(field, block, t, a, reach)
    return [x for x in out if x.gap <= reach]


def _near(block: Block, a: Placed, low: float, reach: float) -> list[Triangle]:
    """Triangles whose boxes, along the shape's axes, are nearer to its own than `reach`, and that reach up to `low`."""
    rows, columns = (n - 3 for n in block.nodes.shape[:2])
    i, j = (x.ravel() + 1 for x in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    out = []
    for places, beside in (LOWER, UPPER):
        corners = np.stack([block.nodes[i + k, j + m] for k, m in places], axis=1)
        seen = (corners - a.p) @ a.R - a.shape.middle
        apart = np.maximum(seen.min(axis=1) - a.shape.half, -a.shape.half - seen.max(axis=1)).max(axis=1)
        for k in np.flatnonzero((apart <= reach) & (corners[:, :, 2].max(axis=1) >= low)).tolist():
            n = cross(corners[k, 1] - corners[k, 0], corners[k, 2] - corners[k, 0])
            at = [tuple((int(i[k]) + x, int(j[k]) + y) for x, y in some) for some in (places, beside)]
            out.append(Triangle(corners[k], n / np.sqrt(n @ n), *at))
    return out


def _on_face(t: Triangle, a: Placed, down: float, tolerance: float) -> list[Proximity]:
    """Where a shape is over a triangle along its normal; `down` is how far it stays above the plane."""
    n, origin = t.normal, t.corners[0]
    side = (t.corners[1] - origin) / np.linalg.norm(t.corners[1] - origin)
    across = np.array([side, cross(n, side)])
    window, face = ((x - origin) @ across.T for x in (t.corners, a.face(n, tolerance)))
    ends = hull(face)
    if len(ends) == 1:
        return [Proximity(down, origin + ends[0] @ across + 0.5 * down * n, n)] if inside(window, ends[0]) else []
    outline = overlap(ends, window)
    if len(outline) < 2:
        return []
    centre = outline.mean(axis=0)
    x = origin + (centre + (1.0 - INWARD) * (outline - centre)) @ across
    gap = np.maximum(-a.way_out(x, -n), down)
    return [Proximity(g, y, n) for g, y in zip(gap.tolist(), x + 0.5 * gap[:, None] * n, strict=True)]


def _is_way_out(block: Block, x: Proximity) -> bool:
    """Whether a point of a shape that is below the surface is no deeper there than straight down."""
    y = x.point + 0.5 * x.gap * x.normal
    return bool(x.gap >= -max(block.height(y[:2]) - y[2], 0.0) - CLOSE)


def _at_edges(field: Field, block: Block, t: Triangle, a: Placed, reach: float) -> list[Proximity]:
    """Where a shape comes down on an edge or a node of a triangle that sticks out."""
    allowed = SHARP * block.width
    if not any(t.normal @ (block.nodes[place] - t.corners[0]) < -allowed for place in t.beside):
        return []
    (i, j), (k, m) = t.places[0], t.places[1]
    prism = field.prism(
        (i + block.origin[0], j + block.origin[1], k - i, m - j, block.width), t.corners, 4.0 * block.width
    )
    found = proximities_of(a.shape, prism, (a.R, a.p, np.eye(3), np.zeros(3)), reach)
    return found if found and _is_normal(block, t, min(found, key=lambda x: x.gap), allowed) else []


def _is_normal(block: Block, t: Triangle, x: Proximity, allowed: float) -> bool:
    """Whether the surface beside the edge, or about the node, that a shape touches lies below the plane of contact."""
    on = x.point - 0.5 * x.gap * x.normal
    off = on - t.corners[0]
    sides = np.column_stack([t.corners[1] - t.corners[0], t.corners[2] - t.corners[0]])
    second, third = np.linalg.solve(sides[:2], off[:2])
    weights = np.array([1.0 - second - third, second, third])
    touched = np.flatnonzero(weights > CORNER)
    if x.normal[2] <= 0.0 or abs(t.normal @ off) > allowed or weights.min() < -SHARP or len(touched) == 3:
        return False
    if len(touched) == 2:
        opposite = int(3 - touched.sum())
        others = [t.places[opposite], t.beside[(opposite + 1) % 3]]
    else:
        i, j = t.places[int(np.argmax(weights))]
        others = [(i + k, j + m) for k, m in AROUND]
    return all(x.normal @ (block.nodes[place] - on) <= allowed for place in others)


def _reduced(found: list[Proximity]) -> list[Proximity]:
    """Points in one place with one normal once, of those in a plane four and the nearest, of all the nearest."""
    planes: list[list[Proximity]] = []
    for x in sorted(found, key=lambda x: x.gap):
        for plane in planes:
            y = plane[0]
            if np.abs(x.normal - y.normal).max() < SHARP and abs(y.normal @ (x.point - y.point)) < CLOSE:
                if all(np.abs(x.point - z.point).max() > APART for z in plane):
                    plane.append(x)
                break
        else:
            planes.append([x])
    out: list[Proximity] = []
    for plane in planes:
        n = plane[0].normal
        across = np.array([[n[2], 0.0, -n[0]], [0.0, n[2], -n[1]]])
        chosen = furthest_along_diagonals(np.array([x.point for x in plane]) @ across.T) if len(plane) > 4 else range(4)
        lost = min(plane[k].gap for k in chosen) > plane[0].gap + LOST if len(plane) > 4 else False
        out += [x for k, x in enumerate(plane) if k in chosen or (lost and k == 0)]
    return sorted(out, key=lambda x: x.gap)[:MOST]
