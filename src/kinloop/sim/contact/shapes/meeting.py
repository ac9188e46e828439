"""Where two convex shapes are nearest to each other, whatever they are: a search inside the kernel.

With a point v of the difference of two cores, the points of a minus the points of b, the planes across v that touch
both are apart by at least v . P / |v|, where P is what the difference has furthest against v; the cores themselves are
apart by |v| at most. A round adds P to the simplex that has v, and v becomes its nearest point to the origin
(`simplex`); the search ends where both bounds are the same, or the lower one says that the shapes are too far apart to
matter [Gilbert1988]. For shapes with corners that is exact after some rounds.

Cores that overlap, or touch, have no such v. They are lifted off each other along a direction n, the one along which
they overlapped least so far, and looked at again. If that finds the direction n, then it is one along which they
overlap least of all near it; if not, it finds a better one.

Faces meet in more than a point. To see where, a is tilted a little against b by a shear along n, x -> x + n t . (x - c)
about the nearest point c, in four directions t; what is nearest then are corners of the patch in which they meet.

What this finds it can vouch for; what it cannot is left to the search between steps (`convex_pairs`).
All vectors are in the frame of b.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.couple import Couple
from kinloop.sim.contact.shapes.patches import APART
from kinloop.sim.contact.shapes.proximity import FAR, choose, dot, in_world, seen_from, vector
from kinloop.sim.contact.shapes.simplex import nearer
from kinloop.spatial import cross

ROUNDS = 160
"""Rounds that a search takes at most."""

CLOSED, CORNER = 1e-12, 1e-8
"""Bounds of a distance that differ by less are the same, as a part of the sizes of the shapes; and at corners."""

SURE = 1e-10
"""Bounds of a distance that come no nearer to each other must differ by less [m]."""

TOUCH = 1e-7
"""Cores that are nearer are lifted off each other, as a part of their sizes."""

LIFT = 0.01
"""How far they are lifted, as a part of the smaller one's size."""

LIFTS = 6
"""How often they are lifted at most."""

SAME = 1e-11
"""A direction that brings less is the same [m]."""

DEEP = 0.02
"""Depths beyond this part of the smaller one's size are left to the search between steps."""

TILT = 0.01
"""How far shapes are tilted against each other to see where their faces meet [rad]."""

DIAGONALS = ((0.9, 1.1), (-0.9, -1.1), (1.1, -0.9), (-1.1, 0.9))
"""Directions of tilts: none of them is that of an edge of a box, or of its diagonal."""


class Met(NamedTuple):
    """Where two shapes meet, in the frame of b: gap [m], points and the direction from b to a.

    `apart` says that the gap is beyond what was asked for, `sure` that all is as it says here. `corners` are those of a
    patch, a row each of a point and its gap, if it is `wide`.
    """

    apart: Any
    sure: Any
    gap: Any
    n: Array
    point: Array
    wide: Any
    corners: Array


class _State(NamedTuple):
    """What a search carries from round to round.

    The point v with the corners y of its simplex and their points x of a, and weights of the last two; the vertices of
    hulls at which climbs begin; which of its parts a search is in (0: as they are, then lifted, then tilted); the
    direction n of lifts, how far they go, the depth along it; the best direction so far and its bound; what was found.
    """

    v: Array
    y: Array
    x: Array
    w: Array
    at: Array
    part: Any
    fresh: Any
    n: Array
    lift: Any
    gap: Any
    best: Any
    found: Any
    middle: Array
    corners: Array

    @classmethod
    def of(cls, values: Any) -> _State:
        at, out = 0, list[Any]()
        for size in _SIZES:
            out.append(np.array(values[at : at + max(size, 1)]) if size else values[at])
            at += max(size, 1)
        return cls(*out)

    def values(self) -> list[Any]:
        return [y for x, size in zip(self, _SIZES, strict=True) for y in (x if size else [x])]


_SIZES = (3, 9, 9, 2, 2, 0, 0, 3, 0, 0, 0, 0, 3, 16)
_APART, _SURE, _WIDE, _DOUBT = 1.0, 2.0, 3.0, 4.0


