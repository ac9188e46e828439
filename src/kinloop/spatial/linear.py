"""Small symmetric systems, on numbers or symbols: the LDL^T factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.spatial.transform import Array


def gram(S: Array, U: Array) -> Array:
    """`S^T U` where it is known to be symmetric, one triangle."""
    if S.dtype != object and U.dtype != object:
        return S.T @ U
    m = S.shape[1]
    out = np.empty((m, m), dtype=object)
    for a in range(m):
        for b in range(a, m):
            out[a, b] = out[b, a] = S[:, a] @ U[:, b]
    return out


def _reciprocal(x: Any) -> Any:
    if isinstance(x, sc.Symbol):
        return 1.0 / x
    with np.errstate(all="ignore"):
        return np.divide(1.0, x)


class Factor:
    """LDL^T of a symmetric positive definite matrix, with unit lower L."""

    def __init__(self, A: Array) -> None:
        n = len(A)
        L: Any = np.eye(n, dtype=A.dtype if A.dtype == object else float)
        if A.dtype == object:
            L = L.astype(object)
            for i in range(n):
                for j in range(n):
                    L[i, j] = 1.0 if i == j else 0.0
        d: list[Any] = []
        inverse: list[Any] = []
        scaled = L.copy()  # L_ij d_j
        for j in range(n):
            pivot = A[j, j]
            for k in range(j):
                pivot = pivot - L[j, k] * scaled[j, k]
            d.append(pivot)
            inverse.append(_reciprocal(pivot))
            for i in range(j + 1, n):
                e = A[i, j]
                for k in range(j):
                    e = e - L[i, k] * scaled[j, k]
                scaled[i, j] = e
                L[i, j] = e * inverse[j]
        self.L, self.d, self.inverse = L, d, inverse

    def solve(self, B: Array) -> Array:
        """A^-1 B, for a vector or a matrix of columns."""
        n = len(self.d)
        x = [B[i] for i in range(n)]
        for i in range(n):
            for k in range(i):
                x[i] = x[i] - self.L[i, k] * x[k]
        x = [x[i] * self.inverse[i] for i in range(n)]
        return self.backward(np.array(x).reshape(B.shape)) if n else np.zeros(B.shape)

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

    def inverse_matrix(self) -> Array:
        n = len(self.d)
        return self.solve(np.eye(n)) if n else np.zeros((0, 0))

    def log_determinant(self) -> Any:
        total: Any = 0.0
        for d in self.d:
            total = total + sc.log(d)
        return total


def total(parts: list[Array]) -> Array:
    """The sum of arrays; plain numbers first, so that what is constant folds before it meets a symbol."""
    numbers = [p for p in parts if p.dtype != object]
    rest = [p for p in parts if p.dtype == object]
    if len(rest) < 2 and len(numbers) < 2:
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]
    known = sum(numbers[1:], numbers[0]) if numbers else None
    if not rest:
        assert known is not None
        return known
    out = np.empty(rest[0].shape, dtype=object)
    for k in np.ndindex(out.shape):
        constants = [x[k] for x in rest if not isinstance(x[k], sc.Symbol)]
        symbols = [x[k] for x in rest if isinstance(x[k], sc.Symbol)]
        value = (known[k] if known is not None else 0.0) + sum(constants)
        for s in symbols:
            value = value + s
        out[k] = value
    return out
