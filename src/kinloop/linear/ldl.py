"""The factorisation A = L D L^T of a small symmetric matrix, on numbers or symbols, without exchange of rows.

A *pivot rule* says what to divide by where a pivot d_j appears:

- `plain`: the pivot itself, for positive definite matrices;
- `guarded`: for positive semidefinite ones; a row that depends on those before it is given up, x_j = 0;
- `floored`: the pivot, but never less than a part of its usual size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.linear.elimination import reciprocal
from kinloop.scalar import Array


class Pivot(NamedTuple):
    """A pivot as a rule takes it: its value and what to multiply by in place of dividing by it.

    `kept` is false where the row is given up, `weak` is true where the pivot is so small that it costs digits. Both
    may be symbols.
    """

    value: Any
    inverse: Any
    kept: Any = True
    weak: Any = False


PivotRule = Callable[[int, Any, Any], Pivot]
"""(j, the pivot d_j, the entry A_jj) -> the pivot as it is taken."""


def plain(j: int, pivot: Any, diagonal: Any) -> Pivot:
    """Every pivot as it is; of a singular matrix the results are not finite."""
    return Pivot(pivot, reciprocal(pivot))


def guarded(tolerance: float, floors: Sequence[float] | Array | None = None) -> PivotRule:
    """Give up rows whose pivot is below `tolerance` times their entry on the diagonal, or below a row's own floor."""

    def rule(j: int, pivot: Any, diagonal: Any) -> Pivot:
        least = tolerance * diagonal
        good = pivot > (least if floors is None else sc.maximum(least, float(floors[j])))
        return Pivot(pivot, sc.where(good, 1.0 / sc.where(good, pivot, 1.0), 0.0), kept=good)

    return rule


def floored(sizes: Sequence[Any] | Array, least: float, weak: float = 0.0) -> PivotRule:
    """Keep every pivot above `least` times its usual size; call it weak below `weak` times that size."""

    def rule(j: int, pivot: Any, diagonal: Any) -> Pivot:
        size = float(sizes[j])
        small = pivot < weak * size if weak else False
        pivot = sc.maximum(pivot, least * size)
        return Pivot(pivot, 1.0 / pivot, weak=small)

    return rule


class Factor:
    """L D L^T of a symmetric matrix, with unit lower triangular L; `d` and `inverse` are D and D^-1 by entries."""

    def __init__(self, A: Array, rule: PivotRule = plain) -> None:
        n = len(A)
        L = np.full((n, n), 0.0, dtype=object if A.dtype == object else float)
        scaled = L.copy()  # L_ij d_j
        self.pivots: list[Pivot] = []
        for j in range(n):
            L[j, j] = 1.0
            pivot = A[j, j]
            for k in range(j):
                pivot = pivot - L[j, k] * scaled[j, k]
            self.pivots.append(rule(j, pivot, A[j, j]))
            for i in range(j + 1, n):
                e = A[i, j]
                for k in range(j):
                    e = e - L[i, k] * scaled[j, k]
                scaled[i, j] = e
                L[i, j] = e * self.pivots[j].inverse
        self.L = L
        self.d = [p.value for p in self.pivots]
        self.inverse = [p.inverse for p in self.pivots]

    def solve(self, B: Array) -> Array:
        """A^-1 B, for a vector or a matrix of columns."""
        if not self.d:
            return np.zeros(B.shape)
        x = self.forward(B)
        return self.backward(np.array([x[i] * r for i, r in enumerate(self.inverse)]).reshape(B.shape))

    def forward(self, B: Array) -> Array:
        """L^-1 B."""
        x = [B[i] for i in range(len(self.d))]
        for i in range(len(x)):
            for k in range(i):
                x[i] = x[i] - self.L[i, k] * x[k]
        return np.array(x).reshape(B.shape)

    def backward(self, B: Array) -> Array:
        """L^-T B."""
        n = len(self.d)
        x = [B[i] for i in range(n)]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                x[i] = x[i] - self.L[k, i] * x[k]
        return np.array(x).reshape(B.shape)

    def matrix(self) -> Array:
        """L D L^T, multiplied out."""
        return (self.L * np.array(self.d)) @ self.L.T if self.d else np.zeros((0, 0))

    def log_determinant(self) -> Any:
        """log det A."""
        out: Any = 0.0
        for d in self.d:
            out = out + sc.log(d)
        return out

    @property
    def lost(self) -> Any:
        """How many pivots were given up or are weak."""
        count: Any = 0.0
        for p in self.pivots:
            count = count + sc.where(p.kept, 0.0, 1.0) + sc.where(p.weak, 1.0, 0.0)
        return count

    def unmet(self, b: Array) -> Array:
        """The part of b in rows that were given up which the kept rows do not explain."""
        x = self.forward(b)
        return np.array([sc.where(p.kept, 0.0, x[j]) for j, p in enumerate(self.pivots)])
