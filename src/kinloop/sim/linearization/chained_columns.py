"""Columns of A and B from the places where a step meets the dynamics, a few columns at a time in a loop.

With a_k the accelerations at the places before the last and y the velocities at the end, along any direction x

    M_k da_k = -(R_x dx + sum_j<k R_aj da_j),      (M / h) dy = -(R_x dx + sum_j R_aj da_j),                       (1)
    d(q', v') = E_x dx + sum_j E_aj da_j + E_y dy,                                                                 (2)

E local to clusters. All columns go through the same operations, so these are written once and run round by round: a
kernel that writes them out for every column is twice as large, and does not fit into the processor's nearer memory. The
columns of a limb are taken together, since they leave other limbs without forces of their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.branch_factor import BranchFactor
from kinloop.clusters import Cluster, ClusterTree
from kinloop.scalar import Array
from kinloop.scalar.tracing import filled
from kinloop.sim.linearization.free_bases import LINEAR

WIDTH = 3
"""Columns in a round: what a round reads of the matrices serves all of them."""


class Met(NamedTuple):
    """The dynamics at a place: what answers to forces, slopes of its residual by kind, and along controls.

    `inverse` is the factored mass matrix, or with contacts the matrix P of `loop_contacts`. `felt` is what contacts and
    stops add to the unknowns along each kind, where there are any. `free` are the answers of free bases that are known
    without solving (`free_bases`), by their clusters.
    """

    inverse: BranchFactor | Array
    slopes: dict[str, Array]
    controls: Array
    felt: dict[str, Array]
    free: dict[int, dict[str, Array]]

    def answer(self, right: Array) -> Array:
        """The unknowns where the residual changes by `right`."""
        if isinstance(self.inverse, BranchFactor):
            return self.inverse.solve(right, -1.0)
        return -(self.inverse @ right)


@dataclass(frozen=True)
class Chain:
    """Places in the order in which a step meets them, with the name of each one's unknowns; slopes E by kind."""

    tree: ClusterTree
    names: list[str]
    met: list[Met]
    ends: dict[str, Array]

    def columns(self) -> tuple[Array, Array]:
        """A (2 nv, 2 nv) and B (2 nv, nu)."""
        nv = self.tree.nv
        direct = [np.concatenate([m.slopes["q"], m.slopes["v"], m.controls], axis=1) for m in self.met]
        none = np.zeros(direct[0].shape)
        felt = [np.concatenate([m.felt["q"], m.felt["v"], none[:, 2 * nv :]], axis=1) for m in self.met if m.felt]
        forced = np.concatenate([*direct, *felt]).astype(object)
        out = np.full((2 * nv, forced.shape[1]), 0.0, dtype=object)
        known = self._known(out)
        for here in by_limbs(self.tree, forced):
            rest = np.array([k for k in here if k not in known], dtype=int)
            out[:, rest] = self._in_rounds(forced[:, rest])
        for offset, kind in ((0, "q"), (nv, "v")):
            for c in self.tree:
                at = slice(offset + c.v.start, offset + c.v.stop)
                for rows in _rows(self.tree, c):
                    out[rows, at] = out[rows, at] + self.ends[kind][rows][:, : c.m]
        return out[:, : 2 * nv], out[:, 2 * nv :]

    def _known(self, out: Array) -> set[int]:
        """Columns of free bases that need no solving, E_x left out: written to `out`, and their numbers."""
        nv, done = self.tree.nv, set[int]()
        for index in set.intersection(*(set(m.free) for m in self.met)):
            c = self.tree.clusters[index]
            for kind, own, start in (("q", slice(0, 6), c.v.start), ("v", LINEAR, nv + c.v.start)):
                at, found = list(range(start + own.start, start + own.stop)), dict[str, Array]()
                for m, name in zip(self.met, self.names, strict=True):
                    slopes = m.free[index]
                    parts = [slopes[before] @ change for before, change in found.items()]
                    found[name] = sum(parts, slopes[kind][:, own])
                for rows in _rows(self.tree, c):
                    parts = [self.ends[name][rows][:, : c.m] @ change for name, change in found.items()]
                    out[rows, at[0] : at[-1] + 1] = sum(parts[1:], parts[0])
                done |= set(at)
        return done

    def _in_rounds(self, forced: Array) -> Array:
        """(q', v') along columns, E_x left out."""
        if not forced.size:
            return np.zeros((2 * self.tree.nv, 0))
        used = np.flatnonzero(_there(forced).any(axis=1))
        rounds, count = -(-forced.shape[1] // WIDTH), forced.shape[1]
        wide = np.full((len(used), rounds * WIDTH), 0.0, dtype=object)
        wide[:, :count] = forced[used]
        table = wide.reshape(len(used), rounds, WIDTH).transpose(1, 0, 2).reshape(rounds, -1)
        shared = self._symbols()

        def body(carry: Array, row: Array, held: Array) -> tuple[list[Any], Array]:
            here = np.full((len(forced), WIDTH), 0.0, dtype=object)
            here[used] = row.reshape(len(used), WIDTH)
            value = {s.index: x for s, x in zip(shared, held, strict=True)}
            return [], self._with(value)._led(here).reshape(-1)

        left = sc.scan(body, [], table, tuple(shared))[1]
        return left.reshape(rounds, 2 * self.tree.nv, WIDTH).transpose(1, 0, 2).reshape(-1, rounds * WIDTH)[:, :count]

    def _symbols(self) -> list[sc.Symbol]:
        """All values that columns share."""
        found: dict[int, sc.Symbol] = {}
        for m in self.met:
            inverse = m.inverse
            parts = [inverse.L, np.array(inverse.inverse_D)] if isinstance(inverse, BranchFactor) else [inverse]
            for x in (*parts, *(part[name] for part in (m.slopes, m.felt) for name in self.names if name in part)):
                found |= {s.index: s for s in x.flat if isinstance(s, sc.Symbol)}
        for name in self.names:
            found |= {s.index: s for s in self.ends[name].flat if isinstance(s, sc.Symbol)}
        return [found[k] for k in sorted(found)]

    def _with(self, value: dict[int, Any]) -> Chain:
        """The same with other values in place of the symbols that columns share."""

        def kept(part: dict[str, Array]) -> dict[str, Array]:
            return {name: filled(x, value) if name in self.names else x for name, x in part.items()}

        met = []
        for m in self.met:
            if isinstance(m.inverse, BranchFactor):
                inverse: Any = m.inverse.with_values(lambda x: filled(x, value))
            else:
                inverse = filled(m.inverse, value)
            met.append(m._replace(inverse=inverse, slopes=kept(m.slopes), felt=kept(m.felt)))
        return Chain(self.tree, self.names, met, kept(self.ends))

    def _led(self, forced: Array) -> Array:
        """(1), and (2) without E_x: (q', v') along columns whose effect on residuals, and on contacts, is given."""
        nv, tree = self.tree.nv, self.tree
        parts = [forced[k : k + nv] for k in range(0, len(forced), nv)]
        more = iter(parts[len(self.met) :])
        answers: dict[str, Array] = {}
        for m, right, name in zip(self.met, parts, self.names, strict=False):  # what contacts feel comes behind
            felt = next(more) if m.felt else 0.0
            for before, change in answers.items():
                right = right + m.slopes[before] @ change
                felt = felt + m.felt[before] @ change if m.felt else felt
            answers[name] = m.answer(right) + felt
        out = np.full((2 * nv, forced.shape[1]), 0.0, dtype=object)
        for name, change in answers.items():
            for c in tree:
                for rows in _rows(tree, c):
                    out[rows] = out[rows] + self.ends[name][rows][:, : c.m] @ change[c.v]
        return out


def by_limbs(tree: ClusterTree, forced: Array) -> list[Array]:
    """Columns with forces on one limb alone, limb by limb, then all others; `forced` (places x nv, columns)."""
    limb, there = limbs(tree), _there(forced)
    pushed = np.any(there.reshape(-1, tree.nv, forced.shape[1]), axis=0)
    groups: dict[int, list[int]] = {}
    for k in range(forced.shape[1]):
        on = {limb[c.index] for c in tree if pushed[c.v, k].any()} - {-1}
        groups.setdefault(on.pop() if len(on) == 1 else -1, []).append(k)
    return [np.array(groups[k]) for k in sorted(groups, reverse=True)]


def limbs(tree: ClusterTree) -> list[int]:
    """For every cluster the first one of the limb it belongs to: chains that no other begins from; -1 where some do."""
    children = Counter(c.parent for c in tree)
    branches = set[int]()
    for c in tree:
        if children[c.index] > 1:
            k = c.index
            while k >= 0:
                branches.add(k)
                k = tree.clusters[k].parent
    out: list[int] = []
    for c in tree:
        begins = c.parent < 0 or c.parent in branches
        out.append(-1 if c.index in branches else c.index if begins else out[c.parent])
    return out


def _rows(tree: ClusterTree, c: Cluster) -> tuple[slice, slice]:
    """The rows of a cluster in (q', v')."""
    return c.v, slice(tree.nv + c.v.start, tree.nv + c.v.stop)


def _there(x: Array) -> Array:
    """Which entries are not zero everywhere."""
    return np.array([isinstance(e, sc.Symbol) or e != 0.0 for e in x.flat], dtype=bool).reshape(x.shape)
