"""Convex pairs without a formula inside a kernel: which are near, then a search for each of them (`shapes.meeting`).

First the boxes about shapes along the axes of the world are compared, and the planes of `parting`, for all pairs in
straight-line code; what is left fills slots. A loop over these compares the boxes as they are turned, and what is left
then fills fewer slots. A loop over those asks whether a plane across the way between two shapes parts them, by how far
hulls reach at most, the next one whether they are near, and the last one looks for the points where they are nearest.
Where that cannot vouch for what it found, or there are more pairs than slots, a step says that it is in doubt, and
waits for the search between steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.near_pairs import NEARBY, POINT, pose_table
from kinloop.sim.contact.shapes.convex import ConvexShape
from kinloop.sim.contact.shapes.couple import Body, Couple, Kinds, are_near
from kinloop.sim.contact.shapes.meeting import search
from kinloop.sim.contact.shapes.patches import completed
from kinloop.sim.contact.shapes.proximity import FAR, dot, in_world, seen_from
from kinloop.sim.contact.shapes.supports import SUM, Hulls, Sum, core
from kinloop.spatial import Transform

ROUNDING = 1e-12
"""How much nearer shapes count than planes part them [m]: what hulls reach is known but for rounding."""

COARSE = 64
"""Pairs whose boxes along the axes of the world meet that there is room for."""

FINE = 32
"""Pairs whose own boxes meet that there is room for."""

SMALL = 12
"""Pairs that are near that there is room for."""

POINTS = 4
"""Points of a pair."""

KEYS = range(0, POINTS * POINT, POINT)
"""Where the keys of these points are in what a round leaves."""


class Meeting(NamedTuple):
    """Points (n, POINT) of pairs that meet, and whether some are in doubt; the slots of these pairs, and how many.

    Of each there are `POINTS`; behind those of so many pairs points must not be read.

    `after` is zero, known when all this is: what is to be found next to it waits for that.
    """

    points: Array
    doubt: Any
    slots: Array = np.empty((0, 7))
    count: Any = 0.0
    after: Any = 0.0


class ConvexSlots:
    """The pairs of a scene, by their shapes, that are looked for inside a kernel.

    `shapes` are by place those of the scene, which has so many, `pairs` (n, 2) their places, `numbers` those of pairs.
    """

    def __init__(
        self, shapes: dict[int, ConvexShape], count: int, pairs: Array, margins: Array, numbers: Array
    ) -> None:
        self.pairs, self.margins, self.numbers = pairs, margins, numbers.astype(float)
        own = sorted({int(k) for k in pairs.flat})
        hulls = Hulls(shapes[k].hull for k in own if shapes[k].kind == "mesh")
        self.cores, self.boxes, self.flat = np.zeros((count, SUM)), np.zeros((count, 6)), np.zeros(count)
        self.hull = np.full(count, -1.0)
        for k in own:
            shape = shapes[k]
            self.cores[k], self.boxes[k], self.flat[k] = core(shape), [*shape.middle, *shape.half], float(shape.flat)
            if shape.kind == "mesh":
                self.hull[k] = hulls.number[id(shape.hull)]
        self.kinds = Kinds(hulls, *(Sum.of(self.cores[side]) for side in pairs.T))

    def __call__(self, near: list[Any], poses: list[Transform], speeds: list[Any], h: Any) -> Meeting:
        """Points of pairs that may touch within a step; `near` are keys of all pairs, below zero where they may."""
        table = pose_table(poses, speeds)
        coarse, fine, small = (min(x, len(self.pairs)) for x in (COARSE, FINE, SMALL))
        chosen, count = sc.nearest(near, coarse)
        shared = [table.ravel(), [h]]
        some = sc.minimum(count, float(coarse))
        _, keys = sc.scan(self._turned, [], chosen.reshape(-1, 1), shared, some, 4, [0])
        slots, left = sc.nearest(list(keys[:, 0]), fine)
        boxed = np.array([[sc.take(chosen, k)] for k in slots], dtype=object)
        _, keys = sc.scan(self._parted, [], boxed, shared, sc.minimum(left, float(fine)), 4, [0])
        slots, whole = sc.nearest(list(keys[:, 0]), fine)
        facing = np.array([[sc.take(boxed[:, 0], k), _there(n, whole)] for n, k in enumerate(slots)], dtype=object)
        _, seen = sc.scan(self._seen, [], facing, shared, whole, 2, [0])
        slots, few = sc.nearest(list(seen[:, 0]), small)
        close = np.array(
            [[sc.take(facing[:, 0], k), *sc.take(seen[:, 1:], k), _there(n, few)] for n, k in enumerate(slots)],
            dtype=object,
        )
        filled = sc.minimum(few, float(small))
        (lost,), points = sc.scan(self._met, [0.0], close, shared, filled, 1, ())
        crowded = sc.logical_or(count > float(coarse), sc.logical_or(left > float(fine), few > float(small)))
        doubt = sc.logical_or(lost > 0.0, crowded)
        return Meeting(points.reshape(-1, POINT), doubt, close, filled, sc.minimum(lost, 0.0))

    def begun(self, found: Meeting, poses: list[Transform], speeds: list[Any], h: Any, when: Any) -> Array:
        """The same points where shapes are at other poses; without normals where they are far, or not `when`."""
        table = pose_table(poses, speeds)
        _, points = sc.scan(self._met, [0.0], found.slots, [table.ravel(), [2.0 * h]], found.count, 1, KEYS)
        points = points.reshape(-1, POINT)
        for row in points:
            there = sc.logical_and(when, row[1] < 0.5 * FAR)
            row[5:8] = [sc.where(there, x, 0.0) for x in row[5:8]]
        return points

    def _pair(self, number: Any, table: Array, h: Any) -> tuple[Any, Any, Transform, Transform, Any, Any]:
        """The two shapes of a pair, their poses, its margin and how near they may come in the step."""
        i, j = (sc.take(self.pairs[:, side].astype(float), number) for side in (0, 1))
        one, other = sc.take(table, i), sc.take(table, j)
        margin = sc.take(self.margins, number)
        reach = h * (NEARBY + one[12] + other[12]) + margin
        a, b = (Transform(x[3:12].reshape(3, 3), x[:3]) for x in (one, other))
        return i, j, a, b, margin, reach

    def _turned(self, carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
        """How far the boxes of a pair are apart along their own axes, beyond what matters."""
        table, h = np.array(shared[:-1]).reshape(len(self.flat), -1), shared[-1]
        i, j, a, b, _, reach = self._pair(row[0], table, h)
        box_a, box_b = sc.take(self.boxes, i), sc.take(self.boxes, j)
        middle = (a.p + in_world(a.R, box_a[:3])) - (b.p + in_world(b.R, box_b[:3]))
        R = np.array([[dot(b.R[:, k], a.R[:, m]) for m in range(3)] for k in range(3)])
        own, other = seen_from(b.R, middle), seen_from(a.R, middle)
        size = np.array([[sc.abs(x) for x in line] for line in R])
        most: Any = -FAR
        for k in range(3):
            most = sc.maximum(most, sc.abs(own[k]) - box_b[3 + k] - dot(size[k], box_a[3:]))
            most = sc.maximum(most, sc.abs(other[k]) - box_a[3 + k] - dot(size[:, k], box_b[3:]))
        return [], [most - reach]

    def _couple(self, number: Any, there: Any, shared: Any) -> tuple[Couple, Transform, Any, Any]:
        """The two bodies of a pair, the pose of the second, its margin and how near they may come in the step.

        Where it is not `there` they are no hulls, which would be climbed in vain.
        """
        table, h = np.array(shared[:-1]).reshape(len(self.flat), -1), shared[-1]
        i, j, a, b, margin, reach = self._pair(number, table, h)
        R = np.array([seen_from(b.R, a.R[:, k]) for k in range(3)]).T
        cores = [sc.take(self.cores, k) for k in (i, j)]
        first, second = (
            Body(size, sc.where(there, sc.take(self.hull, k), -1.0)) for size, k in zip(cores, (i, j), strict=True)
        )
        half = self.boxes[:, 3:].max(axis=1)
        sizes = sc.take(half, i), sc.take(half, j)
        flat = sc.take(self.flat, i) * sc.take(self.flat, j)
        limit = reach + cores[0][-1] + cores[1][-1]
        p = seen_from(b.R, a.p - b.p)
        couple = Couple(self.kinds, first, second, flat, R, p, limit, sizes[0] + sizes[1], sc.minimum(*sizes))
        return couple, b, margin, reach

    def _parted(self, carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
        """How far planes across the way between the shapes of a pair part them, beyond what matters."""
        couple = self._couple(row[0], True, shared)[0]
        return [], [couple.apart_at_least() - couple.reach - ROUNDING]

    def _seen(self, carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
        """Below zero where a pair is near, with the direction and the vertices at which the search for it begins."""
        seen = are_near(self._couple(row[0], row[1] > 0.0, shared)[0], row[1] > 0.0)
        return [], [sc.where(seen.near, -1.0, 1.0), *seen.v, *seen.at]

    def _met(self, carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
        """The points of one pair; carried is how many were in doubt."""
        couple, b, margin, reach = self._couple(row[0], row[6] > 0.0, shared)
        met = search(couple, np.array(row[1:4]), np.array(row[4:6]), row[6] > 0.0)
        nearest = [*met.point, met.gap]
        corners = completed(list(met.corners.rows), nearest, met.gap)
        n, number = in_world(b.R, met.n), sc.take(self.numbers, row[0])
        left: list[Any] = []
        for k, corner in enumerate(corners):
            alone = nearest if k == 0 else [*met.point, FAR]
            *x, gap = (sc.where(met.corners.wide, y, z) for y, z in zip(corner, alone, strict=True))
            gap = sc.where(sc.logical_and(met.sure, sc.logical_not(met.apart)), gap, FAR)
            left += [gap - reach, gap - margin, *(b.p + in_world(b.R, np.array(x))), *n, number]
        return [carry[0] + sc.where(met.sure, 0.0, 1.0)], left


def _there(slot: int, count: Any) -> Any:
    """1 where a slot is filled: loops also go through those that other states have, which must not go on in vain."""
    return sc.where(float(slot) < count, 1.0, 0.0)
