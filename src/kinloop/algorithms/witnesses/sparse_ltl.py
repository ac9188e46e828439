"""The factorisation H = L^T L of a joint-space inertia, which keeps the zeros of a tree.  [Featherstone2005]

H_ij is zero where neither of two velocities lies on the other's path to the world, and so is L_ij: all loops
run along paths, and no entry is filled in.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinloop import scalar as sc
from kinloop.scalar import Array


class SparseLTL:
    """H = L^T L with L lower triangular, where only entries on a velocity's path to the world are touched."""

    def __init__(self, H: Array, parents: Sequence[int]) -> None:
        L = H.copy()
        self.parents = list(parents)
        for k in reversed(range(len(parents))):
            L[k, k] = sc.sqrt(L[k, k])
            scale = 1.0 / L[k, k]
            i = self.parents[k]
            while i >= 0:
                L[k, i] = L[k, i] * scale
                i = self.parents[i]
            i = self.parents[k]
            while i >= 0:
                j = i
                while j >= 0:
                    L[i, j] = L[i, j] - L[k, i] * L[k, j]
                    j = self.parents[j]
                i = self.parents[i]
        self.L = L

    def solve_lower(self, B: Array) -> Array:
        """L^-T B."""
        X = B.astype(object) if self.L.dtype == object else B.astype(float)
        X = X.copy()
        for k in reversed(range(len(self.parents))):
            X[k] = X[k] * (1.0 / self.L[k, k])
            i = self.parents[k]
            while i >= 0:
                X[i] = X[i] - self.L[k, i] * X[k]
                i = self.parents[i]
        return X

    def solve_upper(self, B: Array) -> Array:
        """L^-1 B."""
        X = B.copy()
        for k in range(len(self.parents)):
            i = self.parents[k]
            while i >= 0:
                X[k] = X[k] - self.L[k, i] * X[i]
                i = self.parents[i]
            X[k] = X[k] * (1.0 / self.L[k, k])
        return X
