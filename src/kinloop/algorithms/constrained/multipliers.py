"""Multipliers of L lambda = r where rows of L may depend on others: the shortest ones, or least squares.

With B rows that are independent and D the others, which are C times them, C = L_DB L_BB^-1:

    lambda_B = L_BB^-1 r_B,   r_D - C r_B = 0 or the constraints conflict                     (1)
    z = (1 + C C^T)^-1 C lambda_B,   lambda = (lambda_B - C^T z, z)   is the shortest          (2)
    r_B + C^T (1 + C C^T)^-1 (r_D - C r_B)   is the nearest right side that has a solution     (3)

(3) is where proximal iterations lambda += (L + mu)^-1 (r - L lambda) take the motion. Along a motion of the robot
the rows turn, J_D = C J_B, and so does what is the shortest:

    z' = (1 + C C^T)^-1 (C lambda_B' + C' lambda_B),   C' lambda_B = (J_D' - C J_B') M^-1 J_B^T L_BB^-1 lambda_B  (4)

with lambda_B' = L_BB^-1 r_B' and, as the last factor of C' lambda_B, the rows B of the shortest lambda.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.linear import Factor, gram, guarded
from kinloop.scalar import Array

DEPENDENT = 1e-12
"""A pivot below this part of its diagonal entry belongs to a row that depends on those before it."""
ROUNDING = 1e-20
"""A diagonal entry of L below this part of what it could be is rounding: the square of 1e-10 in the row itself."""
ROUNDING_OF_DIFFERENCES = 1e-13
"""The same where L is a difference of matrices: what cancels leaves rounding of the size of L, not of its root's."""
SINGULAR = 1e-8
"""A pivot below this part of its usual size is not divided by: this part of it takes its place."""
TIE = 1e-6
"""Pivots that differ by less than this part are equal: ties go to the first row, whatever rounding says."""


class RowPlan(NamedTuple):
    """What solvers know of rows before they are traced: those that depend on others, and the usual diagonal of L."""

    dependent: tuple[int, ...]
    sizes: tuple[float, ...]


def rank_rows(
    L: Array, size: Array | float = 0.0, tolerance: float = DEPENDENT, rounding: float = ROUNDING
) -> tuple[list[int], list[int]]:
    """Rows of numbers L in the order a pivoted Cholesky factorisation takes them, and those that depend on them.

    `size` is what a row's diagonal entry could be; a pivot below `rounding` times that is nothing.
    """
    d = np.diag(L).astype(float)
    floor = rounding * np.broadcast_to(size, d.shape)
    scale = np.where(d > floor, 1.0 / np.sqrt(np.maximum(d, 1e-300)), 0.0)
    A = L * np.outer(scale, scale)
    kept: list[int] = []
    left = list(range(len(L)))
    while left:
        pivots = np.array([A[j, j] if A[j, j] * d[j] > floor[j] else 0.0 for j in left])
        best = int(np.flatnonzero(pivots >= pivots.max() * (1 - TIE))[0])
        if not pivots[best] > tolerance:
            break
        j = left.pop(best)
        kept.append(j)
        A = A - np.outer(A[:, j], A[j]) / A[j, j]
    return kept, left


class RowSolver:
    """L of all rows, ready to be solved with: `kept` are the rows B, `dependent` the rows D, `CT` is C^T."""

    def __init__(
        self,
        L: Array,
        dependent: Sequence[int] | None = None,
        size: Array | Sequence[float] | float = 0.0,
        tolerance: float = DEPENDENT,
        rounding: float = ROUNDING,
    ) -> None:
        """On numbers dependent rows are found (`size`, `tolerance` and `rounding` as in `rank_rows`).

        On symbols they are the given ones, and of the others those are given up that a state leaves no more than
        `rounding` of their size.
        """
        n = len(L)
        if dependent is None:
            B, D = rank_rows(L, np.asarray(size), tolerance, rounding)
        else:
            B, D = [j for j in range(n) if j not in dependent], list(dependent)
        floors = None if dependent is None or np.ndim(size) == 0 else rounding * np.asarray(size)[B]
        self.kept, self.dependent = B, D
        self.factor = Factor(L[np.ix_(B, B)], guarded(DEPENDENT, floors))
        if D:
            self.CT = self.factor.solve(L[np.ix_(B, D)]) if B else np.zeros((0, len(D)))
            self._unit = Factor(np.eye(len(D)) + gram(self.CT, self.CT) if B else np.eye(len(D)))

    def solve(self, r: Array, least_squares: bool = False) -> tuple[Array, Array]:
        """(1)-(3): multipliers, and the part of r that no multiplier reaches."""
        B, D, factor = self.kept, self.dependent, self.factor
        dtype = object if sc.is_symbolic(r, factor.L) else float
        multipliers, residual = np.zeros(len(r), dtype=dtype), np.zeros(len(r), dtype=dtype)
        residual[B] = factor.unmet(r[B]) if B else np.zeros(0)
        if not D:
            multipliers[B] = factor.solve(r[B])
            return multipliers, residual
        left = r[D] - self.CT.T @ r[B]
        residual[D] = left
        if least_squares:
            back = self._unit.solve(left)
            residual[B], residual[D] = -(self.CT @ back), back
            r = r - residual
        return self.shortest(factor.solve(r[B]) if B else np.zeros(0)), residual

    def shortest(self, solved: Array, turned: Array | float = 0.0) -> Array:
        """(2) from multipliers of the rows B alone; of changes of multipliers, with `turned` from (4)."""
        out = np.zeros(len(self.kept) + len(self.dependent), dtype=object if sc.is_symbolic(solved, turned) else float)
        if not self.dependent:
            out[self.kept] = solved
            return out
        z = self._unit.solve(turned + self.CT.T @ solved if self.kept else turned + np.zeros(len(self.dependent)))
        out[self.kept], out[self.dependent] = solved - self.CT @ z, z
        return out


def solve_rows(
    L: Array,
    r: Array,
    dependent: Sequence[int] | None = None,
    least_squares: bool = False,
    size: Array | Sequence[float] | float = 0.0,
    tolerance: float = DEPENDENT,
    rounding: float = ROUNDING,
) -> tuple[Array, Array, Any]:
    """(1)-(3): multipliers, the part of r that no multiplier reaches, and the number of rows lost unforeseen."""
    if len(L) == 0:
        return np.zeros(0), np.zeros(0), 0.0
    rows = RowSolver(L, dependent, size, tolerance, rounding)
    return *rows.solve(r, least_squares), rows.factor.lost


def null_rows(L: Array, dependent: Sequence[int]) -> Array:
    """Columns x with L x = 0, one for every dependent row."""
    n, D = len(L), list(dependent)
    B = [j for j in range(n) if j not in D]
    N = np.full((n, len(D)), 0.0, dtype=L.dtype)
    if B:
        N[B] = -Factor(L[np.ix_(B, B)], guarded(DEPENDENT)).solve(L[np.ix_(B, D)])
    for column, j in enumerate(D):
        N[j, column] = 1.0
    return N
