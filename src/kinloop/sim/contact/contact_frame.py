"""One contact of two bodies: its axes, its Jacobian and rows z, and how its points move; from tables that all share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.impact import BELOW
from kinloop.sim.contact.moving_columns import Columns
from kinloop.sim.contact.scene import Scene
from kinloop.sim.contact.touch import gravity_of
from kinloop.sim.smooth_motion import SmoothMotion
from kinloop.spatial import Transform
from kinloop.spatial.transform import cross

SAME = 0.01
"""Points of a pair that are nearer to each other in two steps [m] may be the same one."""


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
    normal and against rolling, as many as there are rows for, and `start` is an impulse to begin with.
    """

    z: Array
    before: Array
    after: Array
    axes: Array
    friction: Array
    start: Array
    gap: Any


def measured(row: Any, n: int, rows: int) -> Measured:
    """What `Tables.contact` left of a contact with so many rows."""
    x, first, parts = np.array(row), 0, list[Array]()
    for size in (rows * n, rows, rows, 9, COEFFICIENTS[rows], rows):
        parts.append(x[first : first + size])
        first += size
    z, before, after, axes, friction, start = parts
    return Measured(z.reshape(rows, n), before, after, axes.reshape(3, 3), friction, start, x[-2])


def in_world(axes: Array, x: Array) -> Array:
    """An impulse along rows as force and torque in the axes of the world; a torque about the normal alone stays so."""
    return np.concatenate([axes @ x[:3], axes @ x[3:] if len(x) > 4 else x[3:]])


def torque(axes: Array, x: Array) -> Array:
    """The torque in the world of an impulse along rows."""
    turns: Array = axes[:, : len(x) - 3] @ x[3:]
    return turns


