"""Pairs of shapes that are searched for between steps: convex ones without a formula, through `coal`.

For every batch row boxes about the shapes say which pairs are near; `shapes.convex_pairs` looks at these one by one.
What is found goes into the next step as further rows of `near_pairs`, as many as a step has slots for contacts. It
depends on the poses of one row alone: a row in a batch finds what it finds alone, and goes on as if it had not stopped.

A step compares the same boxes (`SearchedPairs.is_near`): where none are near it needs no search, and many steps go in
one call. A step that needs one and was told nothing is not taken; the row waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.errors import MethodError
from kinloop.scalar import Array
from kinloop.sim.contact.convex_slots import POINTS, ConvexSlots, Meeting
from kinloop.sim.contact.far_bodies import Pair, keys_of_pairs
from kinloop.sim.contact.near_pairs import NEARBY, POINT, Near, travel
from kinloop.sim.contact.parting import find_partings
from kinloop.sim.contact.scene import FIELDS, Scene, named_pairs
from kinloop.sim.contact.scene_shapes import Shape
from kinloop.sim.contact.shapes.convex import ConvexShape, coal_module
from kinloop.sim.contact.shapes.convex_pairs import ConvexPairs
from kinloop.sim.contact.shapes.over_fields import Field
from kinloop.sim.contact.shapes.proximity import FAR, Proximity
from kinloop.spatial import Transform

AT_ONCE = 256
"""Rows whose boxes are compared together, which keeps arrays small."""


ROUNDING = 1e-12
"""How much nearer boxes count than they are [m]: what is compared here and there must not differ by rounding."""


class SearchedPairs:
    """The searched pairs of a scene; `usual` are poses of all its shapes at configurations that the model names.

    `free` says of every pair whether its bodies push each other where they are at the beginning of a step.
    """

    def __init__(self, scene: Scene, usual: Sequence[list[Transform]] = (), free: Sequence[bool] = ()) -> None:
        self.slots, pairs = scene.room.contacts, scene.searched
        try:
            coal_module()
        except MethodError as error:
            raise MethodError(f"{named_pairs(scene.shapes, pairs)}: {error}") from None
        used = sorted({k for x in pairs for k in (x.a, x.b)})
        place, known = {k: n for n, k in enumerate(used)}, dict[Any, ConvexShape]()
        self.shapes, self.used, self.total = [scene.shapes[k] for k in used], used, len(scene.shapes)
        self.pairs = ConvexPairs([_convex(s, known) for s in self.shapes], [(place[x.a], place[x.b]) for x in pairs])
        self.partings = find_partings(self.pairs, [[poses[k] for k in used] for poses in usual])
        self.margins = np.array([x.margin for x in pairs])
        self.inside = {k for k, pair in enumerate(self.pairs.pairs) if self._is_convex(*pair)}
        self.first, self.free = len(scene.pairs) - len(pairs), tuple(free) if any(free) else (False,) * len(pairs)

    def _is_convex(self, i: int, j: int) -> bool:
        return all(isinstance(self.pairs.shapes[k], ConvexShape) for k in (i, j))

    @cached_property
    def convex(self) -> ConvexSlots:
        """What looks for pairs of convex shapes inside a kernel."""
        own = sorted(self.inside)
        shapes = {k: s for k, s in zip(self.used, self.pairs.shapes, strict=True) if isinstance(s, ConvexShape)}
        places = np.array(self.used)[self.pairs.pairs[own]]
        return ConvexSlots(shapes, self.total, places, self.margins[own], self.first + np.array(own))

    @property
    def size(self) -> int:
        """Numbers that a step is told: its points, how many there was no room for, and 1 if there was a search.

        Where some are free, after the points their places and normals at the beginning of the step.
        """
        return (POINT + 6 * any(self.free)) * self.slots + 2

    def nothing(self, rows: int) -> Array:
        """What steps are told (rows, size) where there was no search."""
        out = np.zeros((rows, self.size))
        out[:, 0 : POINT * self.slots : POINT] = 1.0
        return out

    def begun(
        self, told: Array | None, found: Meeting, poses: list[Transform], speeds: list[Any], h: Any, when: Any
    ) -> Array:
        """The points as rows of `near_pairs` where bodies are at the part `when` of a step; without normals if unknown.

        `poses` and `speeds` are those of all shapes there. Of what a step was told those of the beginning are known.
        """
        own = np.zeros((len(found.points), POINT), dtype=object)
        if self.inside and any(self.free):
            own = self.convex.begun(found, poses, speeds, h, sc.logical_not(found.doubt))
        if told is None:
            return own
        rows = np.zeros((self.slots, POINT), dtype=object)
        if any(self.free):
            starts = np.asarray(told[POINT * self.slots : -2]).reshape(-1, 6)
            rows[:, 2:5] = starts[:, :3]
            rows[:, 5:8] = [[sc.where(when <= 0.0, x, 0.0) for x in n] for n in starts[:, 3:]]
        return np.concatenate([own, rows])

    def meeting(self, poses: list[Transform], speeds: list[Any], h: Any) -> Meeting:
        """What a step finds of these pairs by itself; `poses` and `speeds` [m/s] are those of all shapes."""
        keys = self.keys(poses, speeds, h)
        inside = [keys[k] for k in self.inside]
        found = self.convex(inside, poses, speeds, h) if inside else Meeting(np.empty((0, POINT)), False)
        doubt = found.doubt
        for k, key in enumerate(keys):
            if k not in self.inside:
                doubt = sc.logical_or(doubt, key < 0.0)
        return found._replace(doubt=doubt)

    def keys(self, poses: list[Transform], speeds: list[Any], h: Any) -> list[Any]:
        """Below zero for every pair whose boxes are near, and which no plane parts."""
        sides = []
        for k, shape in zip(self.used, self.pairs.shapes, strict=True):
            pose, reach = poses[k], travel(speeds[k], h, NEARBY)
            middle, turned = pose.p + pose.R @ shape.middle, np.array([sc.abs(x) for x in pose.R.flat]).reshape(3, 3)
            size = turned @ shape.half + reach
            sides.append((middle - size, middle + size))

        def key(k: int) -> Any:
            i, j = self.pairs.pairs[k].tolist()
            (low_i, high_i), (low_j, high_j), margin = sides[i], sides[j], float(self.margins[k])
            apart: Any = None
            low_i, low_j = low_i - (margin + ROUNDING), low_j - (margin + ROUNDING)
            for x, y in (*zip(low_i, high_j, strict=True), *zip(low_j, high_i, strict=True)):
                apart = x - y if apart is None else sc.maximum(apart, x - y)
            reach = h * (NEARBY + speeds[self.used[i]] + speeds[self.used[j]]) + margin + ROUNDING
            for plane in self.partings.get(k, ()):
                own, other = (poses[self.used[x]] for x in (plane.own, plane.other))
                apart = sc.maximum(apart, plane.gap(own, other, self.pairs.shapes[plane.other]) - reach)
            return apart

        own = [poses[k] for k in self.used], [speeds[k] for k in self.used]
        each = zip(self.pairs.pairs.tolist(), self.margins.tolist(), strict=True)
        pairs = [Pair(i, j, margin) for (i, j), margin in each]
        return keys_of_pairs(self.shapes, *own, pairs, lambda speed: travel(speed, h, NEARBY), key)

    def added(self, near: Near, told: Array | None, found: Meeting) -> Near:
        """What is near, with what a step found, or where that is in doubt with what it was told, if anything.

        In loops that wait for those with a formula: so all points lie side by side without being copied.
        """
        close = found.doubt

        def kept(carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
            return [], [sc.where(shared[0], FAR, row[0]), *row[1:]]

        own = np.empty((0, POINT))
        if len(found.points):
            count = float(POINTS) * found.count + found.after
            _, own = sc.scan(kept, [], found.points, [[close]], count, 1, [0])
        if told is None:
            return near._replace(points=np.concatenate([near.points, own]), waits=close, meeting=found)
        count = sc.where(close, float(self.slots), sc.minimum(near.last, 0.0))
        table = np.asarray(told[: POINT * self.slots]).reshape(-1, POINT)
        _, points = sc.scan(lambda carry, row, shared: ([], list(row)), [], table, (), count, 1, [0])
        missed, waits = near.missed + sc.where(close, told[-2], 0.0), sc.logical_and(close, told[-1] <= 0.0)
        return Near(np.concatenate([near.points, own, points]), missed, near.last, waits, near.chosen, found)

    def points(self, shapes: Array, h: float, wanted: Array) -> Array:
        """What the next step of length h is told (B, size); shapes (B, shapes, 25) as `searched_shapes` has them.

        Rows that are not `wanted` (B,) are not looked at.
        """
        if len(shapes) > AT_ONCE:
            parts = (slice(k, k + AT_ONCE) for k in range(0, len(shapes), AT_ONCE))
            return np.concatenate([self.points(shapes[k], h, wanted[k]) for k in parts])
        speed = shapes[..., 24]
        (p, R), (p_0, R_0) = (
            (x[..., :3], x[..., 3:].reshape(*x.shape[:2], 3, 3)) for x in (shapes[..., :12], shapes[..., 12:24])
        )
        i, j = self.pairs.pairs.T
        reach = h * (NEARBY + speed[:, i] + speed[:, j]) + self.margins
        near = self.pairs.near(R, p, reach) & (wanted & np.isfinite(shapes).all(axis=(1, 2)))[:, None]
        out = self.nothing(len(shapes))
        out[:, -1] = 1.0
        for row in np.flatnonzero(near.any(axis=1)).tolist():
            close = self.pairs.turned_near(R[row], p[row], reach[row], np.flatnonzero(near[row]))
            found = self._row(R[row], p[row], reach[row], close.tolist())
            if len(found) > self.slots:
                out[row, -2] = len(found) - self.slots
                found = [found[k] for k in sorted(np.argsort([x[0] for x in found], kind="stable")[: self.slots])]
            if found:
                out[row, : POINT * len(found)] = np.ravel(found)
            if any(self.free[int(x[-1]) - self.first] for x in found):
                begun = self._begun(found, R_0[row], p_0[row], reach[row])
                out[row, POINT * self.slots : POINT * self.slots + 6 * len(found)] = begun.ravel()
        return out

    def _begun(self, found: list[list[float]], R: Array, p: Array, reach: Array) -> Array:
        """Places and normals (points, 6) of points of free pairs where bodies are at poses (R, p); else zero."""
        out, known = np.zeros((len(found), 6)), dict[int, list[Proximity]]()
        for row, x in zip(out, found, strict=True):
            k = int(x[-1]) - self.first
            if self.free[k]:
                if k not in known:
                    known[k] = self.pairs.contact(k, R, p, 2.0 * float(reach[k]))
                point = np.array(x[2:5])
                if known[k]:
                    nearest = min(known[k], key=lambda y: float(np.sum((y.point - point) ** 2)))
                    row[:] = *nearest.point, *nearest.normal
        return out

    def count(self, poses: Sequence[Transform], within: float) -> int:
        """How many points are nearer than so much [m]; `poses` are those of all shapes of the scene."""
        R, p = (np.array([getattr(poses[k], name) for k in self.used]) for name in ("R", "p"))
        reach = within + self.margins
        return len(self._row(R, p, reach, np.flatnonzero(self.pairs.near(R, p, reach)).tolist()))

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
