"""Small dense systems without symmetry: Gaussian elimination whose pivot rows are chosen while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array

Matrix = list[list[Any]]


def reciprocal(x: Any) -> Any:
    """1 / x; of a number that is zero, infinity instead of an exception."""
    if isinstance(x, sc.Symbol):
        return 1.0 / x
    with np.errstate(all="ignore"):
        return float(np.divide(1.0, x))


def solve(A: Array, B: Array) -> Array:
    """A^-1 B for small square A: Cramer's rule up to 2, elimination with partial pivoting above."""
    n = len(A)
    out: Array
    if n == 1:
        out = B * reciprocal(A[0, 0])
        return out
    if n == 2:
        r = reciprocal(A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0])
        out = np.stack([A[1, 1] * B[0] - A[0, 1] * B[1], A[0, 0] * B[1] - A[1, 0] * B[0]]) * r
        return out
    if A.dtype != object and B.dtype != object:
        try:
            return np.linalg.solve(A, B)
        except np.linalg.LinAlgError:
            return np.full(B.shape, np.nan)
    M: Matrix = [list(row) for row in np.concatenate([A, B], axis=1).astype(object)]
    for _ in _eliminate(M, n):
        pass
    return _substitute_back(M, n)


def determinant(A: Array) -> Any:
    """det A: directly up to 2, above by the elimination of `solve`, whose values it shares."""
    n = len(A)
    if n == 1:
        return A[0, 0]
    if n == 2:
        return A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    if A.dtype != object:
        return float(np.linalg.det(A))
    product: Any = 1.0
    for pivot, swaps in _eliminate([list(row) for row in A], n):
        product = product * pivot
        for swap in swaps:
            product = sc.where(swap, -product, product)
    return product


def largest_inverse_pivot(A: Array) -> Any:
    """max 1 / |pivot| of the elimination of `solve`: infinite or NaN where A is singular."""
    return sc.largest([reciprocal(pivot) for pivot, _ in _eliminate([list(row) for row in A], len(A))])


def _eliminate(M: Matrix, n: int) -> Iterator[tuple[Any, list[Any]]]:
    """Make the left n columns of M unit upper triangular, in place; yields each pivot before dividing by it, and
    which exchanges of rows brought it there."""
    width = len(M[0])
    for j in range(n):
        swaps = []
        for r in range(j + 1, n):
            swap = sc.abs(M[j][j]) < sc.abs(M[r][j])
            top = [sc.where(swap, M[r][c], M[j][c]) for c in range(j, width)]
            low = [sc.where(swap, M[j][c], M[r][c]) for c in range(j, width)]
            M[j][j:], M[r][j:] = top, low
            swaps.append(swap)
        yield M[j][j], swaps
        pivot = reciprocal(M[j][j])
        M[j][j + 1 :] = [x * pivot for x in M[j][j + 1 :]]
        for r in range(j + 1, n):
            M[r][j + 1 :] = [x - M[r][j] * y for x, y in zip(M[r][j + 1 :], M[j][j + 1 :], strict=True)]


def _substitute_back(M: Matrix, n: int) -> Array:
    """The columns of M beyond the n-th, with the unit upper triangular left part solved for."""
    for j in reversed(range(n)):
        for r in range(j):
            M[r][n:] = [x - M[r][j] * y for x, y in zip(M[r][n:], M[j][n:], strict=True)]
    out = np.empty((n, len(M[0]) - n), dtype=object)
    for r in range(n):
        out[r] = M[r][n:]
    return out
