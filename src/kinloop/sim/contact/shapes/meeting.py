"""Where two convex shapes are nearest to each other, whatever they are: a search inside a kernel.

The rounds are those of `couple`. They end where the lower and the upper bound of the distance are the same: for shapes
with corners that is exact after some rounds.

Cores that overlap, or touch, have no distance. They are lifted off each other along a direction n, the one along which
they overlapped least so far, and looked at again. If that finds the direction n, then it is one along which they
overlap least of all near it; if not, it finds a better one.

What this finds it can vouch for; what it cannot is left to the search between steps (`convex_pairs`).
All vectors are in the frame of b.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.couple import Couple, Descent
from kinloop.sim.contact.shapes.patch_corners import Corners, patch_corners
from kinloop.sim.contact.shapes.proximity import FAR, choose, dot

ROUNDS = 120
"""Rounds that a search takes at most."""

CLOSED = 1e-12
"""Bounds of a distance that differ by less are the same, as a part of the sizes of the shapes."""

SURE = 1e-10
"""Bounds of a distance that come no nearer to each other must differ by less [m]."""

TOUCH = 1e-7
"""Cores that are nearer are lifted off each other, as a part of their sizes."""

LIFT = 0.01
"""How far they are lifted, as a part of the smaller one's size."""

LIFTS = 6.0
"""How often they are lifted at most."""

SAME = 1e-11
"""A direction that brings less is the same [m]."""

DEEP = 0.04
"""Depths beyond this part of the smaller one's size are left to the search between steps: there may be a better way out
than the one near which they are lifted."""

FAR_OFF, MET, DOUBT = 1.0, 2.0, 3.0
"""What a search ends with: shapes are further apart than what counts, where they meet, nothing that is sure."""


class Met(NamedTuple):
    """Where two shapes meet, in the frame of b: gap [m], point and the direction n from b to a.

    `apart` says that the gap is beyond what was asked for, `sure` that all is as it says here. `corners` are those of
    the patch in which faces meet.
    """

    apart: Any
    sure: Any
    gap: Any
    n: Array
    point: Array
    corners: Corners


class State(NamedTuple):
    """What a search carries: a descent, how often shapes were lifted, along what, how far, and the gap along that.

    And what was `found`, and where.
    """

    descent: Descent
    lifts: Any
    n: Array
    lift: Any
    gap: Any
    middle: Array
    found: Any

    @staticmethod
    def of(x: Any) -> State:
        """That of `values`."""
        return State(Descent.of(x[:26]), x[26], np.array(x[27:30]), x[30], x[31], np.array(x[32:35]), x[35])

    def values(self) -> list[Any]:
        """All of it as one vector."""
        return [*self.descent.values(), self.lifts, *self.n, self.lift, self.gap, *self.middle, self.found]


def search(couple: Couple, v: Array, at: Array, when: Any = True) -> Met:
    """Where a couple meets, in doubt where not `when`; it begins with a direction v from b to a, vertices of hulls."""
    v = v / sc.maximum(sc.sqrt(dot(v, v)), 1e-300)
    begin = State(Descent.along(v, at), 0.0, v, 0.0, -FAR, np.zeros(3), 0.0)

    def go_on(carry: Any, given: Any) -> list[Any]:
        return _judged(Couple.of(couple.kinds, given), State.of(carry)).values()

    end = sc.repeat(ROUNDS, go_on, begin.values(), couple.values(), when, lambda c: c[-1] > 0.5, 6)
    s, rounding = State.of(end), (couple.a.size[-1], couple.b.size[-1])
    met = sc.logical_and(s.found > MET - 0.5, s.found < MET + 0.5)
    apart = sc.logical_and(s.found > FAR_OFF - 0.5, s.found < FAR_OFF + 0.5)
    wanted = sc.logical_and(met, couple.flat > 0.5)
    corners = patch_corners(couple, s.n, s.gap, s.middle, s.descent.at, wanted)
    shift, thick = 0.5 * (rounding[1] - rounding[0]) * s.n, rounding[0] + rounding[1]
    rows = np.array([[*(row[:3] + shift), row[3] - thick] for row in corners.rows])
    sure = sc.logical_or(met, apart)
    return Met(apart, sure, s.gap - thick, s.n, s.middle + shift, corners._replace(rows=rows))


def _judged(couple: Couple, s: State) -> State:
    """The state after a round, which goes on, lifts the shapes, or ends."""
    none = np.zeros(3)
    descent, seen = s.descent.round(couple, s.n, s.lift, none, none)
    first, fresh, near = s.lifts < 0.5, s.descent.fresh > 0.5, TOUCH * couple.size
    closed = seen.low >= seen.high - CLOSED * couple.size
    ended = sc.logical_and(sc.logical_not(fresh), sc.logical_or(closed, seen.closer >= seen.high * seen.high))
    touches = sc.logical_or(sc.logical_and(seen.inside, sc.logical_not(closed)), seen.closer <= near * near)
    touches = sc.logical_or(touches, sc.logical_and(ended, seen.high <= near))
    resolved, lifted = sc.logical_and(ended, sc.logical_not(touches)), sc.logical_not(first)
    gap = seen.low - s.lift * dot(s.n, seen.unit)
    done = sc.logical_and(resolved, sc.logical_or(first, sc.abs(gap - s.gap) <= SAME))
    again = sc.logical_and(resolved, sc.logical_not(done))
    lifts = sc.logical_or(sc.logical_and(first, touches), again)
    turns = sc.logical_or(resolved, sc.logical_and(first, seen.low > s.gap))
    n, best = choose(turns, seen.unit, s.n), sc.where(turns, gap, s.gap)
    doubt = sc.logical_and(lifted, sc.logical_or(touches, sc.logical_and(again, s.lifts > LIFTS - 0.5)))
    doubt = sc.logical_or(doubt, sc.logical_and(resolved, seen.high - seen.low > SURE))
    doubt = sc.logical_or(doubt, sc.logical_and(done, best < -DEEP * couple.smaller))
    apart = sc.logical_and(first, seen.low > couple.reach)
    found = sc.where(apart, FAR_OFF, sc.where(doubt, DOUBT, sc.where(done, MET, 0.0)))
    ours = s.descent.ours
    middle = ours + 0.5 * (s.lift * s.n - s.descent.v)
    return State(
        descent.again(lifts, n), s.lifts + sc.where(lifts, 1.0, 0.0), n,
        sc.where(lifts, LIFT * couple.smaller - best, s.lift), best, choose(done, middle, s.middle), found,
    )  # fmt: skip
