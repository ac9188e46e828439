"""Pairs of shapes that are searched for between steps: convex ones without a formula, through `coal`.

For every batch row boxes about the shapes say which pairs are near; `shapes.convex_pairs` looks at these one by one.
What is found goes into the next step as further rows of `near_pairs`, as many as a step has slots for contacts. It
depends on the poses of one row alone: a row in a batch finds what it finds alone, and goes on as if it had not stopped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.scalar import Array
from kinloop.sim.contact.near_pairs import NEARBY, POINT
from kinloop.sim.contact.scene import FIELDS, Scene, named_pairs
from kinloop.sim.contact.scene_shapes import Shape
from kinloop.sim.contact.shapes.convex import ConvexShape, coal_module
from kinloop.sim.contact.shapes.convex_pairs import ConvexPairs
from kinloop.sim.contact.shapes.over_fields import Field


AT_ONCE = 256
"""Rows whose boxes are compared together, which keeps arrays small."""


class SearchedPairs:
    """The searched pairs of a scene."""

    def __init__(self, scene: Scene) -> None:
        self.slots, pairs = scene.room.contacts, scene.searched
        try:
            coal_module()
        except MethodError as error:
            raise MethodError(f"{named_pairs(scene.shapes, pairs)}: {error}") from None
        used = sorted({k for x in pairs for k in (x.a, x.b)})
        place, known = {k: n for n, k in enumerate(used)}, dict[Any, ConvexShape]()
        self.shapes = [scene.shapes[k] for k in used]
        self.pairs = ConvexPairs([_convex(s, known) for s in self.shapes], [(place[x.a], place[x.b]) for x in pairs])
        self.margins = np.array([x.margin for x in pairs])
        self.first = len(scene.pairs) - len(pairs)

    @property
    def size(self) -> int:
        """Numbers that a step is told: its points, and how many there was no room for."""
        return POINT * self.slots + 1

    def points(self, shapes: Array, h: float, wanted: Array) -> Array:
        """What the next step of length h is told (B, size); shapes (B, shapes, 13) as `searched_shapes` has them.

        Rows that are not `wanted` (B,) are not looked at.
        """
        if len(shapes) > AT_ONCE:
            parts = (slice(k, k + AT_ONCE) for k in range(0, len(shapes), AT_ONCE))
            return np.concatenate([self.points(shapes[k], h, wanted[k]) for k in parts])
        p, R, speed = shapes[..., :3], shapes[..., 3:12].reshape(*shapes.shape[:2], 3, 3), shapes[..., 12]
        i, j = self.pairs.pairs.T
        reach = h * (NEARBY + speed[:, i] + speed[:, j]) + self.margins
        near = self.pairs.near(R, p, reach) & (wanted & np.isfinite(shapes).all(axis=(1, 2)))[:, None]
        out = np.zeros((len(shapes), self.size))
        out[:, 0:-1:POINT] = 1.0
        for row in np.flatnonzero(near.any(axis=1)).tolist():
            found = self._row(R[row], p[row], reach[row], np.flatnonzero(near[row]).tolist())
            if len(found) > self.slots:
                out[row, -1] = len(found) - self.slots
                found = [found[k] for k in sorted(np.argsort([x[0] for x in found], kind="stable")[: self.slots])]
            if found:
                out[row, : POINT * len(found)] = np.ravel(found)
        return out

    def _row(self, R: Array, p: Array, reach: Array, near: list[int]) -> list[list[float]]:
        """Points of one row that may touch in the step."""
        out = []
        for k in near:
            margin, most = float(self.margins[k]), float(reach[k])
            for x in self.pairs.contact(k, R, p, most):
                if x.gap < most:
                    out.append(
                        [x.gap - most, x.gap - margin, *x.point.tolist(), *x.normal.tolist(), float(self.first + k)]
                    )
        return out


def _convex(shape: Shape, known: dict[Any, ConvexShape]) -> ConvexShape | Field:
    """A shape as searches take it; those that are alike are made once."""
    if shape.kind in FIELDS:
        return Field(shape.data, shape.size[2]) if shape.kind == "heightfield" else Field(shape.data)
    key = id(shape.data) if shape.kind == "mesh" else (shape.kind, shape.size)
    if key not in known:
        known[key] = ConvexShape(shape.kind, shape.data if shape.kind == "mesh" else shape.size, shape.name)
    return known[key]
