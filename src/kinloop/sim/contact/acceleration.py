"""Where the next round of the contact solver begins: ahead of the last one, where those before point to.

A round leads from x to G(x), and changes w = Z^T x by f(x). Where contacts go on sticking, sliding and being open, G is
linear. Then of two rounds the difference of their ends, a way, comes with the difference of their changes, a turn; with
the turns of a few ways made orthogonal, the next round begins where along these ways f is least. This is the method of
[Anderson1965] in the norm |w|^2 = lambda . A lambda. Such a beginning need not lie in the cones; where the round from
there ends does.

A round that changes far more than the best one shows that it was not linear. Then ways are forgotten and the search
goes on from the best end, at first with rounds that begin where the last one ended: these make way, if slowly. Where
one of them is the worse one, it goes on from its end, as rounds go.
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


class Ahead(NamedTuple):
    """Rounds so far: `count` of them, `since` those of a fresh start, `begin` of the next (n,).

    `last` is the end of the last one and `f` (m,) how it changed w, the first m entries of x; `best` is the end of the
    one with the `least` change, `ways` (DEPTH, n) and `turns` (DEPTH, m) are remembered. `change` is that of the last.
    """

    count: Any
    since: Any
    begin: Array
    last: Array
    best: Array
    f: Array
    ways: Array
    turns: Array
    least: Any
    change: Any

    @staticmethod
    def of(x: Array, change: Any, m: int) -> Ahead:
        """Before the first round, which begins at x."""
        f, ways, turns = (np.zeros(shape, dtype=object) for shape in ((m,), (DEPTH, len(x)), (DEPTH, m)))
        return Ahead(0.0, 0.0, x, x, x, f, ways, turns, change, change)

    @staticmethod
    def read(values: Any, n: int, m: int) -> Ahead:
        """What `values` gave."""
        shapes: list[tuple[int, ...]] = [(n,), (n,), (n,), (m,), (DEPTH, n), (DEPTH, m)]
        parts = np.split(np.asarray(values), np.cumsum([2, *(int(np.prod(s)) for s in shapes)]))[1:-1]
        begin, last, best, f, ways, turns = (x.reshape(shape) for x, shape in zip(parts, shapes, strict=True))
        return Ahead(values[0], values[1], begin, last, best, f, ways, turns, values[-2], values[-1])

    def values(self) -> Array:
        """All of it as one vector."""
        return np.array([x for part in self for x in np.asarray(part, dtype=object).flat], dtype=object)

    def after(self, end: Array, change: Any) -> Ahead:
        """After a round that ends there, with its largest change of a velocity."""
        fresh, worse = self.since < 0.5, change > WORSE * self.least
        better = sc.logical_or(change < self.least, sc.logical_and(worse, fresh))
        best = np.array([sc.where(better, x, y) for x, y in zip(end, self.best, strict=True)])
        f = end[: len(self.f)] - self.begin[: len(self.f)]
        ways, turns = self._remembered(end - self.last, f - self.f, sc.logical_or(fresh, worse))
        ahead, left = end, f
        for way, turn in zip(ways, turns, strict=True):
            part = (turn @ left) / (turn @ turn + TINY)
            ahead, left = ahead - part * way, left - part * turn
        begin = np.array([sc.where(worse, x, y) for x, y in zip(best, ahead, strict=True)])
        since, least = sc.where(worse, -PLAIN, self.since + 1.0), sc.where(better, change, self.least)
        return Ahead(self.count + 1.0, since, begin, end, best, f, ways, turns, least, change)

    def _remembered(self, way: Array, turn: Array, none: Any) -> tuple[Array, Array]:
        """The newest ways, the last first and with its turn orthogonal to others; no ways where `none`."""
        size = turn @ turn
        for p, q in zip(self.ways, self.turns, strict=True):
            part = (q @ turn) / (q @ q + TINY)
            way, turn = way - part * p, turn - part * q
        keep, new = sc.where(none, 0.0, 1.0), sc.where(turn @ turn > ALIKE * size, 1.0, 0.0)
        way, turn = new * way, new * turn
        ways, turns = (np.concatenate([x[None], xs[:-1]]) for x, xs in ((way, self.ways), (turn, self.turns)))
        return keep * ways, keep * turns
