"""Rows of constraints on their way inward: gathered at a cluster, closed or still waiting for another end.

A constraint is closed at the deepest cluster that supports all its ends; there, and from there on, its rows may
be mixed with others and eliminated. What is left of the rows closed at cluster k travels on as "rest k".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.clusters import ClusterTree
from kinloop.linear import spans
from kinloop.scalar import Array

Key = int | str
"""The number of a constraint, or "rest k" for what is left of the rows closed at cluster k."""
CLEARED = 1e-26
"""Entries of L below this part of its largest are nothing: what elimination leaves of rows is exactly that."""


class Block(NamedTuple):
    """Rows that travel together: wrenches on bodies, target, and the constraint or cluster they come from."""

    key: Key
    size: int
    chi: dict[int, Array]
    t: Array


class Gathered(NamedTuple):
    """All rows at a cluster, the first `closed` of them closed: wrenches chi, targets t, L between them.

    `fresh` says that the closed ones do not act on any other yet: their part of L is zero.
    """

    blocks: list[tuple[Key, slice]]
    closed: int
    chi: dict[int, Array]
    t: Array
    L: Array
    fresh: bool


class RowStore:
    """The rows that wait at every cluster, how they act on each other, and where each constraint closes."""

    def __init__(self, tree: ClusterTree, constraints: Sequence[ConstraintWrenches], symbolic: bool) -> None:
        self.tree, self.constraints, self.symbolic = tree, constraints, symbolic
        self.rows: dict[int, list[Block]] = {k: [] for k in range(len(tree))}
        self.L: dict[int, dict[tuple[Key, Key], Array]] = {k: {} for k in range(len(tree))}
        self.ends: dict[int, list[int]] = {}
        self.closes: dict[Key, int] = {}
        of_dof = {d: c.index for c in tree for d in c.dofs}
        for c, w in enumerate(constraints):
            touched = {tree.cluster_of[i] for i in w.ends} | {of_dof[d] for d in w.joints}
            for k in touched:
                self.ends.setdefault(k, []).append(c)
            self.closes[c] = _common(tree, sorted(touched))
        self.magnitude: dict[Key, float] = {} if symbolic else {c: _magnitude(w) for c, w in enumerate(constraints)}

    def zeros(self, *shape: int) -> Array:
        """Zeros that numbers or symbols can be written over."""
        return np.full(shape, 0.0, dtype=object if self.symbolic else float)

    def gather(self, k: int) -> Gathered:
        """All rows at cluster k, from beyond and its own, as arrays; closed ones first."""
        blocks = {b.key: b for b in self.rows.pop(k)}
        for c in self.ends.get(k, []):
            own = {i: f for i, f in self.constraints[c].ends.items() if self.tree.cluster_of[i] == k}
            first = max(x for x in self.ends if c in self.ends[x]) == k
            t = self.constraints[c].k if first else np.zeros(self.constraints[c].size)
            b = Block(c, self.constraints[c].size, own, t)
            blocks[c] = _sum(blocks[c], b) if c in blocks else b
        order = sorted(blocks.values(), key=lambda b: (self.closes[b.key] != k, str(b.key)))
        at = dict(zip((b.key for b in order), spans([b.size for b in order]), strict=True))
        R = sum(b.size for b in order)
        chi: dict[int, Array] = {}
        t = self.zeros(R)
        for b in order:
            t[at[b.key]] = b.t
            for i, f in b.chi.items():
                chi.setdefault(i, self.zeros(6, R))[:, at[b.key]] = f
        L = self.zeros(R, R)
        for (x, y), block in self.L.pop(k).items():
            L[at[x], at[y]] = block
            L[at[y], at[x]] = block.T
        closed = sum(b.size for b in order if self.closes[b.key] == k)
        fresh = bool(all(not isinstance(e, sc.Symbol) and e == 0.0 for e in L[:closed].flat))
        return Gathered([(b.key, at[b.key]) for b in order], closed, chi, t, L, fresh)

    def onward(self, k: int, g: Gathered, O: list[int]) -> list[tuple[Key, list[int]]]:
        """The rows O that leave cluster k, by the block in which they go on."""
        rest = [j for j in O if j < g.closed]
        out: list[tuple[Key, list[int]]] = []
        if rest:
            key = f"rest {k}"
            self.closes[key] = self.tree.clusters[k].parent
            self.magnitude[key] = max((self.magnitude.get(x, 0.0) for x, s in g.blocks if s.start < g.closed))
            out.append((key, rest))
        return out + [(key, list(range(span.start, span.stop))) for key, span in g.blocks if span.start >= g.closed]

    def hand(self, parent: int, onward: list[tuple[Key, list[int]]], chi: dict[int, Array], t: Array) -> None:
        """Give rows that leave a cluster to its parent; blocks of one constraint from two sides become one."""
        merged = {b.key: b for b in self.rows[parent]}
        for key, rows in onward:
            b = Block(key, len(rows), {i: f[:, rows] for i, f in chi.items()}, t[rows])
            merged[key] = _sum(merged[key], b) if key in merged else b
        self.rows[parent] = list(merged.values())

    def couple(self, k: int, parent: int, onward: list[tuple[Key, list[int]]], L: Array, closed: int) -> None:
        """Give what these rows do to each other; rows that nothing was left of start anew."""
        rest = [j for _, rows in onward for j in rows if j < closed]
        size = float(np.max(np.abs(L), initial=1e-300)) if not self.symbolic else 1.0
        anew = self.symbolic or not np.any(np.abs(L[rest]) > CLEARED * size)
        for a, (x, rows) in enumerate(onward):
            for y, columns in onward[a:]:
                if anew and f"rest {k}" in (x, y):
                    continue
                block = L[np.ix_(rows, columns)]
                have = self.L[parent].get((x, y))
                self.L[parent][x, y] = block if have is None else have + block

    def size(self, art: Articulated, g: Gathered, n: int) -> float:
        """What the first n rows could move the joint by at most, squared: their largest |u|^2 (numbers only)."""
        if self.symbolic:
            return 0.0
        moves = max((float(np.max((S**2).sum(axis=0))) for S in art.S.values()), default=0.0)
        return moves * max((self.magnitude.get(key, 0.0) for key, s in g.blocks if s.start < n), default=0.0)

    def sizes(self, art: Articulated, g: Gathered) -> Array:
        """What the diagonal of L is at least for rows that move the heaviest coordinate fully (numbers only)."""
        out = np.zeros(len(g.t))
        if not self.symbolic:
            for key, s in g.blocks:
                out[s] = self.magnitude[key] / max(art.D.d, default=1.0)
        return out


def _sum(a: Block, b: Block) -> Block:
    chi = dict(a.chi)
    for i, f in b.chi.items():
        chi[i] = chi[i] + f if i in chi else f
    return Block(a.key, a.size, chi, a.t + b.t)


def _magnitude(w: ConstraintWrenches) -> float:
    """The largest square of a row's wrenches."""
    parts = [(f * f).sum(axis=0) for f in w.ends.values()] + [f * f for f in w.joints.values()]
    return max((float(np.max(x)) for x in parts if x.size), default=0.0)


def _common(tree: ClusterTree, clusters: Sequence[int]) -> int:
    """The deepest cluster that supports all the given ones, or is one of them; -1 is the world."""
    paths = []
    for k in clusters:
        path = []
        while k >= 0:
            path.append(k)
            k = tree.clusters[k].parent
        paths.append(path)
    common = set(paths[0]).intersection(*paths[1:])
    return max(common, default=-1)