class Search(NamedTuple):
    """The search for where a couple meets, from a direction v with vertices `at` of hulls on."""

    couple: Couple
    v: Array
    at: Array

    def __call__(self, when: Any = True) -> Met:
        """Where the two meet; nothing of it counts where not `when`."""
        none, v = np.zeros(9), self.v / sc.maximum(sc.sqrt(dot(self.v, self.v)), 1e-300)
        corners = np.tile([0.0, 0.0, 0.0, FAR], 4)
        begin = _State(v, none, none, np.zeros(2), self.at, 0.0, 1.0, v, 0.0, -FAR, -FAR, 0.0, np.zeros(3), corners)

        def go_on(carry: Any, given: Any) -> list[Any]:
            return self._replace(couple=self.couple.told(given))._round(_State.of(carry)).values()

        found_at = _place("found")
        end = sc.repeat(
            ROUNDS, go_on, begin.values(), self.couple.given(), when=when, until=lambda c: c[found_at] > 0.0, usual=6
        )
        s = _State.of(end)
        rounding_a, rounding_b = self.couple.a.size[-1], self.couple.b.size[-1]
        shift, thick = 0.5 * (rounding_b - rounding_a) * s.n, rounding_a + rounding_b
        rows = [[*(np.array(c[:3]) + shift), c[3] - thick] for c in s.corners.reshape(4, 4)]
        sure = sc.logical_and(s.found > 0.5, s.found < _DOUBT - 0.5)
        return Met(
            s.found == _APART if not sc.is_symbolic(s.found) else sc.logical_and(s.found > 0.5, s.found < 1.5),
            sure, s.gap - thick, s.n, s.middle + shift, sc.logical_and(s.found > 2.5, sure), np.array(rows),
        )  # fmt: skip

    def _round(self, s: _State) -> _State:
        """One round."""
        length = sc.sqrt(dot(s.v, s.v))
        unit = s.v / sc.maximum(length, 1e-300)
        fresh, tilt = s.fresh > 0.5, self._tilt(s)
        ours, at_a = self.couple.furthest(
            self.couple.a, -seen_from(self.couple.R, unit + tilt * dot(s.n, unit)), s.at[0]
        )
        theirs, at_b = self.couple.furthest(self.couple.b, unit, s.at[1])
        x = self.couple.p + in_world(self.couple.R, ours)
        P = x + s.n * (dot(tilt, x - s.middle) + s.lift) - theirs
        low = dot(unit, P)
        new = nearer([choose(fresh, P, s.y[3 * k : 3 * k + 3]) for k in range(3)], P)
        closer = dot(new.v, new.v)
        closed = low >= length - sc.where(s.part > LIFTS + 0.5, CORNER, CLOSED) * self.couple.size
        stays = closer >= length * length
        ended = sc.logical_and(sc.logical_not(fresh), sc.logical_or(closed, stays))
        step = _Step(unit, length, low, ended, sc.logical_and(ended, length - low <= SURE), tilt)
        near = TOUCH * self.couple.size
        touches = sc.logical_or(sc.logical_and(new.inside, sc.logical_not(closed)), closer <= near * near)
        touches = sc.logical_or(touches, sc.logical_and(ended, length <= near))
        corners = [
            [choose(fresh, P, s.y[3 * k : 3 * k + 3]), choose(fresh, x, s.x[3 * k : 3 * k + 3])] for k in (0, 1, 2)
        ]
        kept = [_one_of(k, corners) for k in (new.i, new.j)]
        moved = s._replace(
            v=new.v, y=np.array([*P, *kept[0][:3], *kept[1][:3]]), x=np.array([*x, *kept[0][3:], *kept[1][3:]]),
            w=vector(new.w_i, new.w_j), at=vector(at_a, at_b), fresh=0.0,
        )  # fmt: skip
        return self._judged(s, moved, step, touches)

    def _tilt(self, s: _State) -> Array:
        """The tilt of the part that a search is in."""
        n = s.n
        x, y, z = (sc.abs(n[k]) for k in range(3))
        first, second = sc.logical_and(x <= y, x <= z), y <= z
        least = choose(first, (1.0, 0.0, 0.0), choose(second, (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
        t = cross(n, least)
        t = t / sc.maximum(sc.sqrt(dot(t, t)), 1e-300)
        across = cross(n, t)
        one: Any = 0.0
        other: Any = 0.0
        for k, (c, d) in enumerate(DIAGONALS):
            here = sc.abs(s.part - float(LIFTS + 1 + k)) < 0.5
            one, other = sc.where(here, TILT * c, one), sc.where(here, TILT * d, other)
        return one * t + other * across

    def _judged(self, s: _State, moved: _State, step: _Step, touches: Any) -> _State:
        """The state after a round, by the part that it was in."""
        first, lifted = s.part < 0.5, sc.logical_and(s.part > 0.5, s.part < LIFTS + 0.5)
        tilted = s.part > LIFTS + 0.5
        better = sc.logical_and(first, step.low > s.best)
        n, best = choose(better, step.unit, s.n), sc.where(better, step.low, s.best)
        gap = step.low - s.lift * dot(s.n, step.unit)
        seen = sc.logical_and(step.ended, sc.logical_not(touches))
        # as they are, or lifted
        same = sc.logical_and(lifted, sc.abs(gap - s.gap) <= SAME)
        done = sc.logical_and(seen, sc.logical_or(first, same))
        lifts = sc.logical_or(
            sc.logical_and(first, touches), sc.logical_and(lifted, sc.logical_and(seen, sc.logical_not(same)))
        )
        depth = sc.where(first, best, gap)
        in_vain = sc.logical_or(
            sc.logical_and(lifted, sc.logical_or(touches, s.part > LIFTS - 0.5)),
            sc.logical_and(sc.logical_not(tilted), sc.logical_and(seen, sc.logical_not(step.sure))),
        )
        deep = gap < -DEEP * self.couple.smaller
        pa = s.x[:3] * (1.0 - s.w[0] - s.w[1]) + s.x[3:6] * s.w[0] + s.x[6:] * s.w[1]
        pb = pa + s.n * (dot(step.tilt, pa - s.middle) + s.lift) - s.v
        middle = 0.5 * (pa + pb)
        # tilted
        over = sc.logical_and(tilted, sc.logical_or(step.ended, touches))
        corners = list(s.corners)
        for k in range(4):
            here = sc.logical_and(
                sc.logical_and(over, sc.logical_not(touches)), sc.abs(s.part - float(LIFTS + 1 + k)) < 0.5
            )
            row = choose(here, [*middle, dot(s.n, pa - pb)], corners[4 * k : 4 * k + 4])
            corners[4 * k : 4 * k + 4] = list(row)
        narrow = sc.logical_and(sc.abs(s.part - float(LIFTS + 2)) < 0.5, _same_place(corners[:3], corners[4:7]))
        last = s.part > LIFTS + 3.5
        apart = sc.logical_and(first, step.low > self.couple.reach)
        tilts = sc.logical_and(done, self.couple.flat > 0.5)
        found: Any = 0.0
        for condition, value in (
            (sc.logical_and(over, last), _WIDE),
            (sc.logical_and(over, narrow), _SURE),
            (sc.logical_and(done, self.couple.flat < 0.5), _SURE),
            (sc.logical_and(done, deep), _DOUBT),
            (sc.logical_and(in_vain, sc.logical_not(done)), _DOUBT),
            (sc.logical_and(done, sc.logical_not(step.sure)), _DOUBT),
            (apart, _APART),
        ):
            found = sc.where(condition, value, found)
        again = sc.logical_or(sc.logical_or(lifts, tilts), over)
        n = choose(sc.logical_or(done, sc.logical_and(lifted, seen)), step.unit, n)
        part = sc.where(lifts, s.part + 1.0, sc.where(tilts, LIFTS + 1.0, sc.where(over, s.part + 1.0, s.part)))
        lift = LIFT * self.couple.smaller
        return moved._replace(
            v=choose(again, n, moved.v), fresh=sc.where(again, 1.0, moved.fresh), part=part, n=n, best=best,
            lift=sc.where(lifts, lift - depth, sc.where(tilts, 2.0 * lift - gap, s.lift)),
            gap=sc.where(sc.logical_or(lifts, done), depth_or(gap, depth, done), s.gap), found=found,
            middle=choose(done, middle, s.middle), corners=np.array(corners),
        )  # fmt: skip


def depth_or(gap: Any, depth: Any, done: Any) -> Any:
    return sc.where(done, gap, depth)


class _Step(NamedTuple):
    """What a round saw: a direction, the bounds of the distance along it, and whether these are the same."""

    unit: Array
    length: Any
    low: Any
    ended: Any
    sure: Any
    tilt: Array


def _place(name: str) -> int:
    """Where a field is among the values of a state."""
    k = _State._fields.index(name)
    return sum(max(size, 1) for size in _SIZES[:k])


def _one_of(k: Any, corners: list[list[Array]]) -> Array:
    """The values of one of three corners."""
    a, b, c = ([*y, *x] for y, x in corners)
    return choose(k < 0.5, a, choose(k < 1.5, b, c))


def _same_place(x: Any, y: Any) -> Any:
    most = sc.maximum(sc.abs(x[0] - y[0]), sc.maximum(sc.abs(x[1] - y[1]), sc.abs(x[2] - y[2])))
    return most < APART
