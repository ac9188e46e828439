"""Where two convex shapes are nearest to each other, whatever they are: a search inside a kernel.

The rounds are those of `couple`. They end where the lower and the upper bound of the distance are the same: for shapes
with corners that is exact after some rounds.

Cores that overlap, or touch, have no distance. They are lifted off each other along a direction n, the one along which
they overlapped least so far, and looked at again. If that finds the direction n, then it is one along which they
overlap least of all near it; if not, it finds a better one.

Faces meet in more than a point. To see where, a is tilted a little against b by a shear along n, x -> x + n t . (x - c)
about the nearest point c, in four directions t; what is nearest then are corners of the patch in which they meet.

What this finds it can vouch for; what it cannot is left to the search between steps (`convex_pairs`).
All vectors are in the frame of b.
"""

from __future__ import annotations

from itertools import combinations
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
"""How far they are lifted, as a part of the smaller one's size; twice that to tilt them."""

LIFTS = 6
"""How often they are lifted at most."""

SAME = 1e-11
"""A direction that brings less is the same [m]."""

DEEP = 0.02
"""Depths beyond this part of the smaller one's size are left to the search between steps: there may be a better way out
than the one near which they are lifted."""

TILT = 0.004
"""How far shapes are tilted against each other to see where their faces meet [rad]."""

NARROW = 0.04
"""A patch that is no wider than this part of the smaller one's size counts as a point."""

DIAGONALS = ((0.9, 1.1), (-0.9, -1.1), (1.1, -0.9), (-1.1, 0.9))
"""Directions of tilts: none of them is that of an edge of a box, or of its diagonal."""

APART_, SURE_, WIDE, DOUBT = 1.0, 2.0, 3.0, 4.0
"""What a search ends with: shapes that are further apart than what counts, one point, a patch, nothing that is sure."""


class Met(NamedTuple):
    """Where two shapes meet, in the frame of b: gap [m], point and the direction n from b to a.

    `apart` says that the gap is beyond what was asked for, `sure` that all is as it says here. `corners` (4, 4) are
    those of a patch, points and gaps, if it is `wide`.
    """

    apart: Any
    sure: Any
    gap: Any
    n: Array
    point: Array
    wide: Any
    corners: Array


