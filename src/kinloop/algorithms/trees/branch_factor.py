"""The factorisation M = L^T D L of the mass matrix, which keeps the zeros of a tree, and solutions that use them.

M_kj is zero where neither of two velocities lies on the other's path to the world, and so is L_kj: nothing is filled in
[Featherstone2005]. To solve M x = b is to go inward, z = D^-1 L^-T b, and outward, x_k = z_k - sum_j L_kj x_j over the
path of k. A column b that is zero on a whole branch leaves z zero there. Such a branch only follows the velocities it
hangs on,

    x_k = sum_j R_kj x_j,    R_kj = -L_kj - sum_i L_ki R_ij,    j below the branch, i on the way from it to k,      (1)

with R shared by all columns that leave the branch alone. Derivation: docs/algorithms/derivatives.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array

ENOUGH = 8  # columns that are solved together at least: they fill a vector register


def velocity_parents(tree: ClusterTree) -> list[int]:
    """For every independent velocity the next one towards the world, -1 at the end."""
    out: list[int] = []
    last: dict[int, int] = {-1: -1}
    for c in tree:
        before = last[c.parent]
        for d in range(c.v.start, c.v.stop):
            out.append(before)
            before = d
        last[c.index] = before
    return out


class BranchFactor:
    """L, with unit diagonal, and the reciprocals of D."""

    def __init__(self, M: Array, parents: Sequence[int]) -> None:
        n = len(parents)
        self.parents = list(parents)
        self.paths: list[list[int]] = []
        for p in parents:
            self.paths.append([p, *self.paths[p]] if p >= 0 else [])
        self.branches = [parents.count(p) > 1 for p in parents]
        self.L: Array = M.copy()
        self.inverse_D: list[Any] = [0.0] * n
        self._followed: dict[tuple[int, int], dict[int, Any]] = {}
        for k in reversed(range(n)):
            self.inverse_D[k] = 1.0 / self.L[k, k]
            for i in self.paths[k]:
                gain = self.L[k, i] * self.inverse_D[k]
                for j in (i, *self.paths[i]):
                    self.L[i, j] = self.L[i, j] - gain * self.L[k, j]
                self.L[k, i] = gain

    def with_values(self, other: Callable[[Array], Array]) -> BranchFactor:
        """The same factors with other values: what `other` makes of arrays of them."""
        out = copy(self)
        out.L, out.inverse_D, out._followed = other(self.L), list(other(np.array(self.inverse_D))), {}
        return out

    def solve(self, b: Array, sign: float = 1.0) -> Array:
        """x with M x = sign b, for one column (n,) or many (n, columns).

        Columns with forces at the same velocities, as those of a leg are, are solved together, row by row.
        """
        if b.ndim == 1:
            return self.solve(b[:, None], sign)[:, 0]
        x = np.full(b.shape, 0.0, dtype=np.result_type(b, self.L))
        forced = self._forced(b)
        for here in _together(forced):
            x[:, here] = self._outward(self._inward(sign * b[:, here], forced[:, here]), forced[:, here])
        return x

    def _forced(self, b: Array) -> Array:
        """Where D^-1 L^-T b is not zero."""
        out = np.array([isinstance(x, sc.Symbol) or x != 0 for x in b.flat], dtype=bool).reshape(b.shape)
        for k in reversed(range(len(b))):
            out[self.paths[k]] |= out[k]
        return out

    def _inward(self, b: Array, forced: Array) -> Array:
        """D^-1 L^-T b."""
        z, n = b.copy(), len(b)
        for i in reversed(range(n)):
            beyond = [k for k in reversed(range(i + 1, n)) if i in self.paths[k]]
            for here in _alike(forced[[i, *beyond]]):
                for k in beyond:
                    if forced[k, here.start]:
                        z[i, here] = z[i, here] - self.L[k, i] * z[k, here]
        return np.array(self.inverse_D)[:, None] * z

    def _outward(self, z: Array, forced: Array) -> Array:
        """L^-1 z; branches where z is zero follow what they hang on."""
        x, moves = np.full(z.shape, 0.0, dtype=z.dtype), forced.copy()
        begins = np.full(z.shape, -1)  # where the branch without forces that a row belongs to begins
        for k, p in enumerate(self.parents):
            below = begins[p] if p >= 0 else begins[k]
            begins[k] = np.where(forced[k], -1, np.where(below >= 0, below, k))
            for here in _alike(np.vstack([begins[k], moves[self.paths[k]]])):
                begin = int(begins[k, here.start])
                gains = self._follow(begin if begin >= 0 else k, k)
                parts = [gain * x[j, here] for j, gain in gains.items() if moves[j, here.start]]
                moves[k, here] = begin < 0 or len(parts) > 0
                x[k, here] = _sum(z[k, here] if begin < 0 else 0.0, parts)
        return x

    def inverse(self) -> Array:
        """M^-1 (n, n), row by row outward: beyond its diagonal a row only follows those of its path."""
        n = len(self.parents)
        X = np.full((n, n), 0.0, dtype=self.L.dtype)
        for k in range(n):
            follow = np.array([self._apart(k, i) for i in range(k)], dtype=int)
            for here in _alike(follow[None]):
                gains = self._follow(int(follow[here.start]), k)
                row = _sum(0.0, [gain * X[j, here] for j, gain in gains.items()])
                X[k, here] = X[here, k] = row
            gains = self._follow(k, k)
            X[k, k] = _sum(self.inverse_D[k], [gain * X[j, k] for j, gain in gains.items()])
        return X

    def _apart(self, k: int, i: int) -> int:
        """Where the branch with k, but without i, begins; k itself where i is on its path."""
        apart = [j for j in (k, *self.paths[k]) if j != i and j not in self.paths[i] and self.branches[j]]
        return apart[-1] if apart else k

    def _follow(self, branch: int, k: int) -> dict[int, Any]:
        """(1): R_kj by j, for the branch that begins at a velocity; those next to the world come first.

        What comes last in a sum is what was computed last: a sum then waits for one product, not for all.
        """
        key = branch, k
        if key not in self._followed:
            out = {j: -self.L[k, j] for j in reversed(self.paths[branch])}
            for i in reversed(self.paths[k]):
                if i >= branch:
                    between = self._follow(branch, i)
                    out = {j: out[j] - self.L[k, i] * between[j] for j in out}
            self._followed[key] = out
        return self._followed[key]


def _together(forced: Array) -> list[Array]:
    """Columns to be solved together: those with the same forces, with their like until they are enough."""
    order = np.lexsort(forced) if forced.size else np.arange(0)
    out: list[list[int]] = [[]]
    for here in _alike(forced[:, order]):
        if len(out[-1]) >= ENOUGH:
            out.append([])
        out[-1] += order[here].tolist()
    return [np.array(columns, dtype=int) for columns in out]


def _alike(keys: Array) -> list[slice]:
    """Neighbouring columns that are equal."""
    changes = np.flatnonzero(np.any(keys[:, 1:] != keys[:, :-1], axis=0)) + 1
    ends = [0, *changes.tolist(), keys.shape[1]]
    return [slice(a, b) for a, b in pairwise(ends) if a < b]


def _sum(total: Any, parts: Iterable[Any]) -> Any:
    for x in parts:
        total = total + x
    return total
