"""Corners of the patch in which the faces of two convex shapes meet.

To see where they are, a is lifted off b along the normal n and tilted a little against it by a shear along n,
x -> x + n t . (x - c) about the nearest point c, in four directions t; what is nearest then are corners of the patch.
The first two directions are opposite: where they lead to nearly the same point, it is no patch.
Before, both shapes are asked what they have furthest along directions that are tilted as much: where that is nearly the
same point for one of them, there is no patch to look for.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.couple import Couple, Descent, square_to
from kinloop.sim.contact.shapes.proximity import FAR, choose, dot, permuted, seen_from

ROUNDS = 100
"""Rounds for all corners at most."""

CLOSED = 1e-8
"""Bounds of a distance that differ by less are the same, as a part of the sizes of the shapes."""

TILT, LIFT = 0.01, 0.05
"""How far shapes are tilted against each other [rad], and lifted, as a part of the smaller one's size."""

NARROW = 0.06
"""A patch that is no wider than this part of the smaller one's size counts as a point."""

DIAGONALS = ((-0.9, -1.1), (0.9, 1.1), (-1.1, 0.9), (1.1, -0.9))
"""Directions of tilts: none of them is that of an edge of a box, or of its diagonal."""


class Corners(NamedTuple):
    """Four points of a patch with their gaps, a row each, and whether they are so far from each other that they count.

    A gap of `FAR` means that there is no such corner.
    """

    rows: Array
    wide: Any


def patch_corners(couple: Couple, n: Array, gap: Any, middle: Array, at: Array, when: Any) -> Corners:
    """The corners of a couple that meets at a point with a normal and a gap; none where not `when`."""
    may = sc.logical_and(when, _may_be_wide(couple, n, at, when))
    lift = LIFT * couple.smaller - gap

    def go_on(carry: Any, given: Any) -> list[Any]:
        return _round(Couple.of(couple.kinds, given), carry, given[len(given) - 7 :])

    descent = Descent.along(n, at)
    begin = [*descent.values(), *np.tile([0.0, 0.0, 0.0, FAR], 4), 0.0]
    given = [*couple.values(), *n, *middle, lift]
    end = sc.repeat(ROUNDS, go_on, begin, given, may, lambda c: c[-1] > 3.5, 8)
    rows = np.array(end[26:42]).reshape(4, 4)
    whole = sc.logical_and(may, end[-1] > 3.5)
    return Corners(rows, sc.logical_and(whole, _spread(rows) > NARROW * couple.smaller))


def _round(couple: Couple, carry: Any, told: Any) -> list[Any]:
    """One round towards the corner whose number is last in `carry`."""
    n, middle, lift = np.array(told[:3]), np.array(told[3:6]), told[6]
    before, rows, number = Descent.of(carry[:26]), carry[26:42], carry[42]
    tilt = _tilt(couple, n, number)
    descent, seen = before.round(couple, n, lift, tilt, middle)
    closed = seen.low >= seen.high - CLOSED * couple.size
    fresh = before.fresh > 0.5
    ended = sc.logical_and(sc.logical_not(fresh), sc.logical_or(closed, seen.closer >= seen.high * seen.high))
    lost = sc.logical_and(seen.inside, sc.logical_not(closed))
    ours, off = before.crossed(n)
    theirs = ours + n * (dot(tilt, ours - middle) + lift) - off
    corner = [*(0.5 * (ours + theirs)), dot(n, ours - theirs)]
    out: list[Any] = []
    for k in range(4):
        here = sc.logical_and(sc.abs(number - float(k)) < 0.5, sc.logical_and(ended, sc.logical_not(lost)))
        out += [*choose(here, corner, rows[4 * k : 4 * k + 4])]
    over = sc.logical_or(ended, lost)
    narrow = sc.logical_and(sc.abs(number - 1.0) < 0.5, _apart(out[:3], out[4:7]) <= NARROW * couple.smaller)
    number = sc.where(over, sc.where(narrow, 4.0, number + 1.0), number)
    return [*descent.again(over, n).values(), *out, number]


def _may_be_wide(couple: Couple, n: Array, at: Array, when: Any) -> Any:
    """Whether what both shapes have furthest along directions near n overlaps in more than about a point.

    Rectangles about the points that they have there are compared, in two directions square to n.
    """

    def look(carry: Any, given: Any) -> list[Any]:
        now, n = Couple.of(couple.kinds, given), np.array(given[len(given) - 3 :])
        number, at, low, high = carry[0], carry[1:3], carry[3:7], carry[7:11]
        d, axes = n + _tilt(now, n, number), square_to(n)
        x, theirs, at = now.ends(d, d, at)
        along = [dot(axis, y) for y in (x, theirs) for axis in axes]
        low = [sc.minimum(a, b) for a, b in zip(low, along, strict=True)]
        high = [sc.maximum(a, b) for a, b in zip(high, along, strict=True)]
        return [number + 1.0, *at, *low, *high]

    begin = [0.0, *at, *np.full(4, FAR), *np.full(4, -FAR)]
    end = sc.repeat(4, look, begin, [*couple.values(), *n], when, lambda c: c[0] > 3.5, 1)
    low, high = end[3:7], end[7:11]
    shared = [sc.minimum(high[k], high[k + 2]) - sc.maximum(low[k], low[k + 2]) for k in range(2)]
    beside = -NARROW * couple.smaller
    return sc.logical_and(sc.maximum(*shared) > -beside, sc.minimum(*shared) > beside)


def _tilt(couple: Couple, n: Array, number: Any) -> Array:
    """The tilt of a number, square to n: along diagonals of the face of a's box that looks most along n.

    Corners come in the order of those of two boxes (`box_box`): what a solver finds where several orders of impulses
    are possible depends on it.
    """
    own = seen_from(couple.R, n)
    sides = np.array([permuted(own, line) for line in couple.R])
    along = TILT * (sc.take(_ONE, number) * sides[:, 1] + sc.take(_OTHER, number) * sides[:, 2])
    return np.asarray(along - dot(n, along) * n)


_ONE, _OTHER = (np.array([d[k] for d in DIAGONALS]) for k in range(2))


def _spread(corners: Array) -> Any:
    """How far corners are from each other, those that are there."""
    most: Any = 0.0
    for x, y in combinations(corners, 2):
        there = sc.maximum(x[3], y[3]) < 0.5 * FAR
        most = sc.maximum(most, sc.where(there, _apart(x, y), 0.0))
    return most


def _apart(a: Any, b: Any) -> Any:
    x, y, z = (sc.abs(a[k] - b[k]) for k in range(3))
    return sc.maximum(x, sc.maximum(y, z))
