"""Where the next round of the contact solver begins: ahead of the last one, where those before point to.

A round leads from x to G(x), and changes w = Z^T x by f(x). Where contacts go on sticking, sliding and being open, G is
linear. Then of two rounds the difference of their ends, a way, comes with the difference of their changes, a turn; with
the turns of a few ways made orthogonal, the next round begins where along these ways f is least. This is the method of
[Anderson1965] in the norm |w|^2 = lambda . A lambda. Such a beginning need not lie in the cones; where the round from
there ends does.

A round that changes far more than the best one shows that it was not linear. Then ways are forgotten and the search
goes on from the best end, at first with rounds that begin where the last one ended: these make way, if slowly. Where
one of them is the worse one, it goes on from its end, as rounds go.

How far to go along which way is found from w alone (`Ahead`). All else that x has, impulses of contacts and joints,
then goes along its own ways by the same numbers (`Turn`): each leaves a trail, a few numbers for every entry.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import TINY

DEPTH = 3
"""Ways that are remembered."""

WORSE = 2.0
"""A round that changes so many times as much as the best one does not point to a solution."""

ALIKE = 1e-16
"""A turn of which less than this part is left, squared, when it is made orthogonal, is none of its own."""

PLAIN = 3.0
"""Rounds after a fresh start that do not begin ahead, besides the first two."""

TRAIL = DEPTH + 3
"""Numbers that are kept of every entry of x: its `DEPTH` ways, where the last round ended, where the best one did, and
where the next one begins."""

BEST, BEGIN = TRAIL - 2, TRAIL - 1
"""Where in a trail these are."""


def trail_of(x: Array) -> Array:
    """The trail (TRAIL, ...) of entries x before the first round, which begins there."""
    return np.array([*np.zeros((DEPTH, *x.shape), dtype=object), x, x, x], dtype=object)


class Turn(NamedTuple):
    """What a round says of the next one, for whatever is carried.

    The new way is the last round's without `parts` of those before, all of it times `new`; ways are worth `keep`, 1
    or 0, and the next round begins without the parts `ahead` of them. The round may be `better` than the best one, or
    so much `worse` that the search goes on from that.
    """

    parts: Array
    new: Any
    keep: Any
    ahead: Array
    better: Any
    worse: Any

    def values(self) -> list[Any]:
        """All of it as one vector."""
        return [*self.parts, self.new, self.keep, *self.ahead, self.better, self.worse]

    @staticmethod
    def of(x: Any) -> Turn:
        """That of `values`."""
        return Turn(x[:DEPTH], x[DEPTH], x[DEPTH + 1], x[DEPTH + 2 : 2 * DEPTH + 2], *x[2 * DEPTH + 2 :])

    def moved(self, trail: Array, end: Array) -> Array:
        """The trail of some entries after the round, which ended there."""
        way, begin = end - trail[DEPTH], end
        for part, before in zip(self.parts, trail, strict=False):
            way = way - part * before
        ways = [self.keep * x for x in (self.new * way, *trail[: DEPTH - 1])]
        for part, x in zip(self.ahead, ways, strict=True):
            begin = begin - part * x
        best = sc.where(self.better, end, trail[BEST])
        return np.array([*ways, end, best, sc.where(self.worse, best, begin)], dtype=object)


class Ahead(NamedTuple):
    """Rounds so far: `count` of them, `since` those of a fresh start; the `least` change of one, that of the last.

    `f` (m,) is how the last one changed w, `turns` (DEPTH, m) are remembered, and `trail` (TRAIL, m) is that of w.
    """

    count: Any
    since: Any
    least: Any
    change: Any
    f: Array
    turns: Array
    trail: Array

    @staticmethod
    def of(w: Array, change: Any) -> Ahead:
        """Before the first round, which begins at w."""
        f, turns = (np.zeros(shape, dtype=object) for shape in (w.shape, (DEPTH, *w.shape)))
        return Ahead(0.0, 0.0, change, change, f, turns, trail_of(w))

    @staticmethod
    def size(m: int) -> int:
        """How many `values` there are."""
        return 4 + (1 + DEPTH + TRAIL) * m

    @staticmethod
    def read(values: Any, m: int) -> Ahead:
        """What `values` gave, which may be followed by others."""
        f, turns, trail = np.split(np.asarray(values[4 : Ahead.size(m)]), [m, (1 + DEPTH) * m])
        count, since, least, change = values[:4]
        return Ahead(count, since, least, change, f, turns.reshape(DEPTH, m), trail.reshape(TRAIL, m))

    def values(self) -> list[Any]:
        """All of it as one vector."""
        return [x for part in self for x in np.asarray(part, dtype=object).flat]

    def after(self, end: Array, change: Any) -> tuple[Ahead, Turn]:
        """After a round in which w ends there, with its largest change of a velocity; and what that says."""
        fresh, worse = self.since < 0.5, change > WORSE * self.least
        better = sc.logical_or(change < self.least, sc.logical_and(worse, fresh))
        f = end - self.trail[BEGIN]
        parts, new, keep, turns = self._remembered(f - self.f, sc.logical_or(fresh, worse))
        left, ahead = f, []
        for turn in turns:
            ahead.append((turn @ left) / (turn @ turn + TINY))
            left = left - ahead[-1] * turn
        said = Turn(np.array(parts), new, keep, np.array(ahead), better, worse)
        since, least = sc.where(worse, -PLAIN, self.since + 1.0), sc.where(better, change, self.least)
        return Ahead(self.count + 1.0, since, least, change, f, turns, said.moved(self.trail, end)), said

    def _remembered(self, turn: Array, none: Any) -> tuple[list[Any], Any, Any, Array]:
        """Parts of turns before in the last one, whether it is one of its own, whether any count, and the newest.

        The last is the first of them and orthogonal to the others; all are zero where `none`.
        """
        size, parts = turn @ turn, []
        for q in self.turns:
            parts.append((q @ turn) / (q @ q + TINY))
            turn = turn - parts[-1] * q
        keep, new = sc.where(none, 0.0, 1.0), sc.where(turn @ turn > ALIKE * size, 1.0, 0.0)
        return parts, new, keep, keep * np.concatenate([(new * turn)[None], self.turns[:-1]])
