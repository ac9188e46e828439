"""Which shapes are near each other, and where: bounding spheres of all pairs, then the pairs that are left, one by one.

Pairs of the same two kinds are looked at together. The centres of all whose bodies are near (`far_bodies`) are compared
in straight-line code; the numbers of those that are near fill a fixed number of slots (`scalar.nearest`), and a loop
over the slots finds the points where the shapes of each are next to each other (`shapes`), with poses and sizes read
from tables. A pair is near if it may touch within the step, however its bodies turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.far_bodies import Pair, keys_of_pairs
from kinloop.sim.contact.scene import FIELDS, PairClass, Scene, Touching
from kinloop.sim.contact.scene_shapes import Shape
from kinloop.sim.contact.shapes import FORMULAS, HullAt
from kinloop.sim.contact.shapes.convex import flat_hull, hull_of
from kinloop.sim.contact.shapes.supports import Hulls
from kinloop.spatial import Transform

POINT = 9
"""Numbers of a point of contact: its key, gap, position and normal, and the number of its pair."""


NEARBY = 1.0
"""Pairs count that would touch in the step if they came together faster than they move by so much [m/s].

Hands have many parts within a centimetre of each other, and a slot for each costs time: this is less than what counts
over a ground (`impact.NEARBY`). What is struck harder within a step comes into a shape it was not near to by
what is beyond that speed, and is stopped in the next step."""


class Near(NamedTuple):
    """Points where shapes are next to each other, a row each: key, gap [m], point and normal in the world, pair.

    The key is below zero where they may touch in this step. `missed` is how many pairs were near and had no slot,
    `last` how many of the last kind were near. `waits` says whether pairs without a formula are near that nobody looked
    at: then the step is none. `chosen` are the pairs of every kind that were looked at, and their
    number, `meeting` what `convex_slots` found.
    """

    points: Array
    missed: Any
    last: Any = 0.0
    waits: Any = False
    chosen: tuple[tuple[Array, Any], ...] = ()
    meeting: Any = None


def near_points(
    scene: Scene, poses: list[Transform], speeds: list[Any], h: Any, nearby: float, after: Any = 0.0
) -> Near:
    """Points of all pairs that may touch within a step; `poses` and `speeds` [m/s] are those of the shapes.

    It is looked for when `after`, which is zero, is known: loops that run one after the other leave their points side
    by side in memory, and nothing copies them.
    """
    missed: Any = 0.0
    chosen, count = list[tuple[Array, Any]](), 0.0
    for keys in _keys_by_kind(scene, poses, speeds, h, nearby):
        slots = min(len(keys), scene.room.pairs)
        own, count = sc.nearest(keys, slots)
        if slots < len(keys):
            missed = missed + sc.maximum(count - float(slots), 0.0)
        chosen.append((own, sc.minimum(count, float(slots)) + after))
    points = looked_at(scene, chosen, poses, speeds, h, nearby)
    return Near(points, missed, count, chosen=tuple(chosen))


def _keys_by_kind(
    scene: Scene, poses: list[Transform], speeds: list[Any], h: Any, nearby: float
) -> Iterator[list[Any]]:
    """The nearness of all pairs of every kind; those of two bodies are made together, since most are far apart."""
    pairs = [pair for group in scene.classes for pair in group.pairs]
    keys = iter(
        keys_of_pairs(
            scene.shapes,
            poses,
            speeds,
            [Pair(x.a, x.b, x.margin) for x in pairs],
            lambda speed: travel(speed, h, nearby),
            lambda k: nearness(scene.shapes, poses, speeds, pairs[k], h, nearby),
        )
    )
    for group in scene.classes:
        yield list(islice(keys, len(group.pairs)))


def looked_at(
    scene: Scene, chosen: Sequence[tuple[Array, Any]], poses: list[Transform], speeds: list[Any], h: Any, nearby: float
) -> Array:
    """Points of chosen pairs of every kind, a row each."""
    table = pose_table(poses, speeds)
    rows, first = list[Array](), 0
    for group, (own, count) in zip(scene.classes, chosen, strict=True):
        body = _looked_at(group, scene.shapes, first, nearby)
        keys_at = range(0, POINT * FORMULAS[group.kinds].points, POINT)
        _, found = sc.scan(body, [], own.reshape(-1, 1), [table.ravel(), [h]], count, 1, keys_at)
        rows.append(found.reshape(-1, POINT))
        first += len(group.pairs)
    return np.concatenate(rows) if rows else np.empty((0, POINT))


def pose_table(poses: list[Transform], speeds: list[Any]) -> Array:
    """Place, rotation and speed of all shapes, a row each: loops that are given the same table share it in memory."""
    return np.array([[*pose.p, *pose.R.flat, speed] for pose, speed in zip(poses, speeds, strict=True)], dtype=object)


def nearness(
    shapes: list[Shape], poses: list[Transform], speeds: list[Any], pair: Touching, h: Any, nearby: float
) -> Any:
    """Below zero where the bounding spheres of two shapes may meet in the step; of a box the box itself.

    Sums are made shape by shape, so that pairs share them.
    """
    i, j = pair.a, pair.b
    a, b = shapes[i], shapes[j]
    other = 0.0 if b.kind in ("plane", "box", *FIELDS) else b.bound
    reach = travel(speeds[i], h, nearby) + (a.bound + pair.margin) + (travel(speeds[j], h, nearby) + other)
    offset = poses[i].p - poses[j].p
    if b.kind == "plane":
        return poses[j].R[:, 2] @ offset - reach
    if b.kind == "terrain":  # heights of a function have no bound
        return b.data.surface(poses[i].p)[0] - reach
    if b.kind == "heightfield":
        return _beside(b, poses[j].R.T @ offset) - reach
    if b.kind == "box":  # often long: the sphere about a, and the box itself
        offset = poses[j].R.T @ offset
        offset = np.array([sc.maximum(sc.abs(x) - 0.5 * size, 0.0) for x, size in zip(offset, b.size, strict=True)])
    return offset @ offset - reach * reach


def travel(speed: Any, h: Any, nearby: float) -> Any:
    """How far a shape comes in a step, with half of the speed at which pairs count as near besides."""
    return h * (speed + 0.5 * nearby)


def _beside(field: Shape, x: Array) -> Any:
    """How far a point is outside of the box of a height field, from its base to its highest node."""
    low, high = -field.size[2], float(np.max(field.data.heights))
    outside = [sc.abs(x[k]) - 0.5 * field.size[k] for k in range(2)]
    return sc.maximum(sc.maximum(*outside), sc.maximum(x[2] - high, low - x[2]))


def _sizes(shapes: list[Shape]) -> Callable[[Any], Any]:
    """What the formula of a pair is given as the size of one of some shapes of a kind, by its number."""
    match shapes[0].kind:
        case "mesh":
            each = [hull_of(s.data) or flat_hull(s.data) for s in shapes]
            hulls = Hulls(each)
            numbers = np.array([hulls.number[id(x)] for x in each])
            return lambda k: HullAt(hulls, sc.take(numbers, k))
        case "heightfield" | "terrain":
            return lambda k: shapes[0].data
    sizes = np.array([s.size for s in shapes])
    return lambda k: sc.take(sizes, k)


def _looked_at(group: PairClass, shapes: list[Shape], first: int, nearby: float) -> Any:
    """The points of one pair, whose number within its kind is in its slot, as a body of `scalar.scan`."""
    sides = [[pair.a for pair in group.pairs], [pair.b for pair in group.pairs]]
    places = [np.array(side, dtype=float) for side in sides]
    sizes = [_sizes([shapes[k] for k in side]) for side in sides]
    margins, collide = np.array([pair.margin for pair in group.pairs]), FORMULAS[group.kinds].collide

    def body(carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
        table, h = np.array(shared[:-1]).reshape(len(shapes), -1), shared[-1]
        given: list[Any] = []
        speed: Any = 0.0
        for side in (0, 1):
            one = sc.take(table, sc.take(places[side], row[0]))
            given += [sizes[side](row[0]), Transform(one[3:12].reshape(3, 3), one[:3])]
            speed = speed + one[12]
        reach, margin = h * (nearby + speed), sc.take(margins, row[0])
        left: list[Any] = []
        for p in collide(*given):
            gap = p.gap - margin
            left += [gap - reach, gap, *p.point, *p.normal, row[0] + float(first)]
        return [], left

    return body
