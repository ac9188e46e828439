"""Two convex shapes whose nearest points are looked for, and whether they are near at all.

With a point v of the difference of two cores, the points of a minus the points of b, the planes across v that touch
both are apart by at least v . P / |v|, where P is what the difference has furthest against v; the cores themselves are
apart by |v| at most. A round adds P to the simplex that has v, and v becomes its nearest point to the origin
(`simplex`) [Gilbert1988]. Whether shapes are nearer than something is known as soon as one of both bounds says so:
mostly after one round or two.

All vectors are in the frame of b.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.patches import APART
from kinloop.sim.contact.shapes.proximity import FAR, choose, dot, in_world, seen_from, vector
from kinloop.sim.contact.shapes.simplex import THIN, nearer
from kinloop.sim.contact.shapes.supports import SUM, Hulls, Sum
from kinloop.spatial import cross

FRESH, ABOUT = 4.0, 0.1
"""Rounds that look along a direction and others about it, and how far these are from it [rad]."""

EMPTY = -1.0
"""The first weight of a simplex without corners."""

LEVEL = 1e-6
"""A face whose points reach along v as far as v does, but for this part, is the one that has v."""

_ABOUT = (0.0, ABOUT, -0.5 * ABOUT, -0.5 * ABOUT), (0.0, 0.0, 0.75**0.5 * ABOUT, -(0.75**0.5) * ABOUT)

ROUNDS = 24
"""Rounds after which shapes count as near if no bound has said otherwise."""


class Kinds:
    """What the shapes of some pairs are, on either side: hulls, and the parts that the sums have.

    One round of a search for any of these pairs is traced once: all loops that search share its code in a kernel.
    """

    def __init__(self, hulls: Hulls, first: Sum, second: Sum) -> None:
        self.hulls, self.first, self.second = hulls, first, second

    @cached_property
    def round(self) -> sc.Function:
        """What a descent is after a round and what that saw, by the descent, the couple and how a is moved."""

        def body(carry: Array, given: Array) -> Array:
            descent, seen = Descent.of(carry)._round(*self._read(given))
            return np.array([*descent.values(), *seen.unit, seen.low, seen.high, seen.closer, seen.inside])

        return sc.trace(body, {"carry": DESCENT + SEEN, "given": COUPLE + MOVED})

    @cached_property
    def furthest(self) -> sc.Function:
        """What a shape of either side has furthest along a direction, and at which vertex the next climb begins."""
        parts = Sum(*(a or b for a, b in zip(self.first, self.second, strict=True)))

        def body(carry: Array, given: Array) -> Array:
            size, number, d, at = given[:SUM], given[SUM], given[SUM + 1 :], carry[3]
            climbs, x = number >= 0.0, parts.furthest(size, d)
            at = self.hulls.climbed(self.hulls.higher(at, number, d), d, climbs)
            return np.array([*choose(climbs, self.hulls.vertex(at), x), at])

        return sc.trace(body, {"carry": 4, "given": SUM + 4})

    def _read(self, given: Array) -> tuple[Couple, Array, Any, Array, Array]:
        n, lift, tilt, about = np.split(given[COUPLE:], [3, 4, 7])
        return Couple.of(self, given), n, lift[0], tilt, about


class Body(NamedTuple):
    """A convex shape: its core, and its number among hulls (-1: it is none)."""

    size: Any
    number: Any


class Couple(NamedTuple):
    """Two bodies, a at a pose (R, p) in the frame of b; what is in it are numbers and symbols of one kernel.

    `flat` is above zero where both have faces or edges, cores nearer than `reach` count as near; `size` is that of
    both together, `smaller` that of the smaller one [m].
    """

    kinds: Kinds
    a: Body
    b: Body
    flat: Any
    R: Array
    p: Array
    reach: Any
    size: Any
    smaller: Any

    def values(self) -> list[Any]:
        """All that a round needs, as one vector."""
        return [
            *self.a.size, self.a.number, *self.b.size, self.b.number, self.flat, *self.R.flat, *self.p,
            self.reach, self.size, self.smaller,
        ]  # fmt: skip

    @staticmethod
    def of(kinds: Kinds, x: Any) -> Couple:
        """That of `values`."""
        a, b = Body(x[:SUM], x[SUM]), Body(x[SUM + 1 : 2 * SUM + 1], x[2 * SUM + 1])
        x = x[2 * SUM + 2 :]
        return Couple(kinds, a, b, x[0], np.array(x[1:10]).reshape(3, 3), np.array(x[10:13]), *x[13:16])

    def towards(self) -> Array:
        """The direction from the middle of b to that of a."""
        length = sc.sqrt(dot(self.p, self.p))
        return choose(length > APART, self.p / sc.maximum(length, APART), (0.0, 0.0, 1.0))

    def apart_at_least(self) -> Any:
        """How far planes across the way between the middles part the cores, at least [m]; nobody climbs for it."""
        d = self.towards()
        ours = self._reach_at_most(self.kinds.first, self.a, -seen_from(self.R, d))
        return dot(d, self.p) - ours - self._reach_at_most(self.kinds.second, self.b, d)

    def _reach_at_most(self, parts: Sum, body: Body, d: Array) -> Any:
        reach = dot(d, parts.furthest(body.size, d))
        hulls = self.kinds.hulls
        return sc.where(body.number >= 0.0, hulls.reach_at_most(body.number, d), reach) if hulls else reach

    def begin(self, d: Array) -> Array:
        """The vertices at which climbs begin along d."""
        hulls = self.kinds.hulls
        if not hulls:
            return vector(0.0, 0.0)
        own = -seen_from(self.R, d)
        return vector(hulls.beginning(self.a.number, own), hulls.beginning(self.b.number, d))

    def ends(self, d: Array, e: Array, at: Any) -> tuple[Array, Array, Array]:
        """What a has furthest against d and b along e, and where the next climbs begin."""
        d = -seen_from(self.R, d)
        if not self.kinds.hulls:
            ours, theirs = self.kinds.first.furthest(self.a.size, d), self.kinds.second.furthest(self.b.size, e)
            return self.p + in_world(self.R, ours), theirs, vector(*at)
        *ours, at_a = self._furthest(self.a, d, at[0])
        *theirs, at_b = self._furthest(self.b, e, at[1])
        return self.p + in_world(self.R, np.array(ours)), np.array(theirs), vector(at_a, at_b)

    def _furthest(self, body: Body, d: Array, at: Any) -> Any:
        return sc.repeat(1, self.kinds.furthest, [0.0, 0.0, 0.0, at], [*body.size, body.number, *d])


DESCENT, SEEN, COUPLE, MOVED = 26, 7, 2 * SUM + 18, 10
"""Numbers of a descent, of what a round sees, of a couple, and of how a is lifted and tilted."""


class Seen(NamedTuple):
    """What a round saw: the direction it looked along, the bounds of the distance, and the upper one after it, squared.

    `inside` says that the origin is within the simplex: the cores overlap.
    """

    unit: Array
    low: Any
    high: Any
    closer: Any
    inside: Any


class Descent(NamedTuple):
    """A point v of the difference: the corners y of its simplex, their points x of a, and weights w of the last two.

    Climbs begin `at` vertices of hulls. While it is `fresh`, for so many rounds, v is a direction, and rounds look
    along directions about it: the nearest point of a first point alone may lie in quite another one.
    """

    v: Array
    y: Array
    x: Array
    w: Array
    at: Array
    fresh: Any

    @staticmethod
    def along(v: Array, at: Array, rounds: float = FRESH) -> Descent:
        """One that begins along a direction."""
        return Descent(v, np.zeros(9), np.zeros(9), vector(EMPTY, 0.0), at, rounds)

    @staticmethod
    def of(x: Any) -> Descent:
        """That of `values`."""
        v, y, x_, w, at = (np.array(x[a:b]) for a, b in ((0, 3), (3, 12), (12, 21), (21, 23), (23, 25)))
        return Descent(v, y, x_, w, at, x[25])

    def values(self) -> list[Any]:
        """All of it as one vector."""
        return [*self.v, *self.y, *self.x, *self.w, *self.at, self.fresh]

    @property
    def ours(self) -> Array:
        """The point of a that belongs to v."""
        return _mixed(self.x, self.w)

    def crossed(self, n: Array) -> tuple[Array, Array]:
        """The point of a, and that of the difference, where the line along n crosses the face that has v.

        Points of a and b that belong to v are not above each other along n where their surfaces are tilted against it.
        Where no face has v, but an edge or a corner, they are those of v.
        """
        t, across = square_to(n)
        (x, y), (x_i, y_i), (x_j, y_j) = ((dot(t, p), dot(across, p)) for p in (self.y[:3], self.y[3:6], self.y[6:]))
        x_i, y_i, x_j, y_j = x_i - x, y_i - y, x_j - x, y_j - y
        area = x_i * y_j - y_i * x_j
        solid = area * area > THIN * (x_i * x_i + y_i * y_i) * (x_j * x_j + y_j * y_j)
        per = 1.0 / sc.where(solid, area, 1.0)
        w = vector(per * (x_j * y - y_j * x), per * (y_i * x - x_i * y))
        off, square = _mixed(self.y, w), dot(self.v, self.v)
        level = sc.logical_and(solid, sc.abs(dot(off, self.v) - square) <= LEVEL * square)
        return choose(level, _mixed(self.x, w), self.ours), choose(level, off, self.v)

    def again(self, when: Any, v: Array) -> Descent:
        """A fresh one along v where `when`."""
        w = choose(when, (EMPTY, 0.0), self.w)
        return self._replace(v=choose(when, v, self.v), w=w, fresh=sc.where(when, FRESH, self.fresh))

    def round(self, couple: Couple, n: Array, lift: Any, tilt: Array, about: Array) -> tuple[Descent, Seen]:
        """The descent after one round, with a lifted along n and tilted about a point."""
        carry, given = [*self.values(), *np.zeros(SEEN)], [*couple.values(), *n, lift, *tilt, *about]
        end = sc.repeat(1, couple.kinds.round, carry, given)
        return Descent.of(end), Seen(np.array(end[DESCENT : DESCENT + 3]), *end[DESCENT + 3 :])

    def _round(self, couple: Couple, n: Array, lift: Any, tilt: Array, about: Array) -> tuple[Descent, Seen]:
        length, first = sc.sqrt(dot(self.v, self.v)), self.w[0] < 0.5 * EMPTY
        unit = self._about(self.v / sc.maximum(length, 1e-300))
        x, theirs, at = couple.ends(unit + tilt * dot(n, unit), unit, self.at)
        P = x + n * (dot(tilt, x - about) + lift) - theirs
        before = [np.array([*self.y[k : k + 3], *self.x[k : k + 3]]) for k in (0, 3, 6)]
        corners = [choose(first, [*P, *x], corner) for corner in before]
        new = nearer([corner[:3] for corner in corners], P)
        kept = [choose(k < 0.5, corners[0], choose(k < 1.5, corners[1], corners[2])) for k in (new.i, new.j)]
        y, x = (np.array([*one, *kept[0][part], *kept[1][part]]) for one, part in ((P, slice(3)), (x, slice(3, 6))))
        seen = Seen(unit, dot(unit, P), length, dot(new.v, new.v), new.inside)
        v, left = choose(self.fresh > 1.5, self.v, new.v), sc.maximum(self.fresh - 1.0, 0.0)
        return Descent(v, y, x, vector(new.w_i, new.w_j), at, left), seen

    def _about(self, unit: Array) -> Array:
        """The direction in which this round looks: of a fresh descent one about v, else v."""
        t, across = square_to(unit)
        turns = [sc.take(np.array(x), FRESH - self.fresh) for x in _ABOUT]
        turned = unit + sc.where(self.fresh > 0.5, 1.0, 0.0) * (turns[0] * t + turns[1] * across)
        return np.asarray(turned / sc.sqrt(dot(turned, turned)))


def _mixed(corners: Array, w: Array) -> Array:
    """The mixture of three points, by the weights of the last two."""
    return np.asarray(corners[:3] * (1.0 - w[0] - w[1]) + corners[3:6] * w[0] + corners[6:] * w[1])


def square_to(n: Array) -> tuple[Array, Array]:
    """Two unit vectors square to n and to each other."""
    x, y, z = (sc.abs(n[k]) for k in range(3))
    first, second = sc.logical_and(x <= y, x <= z), y <= z
    t = cross(n, choose(first, (1.0, 0.0, 0.0), choose(second, (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))))
    t = t / sc.maximum(sc.sqrt(dot(t, t)), 1e-300)
    return t, cross(n, t)


class Near(NamedTuple):
    """Whether two shapes may be near, the direction that parts them most so far, and where climbs may begin."""

    near: Any
    v: Array
    at: Array


def are_near(couple: Couple, when: Any = True) -> Near:
    """Whether the cores of two bodies are nearer than `reach`; nobody knows where not `when`."""
    v, none = couple.towards(), np.zeros(3)

    def go_on(carry: Any, given: Any) -> list[Any]:
        now, most = Couple.of(couple.kinds, given), carry[29]
        descent, seen = Descent.of(carry[:26]).round(now, none, 0.0, none, none)
        near = sc.logical_or(seen.closer <= now.reach * now.reach, seen.inside)
        known = sc.where(seen.low > now.reach, 1.0, sc.where(near, 2.0, 0.0))
        best = choose(seen.low > most, seen.unit, carry[26:29])
        return [*descent.values(), *best, sc.maximum(most, seen.low), known]

    begin = [*Descent.along(v, couple.begin(v), 1.0).values(), *v, -FAR, 0.0]
    end = sc.repeat(ROUNDS, go_on, begin, couple.values(), when, lambda c: c[-1] > 0.5, 2)
    return Near(sc.logical_not(sc.abs(end[-1] - 1.0) < 0.5), np.array(end[26:29]), Descent.of(end[:26]).at)
