"""Products that are known to be symmetric: one triangle is computed and mirrored, for symbols half the arithmetic."""

from __future__ import annotations

import numpy as np

from kinloop.scalar import Array


def symmetric_product(a: Array, b: Array) -> Array:
    """`a @ b.T` where the result is known to be symmetric."""
    if a.dtype != object and b.dtype != object:
        product: Array = a @ b.T
        return product
    n = len(a)
    out = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(i, n):
            out[i, j] = out[j, i] = a[i] @ b[j]
    return out


def gram(S: Array, U: Array) -> Array:
    """`S^T U` where the result is known to be symmetric."""
    return symmetric_product(S.T, U.T)


def mirror(a: Array) -> Array:
    """A symmetric matrix from the upper triangle of `a`."""
    if a.dtype != object:
        mean: Array = 0.5 * (a + a.T)
        return mean
    out = a.copy()
    for i in range(len(a)):
        for j in range(i):
            out[i, j] = a[j, i]
    return out
