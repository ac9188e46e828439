"""The factorisation M = L^T D L of the mass matrix, which keeps the zeros of a tree, and solutions that use them.

M_kj is zero where neither of two velocities lies on the other's path to the world, and so is L_kj: nothing is filled in
[Featherstone2005]. To solve M x = b is to go inward, z = D^-1 L^-T b, and outward, x_k = z_k - sum_j L_kj x_j over the
path of k. A column b that is zero on a whole branch leaves z zero there. Such a branch only follows the velocities it
hangs on,

    x_k = sum_j R_kj x_j,    R_kj = -L_kj - sum_i L_ki R_ij,    j below the branch, i on the way from it to k,      (1)

with R shared by all columns that leave the branch alone. Derivation: docs/algorithms/derivatives.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array


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

    def solve(self, b: Array) -> Array:
        """x (n,) with M x = b."""
        n, z = len(b), list(b)
        for k in reversed(range(n)):
            if not _zero(z[k]):
                for i in self.paths[k]:
                    z[i] = z[i] - self.L[k, i] * z[k]
                z[k] = z[k] * self.inverse_D[k]
        x = np.full(n, 0.0, dtype=np.result_type(b, self.L))
        begins = [-1] * n  # where the branch without forces that k belongs to begins
        for k, p in enumerate(self.parents):
            if _zero(z[k]):
                begins[k] = begins[p] if p >= 0 and begins[p] >= 0 else k
            gains = self._follow(begins[k] if begins[k] >= 0 else k, k)
            x[k] = _sum(z[k], (gain * x[j] for j, gain in gains.items()))
        return x

    def inverse(self) -> Array:
        """M^-1 (n, n), row by row outward: beyond its diagonal a row only follows those of its path."""
        n = len(self.parents)
        X = np.full((n, n), 0.0, dtype=self.L.dtype)
        for k in range(n):
            gains = self._follow(k, k)
            for i in range(k):
                apart = [j for j in (k, *self.paths[k]) if j != i and j not in self.paths[i] and self.branches[j]]
                follow = self._follow(apart[-1], k) if apart else gains
                X[k, i] = X[i, k] = _sum(0.0, (gain * X[j, i] for j, gain in follow.items()))
            X[k, k] = _sum(self.inverse_D[k], (gain * X[j, k] for j, gain in gains.items()))
        return X

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


def _zero(x: Any) -> bool:
    return not isinstance(x, sc.Symbol) and x == 0


def _sum(total: Any, parts: Iterable[Any]) -> Any:
    for x in parts:
        total = total + x
    return total