class Tables:
    """Everything that contacts are made of, as one vector, and one contact made of it."""

    def __init__(
        self, tree: ClusterTree, s: SmoothMotion, scene: Scene, bodies: tuple[int, ...], columns: Columns,
        poses: dict[int, Transform], motion: ContactMotion, points: Array, before: Array,
    ) -> None:  # fmt: skip
        self.n, self.columns, self.restitution = tree.nv, columns, scene.options.restitution
        self.slow = gravity_of(tree.top)
        self.origin = poses[bodies[0]].p
        pairs = [(scene.shapes[x.a], scene.shapes[x.b]) for x in scene.pairs]
        place = {b: float(k) for k, b in enumerate(bodies)} | {-1: float(len(bodies))}
        self.bodies = [np.array([place[pair[side].body] for pair in pairs]) for side in (0, 1)]
        self.roundings = [np.array([pair[side].rounding for pair in pairs]) for side in (0, 1)]
        self.count = scene.rows
        each = [(x.friction, x.torsion, x.rolling)[: COEFFICIENTS[self.count]] for x in scene.pairs]
        self.frictions = np.array(each)
        self.rows = columns.rows(tree, s)
        self.parts: dict[str, tuple[slice, tuple[int, ...]]] = {}
        self.groups: list[list[Any]] = []
        self._add("points", points)
        self._add("before", before)
        self._add("twists", columns.twists(s, poses, self.origin))
        self._add("N", np.concatenate([z for z, _ in self.rows.values()]))
        self._add("accelerations", _accelerations(tree, s, bodies, poses, self.origin))
        for name, x in (("v", motion.v), ("v_free", motion.v_free), ("drift", motion.drift)):
            self._add(name, x)
        self._add("origin", self.origin)
        self._add("h", np.array([motion.h]))

    def _add(self, name: str, x: Array) -> None:
        x = np.asarray(x)
        start = sum(map(len, self.groups))
        self.parts[name] = slice(start, start + x.size), x.shape
        self.groups.append(list(x.flat))

    def contact(self, carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
        """One contact, as a body of `scalar.scan`: what is left is read by `measured`.

        Carried are whether something hits faster than it falls in a step, when first, and whether something is below.
        """
        given = {name: np.array(shared[at]).reshape(shape) for name, (at, shape) in self.parts.items()}
        h = given["h"][0]
        point = sc.take(given["points"], row[0])
        gap, x, normal, pair = point[1], point[2:5], point[5:8], point[8]
        axes = _axes(normal)
        sides = [sc.take(places, pair) for places in self.bodies]
        at = x - given["origin"]
        J = self._jacobian(given["twists"], axes, at, sides)
        z = self._rows(J, given["N"])
        u0, u1, aside = J @ given["v"], J @ given["v_free"], J @ given["drift"]
        pulls, turns = [], []
        for side, sign in zip((0, 1), (1.0, -1.0), strict=True):
            core = at + (sign * (0.5 * gap + sc.take(self.roundings[side], pair))) * normal
            row_of = sc.take(given["accelerations"], sides[side])
            pulls.append(_acceleration(row_of, at, core))
            turns.append(row_of[:3])
        pull = np.concatenate([axes.T @ (pulls[0] - pulls[1]), axes[:, : self.count - 3].T @ (turns[0] - turns[1])])
        bend = u0 + h * pull - u1
        before, after = u0 - 0.5 * bend, u1 + 0.5 * bend
        gap = gap - (0.5 * h) * u0[0] - aside[0] - (0.375 * h) * bend[0]
        start = in_world(axes.T, _found_again(given["before"], x, pair + 1.0))
        left = [*z.flat, *before, *after, *axes.flat, *sc.take(self.frictions, pair), *start, *x, gap, pair + 1.0]
        return self._first_touch(carry, gap, before, after, h), left

    def _jacobian(self, twists: Array, axes: Array, at: Array, sides: list[Any]) -> Array:
        """Velocity of the first body relative to the second per unit of every coordinate (rows, n).

        Its rows are along the axes, then about them.
        """
        mask = self.columns.moving(sides[0]) - self.columns.moving(sides[1])
        wrench = np.concatenate([np.stack([cross(at, axes[:, k]) for k in range(3)], axis=1), axes])
        about = axes[:, : self.count - 3]
        wrench = np.concatenate([wrench, np.concatenate([about, 0.0 * about])], axis=1) if self.count > 3 else wrench
        J = np.zeros((self.count, self.n), dtype=object)
        for k, c in enumerate(self.columns.columns):
            J[:, c.coordinate] = J[:, c.coordinate] + mask[k] * (wrench.T @ twists[k])
        return J

    def _rows(self, J: Array, N: Array) -> Array:
        """z = J N."""
        z, first = np.zeros((self.count, self.n), dtype=object), 0
        for k, (_, at) in self.rows.items():
            row = N[first : first + len(at)]
            first += len(at)
            for r in range(self.count):
                z[r, at] = z[r, at] + J[r, k] * row
        return z

    def _first_touch(self, carry: Any, gap: Any, before: Array, after: Array, h: Any) -> list[Any]:
        hit, when, below = carry
        below = sc.logical_or(below, gap < -BELOW)
        if not self.restitution:
            return [hit, when, below]
        mean = 0.5 * (before[0] + after[0])
        hits = sc.logical_and(gap + h * mean < 0.0, before[0] < -(h * self.slow))
        time = sc.maximum(gap, 0.0) / sc.where(hits, -h * mean, 1.0)
        return [sc.logical_or(hit, hits), sc.where(hits, sc.minimum(when, time), when), below]


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
    out: list[Any] = [0.0] * (before.shape[1] - 4)
    least: Any = SAME * SAME
    for row in before:
        away = x - row[:3]
        same = sc.logical_and(sc.abs(row[3] - pair) < 0.5, away @ away < least)
        least = sc.where(same, away @ away, least)
        out = [sc.where(same, new, old) for new, old in zip(row[4:], out, strict=True)]
    return np.array(out)


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


def _acceleration(row: Array, at: Array, core: Array) -> Array:
    """Acceleration of a point of a body: of one at the surface that turns about, and is carried along, as its core."""
    turn, pull, w, v = row[:3], row[3:6], row[6:9], row[9:]
    return np.asarray(pull + cross(turn, at) + cross(w, v + cross(w, core)))
