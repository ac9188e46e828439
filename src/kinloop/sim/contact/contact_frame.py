"""One contact of two bodies: its axes, its Jacobian and rows z, and how its points move; from tables that all share."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.impact import BELOW
from kinloop.sim.contact.limb_rows import LimbRows
from kinloop.sim.contact.moving_columns import Columns
from kinloop.sim.contact.scene import Scene
from kinloop.sim.contact.sparse_rows import unless
from kinloop.sim.contact.touch import gravity_of
from kinloop.sim.on_loops import spanning
from kinloop.sim.smooth_motion import SmoothMotion
from kinloop.spatial import Transform
from kinloop.spatial.transform import cross

SAME = 0.01
"""Points of a pair that are nearer to each other in two steps [m] may be the same one."""


ALIKE = 0.9
"""Normals of a pair at two places in a step with a cosine of more than this may be the same one."""

TOGETHER = 4
"""Contacts of the step before that are looked at together, where there were so many."""

COEFFICIENTS = {3: 1, 4: 2, 6: 3}
"""Coefficients of friction for as many rows of a contact."""


class ContactMotion(NamedTuple):
    """Independent velocities at the beginning of a step and at its free end, the drift of its middle, its length."""

    v: Array
    v_free: Array
    drift: Array
    h: Any


class Measured(NamedTuple):
    """One contact: its rows z (rows, n), velocities along them before and after the step without impulses, and its gap.

    `axes` are the normal and two tangents as columns, `friction` has the coefficients along the surface, about its
    normal and against rolling, as many as there are rows for, and `start` is an impulse to begin with. `absent` is 1
    for limbs (`Columns.sparse`) where z is zero.
    """

    z: Array
    before: Array
    after: Array
    axes: Array
    friction: Array
    start: Array
    absent: Array
    gap: Any


def measured(row: Any, n: int, rows: int) -> Measured:
    """What `Tables.contact` left of a contact with so many rows."""
    x, first, parts = np.array(row), 0, list[Array]()
    for size in (rows * n, rows, rows, 9, COEFFICIENTS[rows], rows):
        parts.append(x[first : first + size])
        first += size
    z, before, after, axes, friction, start = parts
    return Measured(z.reshape(rows, n), before, after, axes.reshape(3, 3), friction, start, x[first:-5], x[-2])


def in_world(axes: Array, x: Array) -> Array:
    """An impulse along rows as force and torque in the axes of the world; a torque about the normal alone stays so."""
    return np.concatenate([axes @ x[:3], axes @ x[3:] if len(x) > 4 else x[3:]])


def torque(axes: Array, x: Array) -> Array:
    """The torque in the world of an impulse along rows."""
    turns: Array = axes[:, : len(x) - 3] @ x[3:]
    return turns


class Approach(NamedTuple):
    """How the bodies of a pair approach each other at a point: rows z along its axes, and limbs `absent` from them.

    Velocities before and after the step, and the gap before it, such that h times the velocity after leads to the gap
    at the end.
    """

    pair: Any
    point: Array
    axes: Array
    z: Array
    absent: list[Any]
    before: Array
    after: Array
    gap: Any


class AtStart(NamedTuple):
    """A contact at the beginning of a step: its point as both bodies see it at the middle, its normal.

    `when` is the part of the step that is over then, `rate` the normal velocity at the middle with the velocities of
    the beginning, and `early` says whether that counts.
    """

    at: list[Array]
    normal: Array
    when: Any
    early: Any
    rate: Any


class Tables:
    """Everything that contacts are made of, as one vector, and one contact made of it."""

    def __init__(
        self, tree: ClusterTree, s: SmoothMotion, scene: Scene, bodies: tuple[int, ...], columns: Columns,
        poses: dict[int, Transform], motion: ContactMotion, points: Array, before: Array,
    ) -> None:  # fmt: skip
        self.restitution = scene.options.restitution
        self.slow, self.bodies, self.motion = gravity_of(tree.top), bodies, motion
        self.origin = poses[bodies[0]].p
        pairs = [(scene.shapes[x.a], scene.shapes[x.b]) for x in scene.pairs]
        place = {b: float(k) for k, b in enumerate(bodies)} | {-1: float(len(bodies))}
        self.places = [np.array([place[pair[side].body] for pair in pairs]) for side in (0, 1)]
        self.roundings = [np.array([pair[side].rounding for pair in pairs]) for side in (0, 1)]
        self.count = scene.rows
        each = [(x.friction, x.torsion, x.rolling)[: COEFFICIENTS[self.count]] for x in scene.pairs]
        self.frictions = np.array(each)
        self.free: Array | None = None
        rows = columns.rows(tree, s)
        self.limbs = LimbRows(columns, {k: at for k, (_, at) in rows.items()}, self.count, tree.nv)
        self.given: dict[str, Array] = {
            "points": points,
            "before": before,
            "twists": columns.twists(s, poses, self.origin),
            "N": np.concatenate([z for z, _ in rows.values()]),
            "accelerations": _accelerations(tree, s, bodies, poses, self.origin),
            "v": motion.v,
            "v_free": motion.v_free,
            "drift": motion.drift,
            "origin": self.origin,
            "h": np.array([motion.h]),
        }

    def with_start(self, free: list[bool], more: dict[str, Array]) -> Tables:
        """The same, in which `free` ones of all pairs push where they are at the beginning of a step.

        Given `more`: the `others`, all points there; the part `when` of the step at which it is;
        `shifts` of centres of mass from there to the middle, and `velocities` of bodies at the middle.
        """
        out = copy(self)
        out.free, out.given = np.array(free, dtype=float), self.given | more
        return out

    @property
    def groups(self) -> list[list[Any]]:
        """All numbers, part by part."""
        return [list(np.asarray(x).flat) for x in self.given.values()]

    def contact(self, carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
        """One contact, as a body of `scalar.scan`: what is left is read by `measured`.

        Carried are whether something hits faster than it falls in a step, when first, and whether something is below.
        """
        given = self._read(shared)
        a = self._approach(given, row)
        pair = a.pair + 1.0
        start = in_world(a.axes.T, _found_again(given["before"], a.point, pair))
        left = [*a.z.flat, *a.before, *a.after, *a.axes.flat, *sc.take(self.frictions, a.pair), *start]
        left += [*(sc.where(x, 1.0, 0.0) for x in a.absent), *a.point, a.gap, pair]
        return self._first_touch(carry, a, given["h"][0]), left

    def touch(self, carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
        """What `contact` carries of one contact, alone."""
        given = self._read(shared)
        return self._first_touch(carry, self._approach(given, row), given["h"][0]), []

    def _read(self, shared: Any) -> dict[str, Array]:
        """The parts of `groups` again."""
        out, first = dict[str, Array](), 0
        for name, x in self.given.items():
            size, shape = np.size(x), np.shape(x)
            out[name] = np.array(shared[first : first + size]).reshape(shape)
            first += size
        for name in ("twists", "N", "drift"):  # numbers that are known beforehand as such
            own = zip(np.asarray(self.given[name]).flat, out[name].flat, strict=True)
            known = [y if isinstance(x, sc.Symbol) else x for x, y in own]
            out[name] = np.array(known, dtype=object).reshape(out[name].shape)
        return out

    def _approach(self, given: dict[str, Array], row: Any) -> Approach:
        """How the two bodies of a contact approach each other."""
        h = given["h"][0]
        point = sc.take(given["points"], row[0])
        gap, x, normal, pair = point[1], point[2:5], point[5:8], point[8]
        sides = [sc.take(places, pair) for places in self.places]
        at = x - given["origin"]
        sided = [self._pull(given, k, side, pair, at, gap, normal) for k, side in enumerate(sides)]
        pull, turn = (a - b for a, b in zip(*sided, strict=True))
        start = None if self.free is None else self._at_start(given, row[0], point, sides)
        axes, absent = _axes(normal if start is None else start.normal), self.limbs.absent(sides)
        z, u0, u1, aside = self.limbs.measured(given, axes, [at, at] if start is None else start.at, sides, absent)
        pull = np.concatenate([axes.T @ pull, axes[:, : self.count - 3].T @ turn])
        bend, when = u0 + h * pull - u1, 0.5 if start is None else start.when
        if start is not None:  # normals turn too
            bend[0] = sc.where(start.early, 2.0 * (start.rate - u0[0]), bend[0])
        before, after = u0 - when * bend, u1 + (1.0 - when) * bend
        # half a step back along the path, and what the path bends on its whole way
        gap = gap - (0.5 * h) * before[0] - aside - (0.625 * h) * bend[0]
        return Approach(pair, x, axes, z, list(absent.values()), before, after, gap)

    def _at_start(self, given: dict[str, Array], row: Any, point: Array, sides: list[Any]) -> AtStart:
        """Where a contact is when the step begins, if it is one of free bodies."""
        assert self.free is not None, "no pair is one of free bodies"
        h, x, normal, pair = given["h"][0], point[2:5], point[5:8], point[8]
        free, when = sc.take(self.free, pair) > 0.5, given["when"][0]
        both = [sc.take(given["velocities"], side) for side in sides]
        speeds = [v[3:] + cross(v[:3], x - given["origin"]) for v in both]
        back = x - ((0.5 - when) * 0.5 * h) * (speeds[0] + speeds[1])
        here, n = _there(given["others"], row, point, back)
        at = [sc.where(free, here + sc.take(given["shifts"], side), x) - given["origin"] for side in sides]
        early = sc.logical_and(free, when <= 0.0)
        rate = normal @ (speeds[0] - speeds[1])
        return AtStart(at, sc.where(free, n, normal), sc.where(free, when, 0.5), early, rate)

    def _pull(
        self, given: dict[str, Array], side: int, body: Any, pair: Any, at: Array, gap: Any, normal: Array
    ) -> tuple[Array, Array]:
        """Linear and angular acceleration of one side of a contact; the second one mostly is the world."""
        core = at + ((1.0 - 2.0 * side) * (0.5 * gap + sc.take(self.roundings[side], pair))) * normal
        table = given["accelerations"]
        row = sc.take(table, body)
        found = [*_acceleration(row, at, core), *row[:3]]
        world = body > len(table) - 1.5 if side else False
        found = unless(world, [*table[-1, 3:6], 0.0, 0.0, 0.0], found)
        return np.array(found[:3]), np.array(found[3:])

    def _first_touch(self, carry: Any, a: Approach, h: Any) -> list[Any]:
        hit, when, below = carry
        gap, before, after = a.gap, a.before, a.after
        below = sc.logical_or(below, gap < -BELOW)
        if not self.restitution:
            return [hit, when, below]
        mean = 0.5 * (before[0] + after[0])
        hits = sc.logical_and(gap + h * mean < 0.0, before[0] < -(h * self.slow))
        time = sc.maximum(gap, 0.0) / sc.where(hits, -h * mean, 1.0)
        return [sc.logical_or(hit, hits), sc.where(hits, sc.minimum(when, time), when), below]


def _there(others: Array, row: Any, point: Array, back: Array) -> tuple[Array, Array]:
    """Point and normal of a contact at an earlier place of its bodies, where it is `back` if it moves as they do.

    The same point of the pair there, unless it is another one.
    """
    other = sc.take(others, row)
    x, n, away = other[2:5], other[5:8], other[2:5] - back
    same = sc.logical_and(n @ point[5:8] > ALIKE, sc.abs(other[1]) < SAME)
    near = sc.logical_and(same, away @ away < SAME * SAME)
    return sc.where(near, x, back), sc.where(same, n, point[5:8])


def _axes(n: Array) -> Array:
    """The normal n and two tangents as columns."""
    upright = sc.abs(n[2]) > 0.9
    other = np.array([sc.where(upright, 1.0, 0.0), 0.0, sc.where(upright, 0.0, 1.0)], dtype=object)
    t = cross(n, other)
    t = t * (1.0 / sc.sqrt(t @ t))
    return np.stack([n, t, cross(n, t)], axis=1)


def _found_again(before: Array, x: Array, pair: Any) -> Array:
    """The impulse in the world of the contact that the same pair had nearest in the step before; zero if it had none.

    Which of its points is which a pair of shapes does not say.
    """
    found: list[Any] = [SAME * SAME, *[0.0] * (before.shape[1] - 4)]
    for k in range(0, len(before), TOGETHER):
        empty = before[k, 3] < 0.5 if k else False  # and so are those behind it
        nearer = found
        for row in before[k : k + TOGETHER]:
            away = x - row[:3]
            distance = away @ away
            same = sc.logical_and(sc.abs(row[3] - pair) < 0.5, distance < nearer[0])
            nearer = [sc.where(same, new, old) for new, old in zip((distance, *row[4:]), nearer, strict=True)]
        found = unless(empty, found, nearer)
    return np.array(found[1:])


def _accelerations(
    tree: ClusterTree, s: SmoothMotion, bodies: tuple[int, ...], poses: dict[int, Transform], origin: Array
) -> Array:
    """Spatial accelerations and velocities (bodies and world, 12) in the axes of the world about the origin."""
    rows = []
    for b in bodies:
        pose = Transform(poses[b].R, poses[b].p - origin)
        rows.append(np.concatenate([pose.motion_back(s.acc[b]), pose.motion_back(s.kin.v[b])]))
    ground = np.zeros(12)
    ground[3:6] = -np.asarray(tree.top.mechanism.gravity)
    return np.array([*rows, ground], dtype=object)


def body_velocities(
    tree: ClusterTree, s: SmoothMotion, bodies: tuple[int, ...], poses: dict[int, Transform], v: Array, origin: Array
) -> Array:
    """Twists (bodies and world, 6) for independent velocities v in the axes of the world about the origin."""
    top, rates, twist = tree.top, spanning(tree, s.kin.embedding, v), dict[int, Array]()
    for i in poses:  # those that carry come first
        own = s.kin.S[i] @ rates[top.v_of[i]]
        twist[i] = own if top.parent[i] < 0 else s.kin.T[i].motion(twist[top.parent[i]]) + own
    rows = [Transform(poses[b].R, poses[b].p - origin).motion_back(twist[b]) for b in bodies]
    return np.array([*rows, np.zeros(6)], dtype=object)


def _acceleration(row: Array, at: Array, core: Array) -> Array:
    """Acceleration of a point of a body: of one at the surface that turns about, and is carried along, as its core."""
    turn, pull, w, v = row[:3], row[3:6], row[6:9], row[9:]
    return np.asarray(pull + cross(turn, at) + cross(w, v + cross(w, core)))