class State(NamedTuple):
    """What a search carries from round to round.

    The point v with the corners y of its simplex, their points x of a, and weights w of the last two; the vertices `at`
    which climbs begin; which `part` a search is in (0: as they are, then lifted, then tilted) and whether it begins
    (`fresh`); the direction n of lifts, how far they go, the gap along n; what was `found`, where, and at corners.
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
    found: Any
    middle: Array
    corners: Array

    @staticmethod
    def of(values: Any) -> State:
        at, out = 0, list[Any]()
        for size in _SIZES:
            out.append(np.array(values[at : at + size]) if size > 1 else values[at])
            at += size
        return State(*out)

    def values(self) -> list[Any]:
        """All of it as one vector."""
        return [y for x, size in zip(self, _SIZES, strict=True) for y in (x if size > 1 else [x])]

    @property
    def tilted(self) -> Any:
        return self.part > LIFTS + 0.5

    def is_tilt(self, k: int) -> Any:
        """Whether this part is the tilt of a number."""
        return sc.abs(self.part - float(LIFTS + 1 + k)) < 0.5

    @property
    def ours(self) -> Array:
        """The point of a that belongs to v."""
        return self.x[:3] * (1.0 - self.w[0] - self.w[1]) + self.x[3:6] * self.w[0] + self.x[6:] * self.w[1]


_SIZES = (3, 9, 9, 2, 2, 1, 1, 3, 1, 1, 1, 3, 16)
_FOUND = sum(_SIZES[: State._fields.index("found")])


class Seen(NamedTuple):
    """What a round saw: a direction, the lower bound of the distance along it, whether both bounds are the same.

    `sure` says that they are nearly, `touches` that cores touch or overlap; `tilt` is the tilt of this part.
    """

    unit: Array
    low: Any
    ended: Any
    sure: Any
    touches: Any
    tilt: Array


def search(couple: Couple, v: Array, at: Array, when: Any = True) -> Met:
    """Where a couple meets, in doubt where not `when`; it begins with a direction v from b to a, vertices of hulls."""
    v = v / sc.maximum(sc.sqrt(dot(v, v)), 1e-300)
    none, corners = np.zeros(9), np.tile([0.0, 0.0, 0.0, FAR], 4)
    begin = State(v, none, none, np.zeros(2), at, 0.0, 1.0, v, 0.0, -FAR, 0.0, np.zeros(3), corners)

    def go_on(carry: Any, given: Any) -> list[Any]:
        now, state = couple.told(given), State.of(carry)
        moved, seen = _round(now, state)
        return _judged(now, state, moved, seen).values()

    end = sc.repeat(ROUNDS, go_on, begin.values(), couple.given(), when, lambda c: c[_FOUND] > 0.5, 6)
    s, rounding = State.of(end), (couple.a.size[-1], couple.b.size[-1])
    shift, thick = 0.5 * (rounding[1] - rounding[0]) * s.n, rounding[0] + rounding[1]
    rows = np.array([[*(np.array(c[:3]) + shift), c[3] - thick] for c in s.corners.reshape(4, 4)])
    sure = sc.logical_and(s.found > 0.5, s.found < DOUBT - 0.5)
    wide = sc.logical_and(s.found > WIDE - 0.5, _spread(s.corners.reshape(4, 4)) > NARROW * couple.smaller)
    apart, wide = sc.logical_and(sure, s.found < APART_ + 0.5), sc.logical_and(sure, wide)
    return Met(apart, sure, s.gap - thick, s.n, s.middle + shift, wide, rows)


def _round(couple: Couple, s: State) -> tuple[State, Seen]:
    """The state with one more point of the difference, and what that shows."""
    length, fresh, tilt = sc.sqrt(dot(s.v, s.v)), s.fresh > 0.5, _tilt(s)
    unit = s.v / sc.maximum(length, 1e-300)
    ours, at_a = couple.furthest(couple.a, -seen_from(couple.R, unit + tilt * dot(s.n, unit)), s.at[0])
    theirs, at_b = couple.furthest(couple.b, unit, s.at[1])
    x = couple.p + in_world(couple.R, ours)
    P = x + s.n * (dot(tilt, x - s.middle) + s.lift) - theirs
    low = dot(unit, P)
    before = [np.array([*s.y[k : k + 3], *s.x[k : k + 3]]) for k in (0, 3, 6)]
    corners = [choose(fresh, [*P, *x], corner) for corner in before]
    new = nearer([corner[:3] for corner in corners], P)
    closer, near = dot(new.v, new.v), TOUCH * couple.size
    closed = low >= length - sc.where(s.tilted, CORNER, CLOSED) * couple.size
    ended = sc.logical_and(sc.logical_not(fresh), sc.logical_or(closed, closer >= length * length))
    touches = sc.logical_or(sc.logical_and(new.inside, sc.logical_not(closed)), closer <= near * near)
    touches = sc.logical_or(touches, sc.logical_and(ended, length <= near))
    kept = [choose(k < 0.5, corners[0], choose(k < 1.5, corners[1], corners[2])) for k in (new.i, new.j)]
    moved = s._replace(
        v=new.v, y=np.array([*P, *kept[0][:3], *kept[1][:3]]), x=np.array([*x, *kept[0][3:], *kept[1][3:]]),
        w=vector(new.w_i, new.w_j), at=vector(at_a, at_b), fresh=0.0,
    )  # fmt: skip
    return moved, Seen(unit, low, ended, length - low <= SURE, touches, tilt)


def _tilt(s: State) -> Array:
    """The tilt of the part that a search is in, square to n."""
    n = s.n
    x, y, z = (sc.abs(n[k]) for k in range(3))
    first, second = sc.logical_and(x <= y, x <= z), y <= z
    t = cross(n, choose(first, (1.0, 0.0, 0.0), choose(second, (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))))
    t = t / sc.maximum(sc.sqrt(dot(t, t)), 1e-300)
    one, other = 0.0, 0.0
    for k, (c, d) in enumerate(DIAGONALS):
        one, other = sc.where(s.is_tilt(k), TILT * c, one), sc.where(s.is_tilt(k), TILT * d, other)
    return one * t + other * cross(n, t)


def _judged(couple: Couple, s: State, moved: State, seen: Seen) -> State:
    """The state after a round, which goes on, begins another part, or ends."""
    first, tilted = s.part < 0.5, s.tilted
    lifted = sc.logical_not(sc.logical_or(first, tilted))
    resolved = sc.logical_and(seen.ended, sc.logical_not(seen.touches))
    gap = seen.low - s.lift * dot(s.n, seen.unit)
    same = sc.logical_and(lifted, sc.abs(gap - s.gap) <= SAME)
    done = sc.logical_and(resolved, sc.logical_or(first, same))
    again = sc.logical_and(lifted, sc.logical_and(resolved, sc.logical_not(same)))
    lifts = sc.logical_or(sc.logical_and(first, seen.touches), again)
    over = sc.logical_and(tilted, sc.logical_or(seen.ended, seen.touches))
    tilts = sc.logical_and(done, couple.flat > 0.5)
    better = sc.logical_and(first, seen.low > s.gap)
    turns = sc.logical_or(better, sc.logical_or(done, again))
    n, gap = choose(turns, seen.unit, s.n), sc.where(turns, gap, s.gap)
    ours = s.ours
    theirs = ours + s.n * (dot(seen.tilt, ours - s.middle) + s.lift) - s.v
    middle = 0.5 * (ours + theirs)
    corners = _with_corner(s, [*middle, dot(s.n, ours - theirs)], sc.logical_and(over, resolved))
    new_part, lift = sc.logical_or(lifts, sc.logical_or(tilts, over)), LIFT * couple.smaller
    vain = sc.logical_and(lifted, sc.logical_or(seen.touches, sc.logical_and(again, s.part > LIFTS - 0.5)))
    unsure = sc.logical_and(sc.logical_or(done, again), sc.logical_not(seen.sure))
    deep = sc.logical_and(done, gap < -DEEP * couple.smaller)
    doubt = sc.logical_or(vain, sc.logical_or(unsure, deep))
    apart = sc.logical_and(first, seen.low > couple.reach)
    last = sc.logical_and(over, s.is_tilt(3))
    narrow = sc.logical_and(sc.logical_and(over, s.is_tilt(1)), _is_one(corners))
    point = sc.logical_or(narrow, sc.logical_and(done, sc.logical_not(tilts)))
    found = sc.where(last, WIDE, sc.where(point, SURE_, 0.0))
    return moved._replace(
        v=choose(new_part, n, moved.v), fresh=sc.where(new_part, 1.0, moved.fresh), n=n, gap=gap,
        part=sc.where(tilts, LIFTS + 1.0, sc.where(new_part, s.part + 1.0, s.part)),
        lift=sc.where(lifts, lift - gap, sc.where(tilts, 2.0 * lift - gap, s.lift)),
        found=sc.where(apart, APART_, sc.where(doubt, DOUBT, found)),
        middle=choose(done, middle, s.middle), corners=corners,
    )  # fmt: skip


def _with_corner(s: State, corner: list[Any], there: Any) -> Array:
    """The corners with the one of this part, if it is there."""
    out = list[Any]()
    for k in range(4):
        out += [*choose(sc.logical_and(there, s.is_tilt(k)), corner, s.corners[4 * k : 4 * k + 4])]
    return np.array(out)


def _is_one(corners: Array) -> Any:
    """Whether the first two corners are the same place."""
    return _apart(corners[:3], corners[4:7]) < APART


def _spread(corners: Array) -> Any:
    """How far corners are from each other, those that are there."""
    most: Any = 0.0
    for x, y in combinations(corners, 2):
        there = sc.maximum(x[3], y[3]) < 0.5 * FAR
        most = sc.maximum(most, sc.where(there, _apart(x, y), 0.0))
    return most


def _apart(a: Array, b: Array) -> Any:
    x, y, z = (sc.abs(a[k] - b[k]) for k in range(3))
    return sc.maximum(x, sc.maximum(y, z))
