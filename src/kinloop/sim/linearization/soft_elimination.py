"""Linear systems K x = r that may be singular: rows of contacts that depend on each other.

A foot on four corners has twelve rows of which six are independent. Its equations agree with each other, so that the
motion they lead to is determined, the impulses are not. Of a softened matrix,

    x -> x + (K + e D)^-1 (r - K x),        D the usual sizes of the diagonal                                   (1)

leaves a part (e / (k + e)) of the error in a direction with the relative eigenvalue k, and nothing where k = 0 and the
equations agree. Three rounds take the error of directions with k = 1e-6 to 1e-12. What (1) leaves of r tells where
equations do not agree. Elimination needs no exchange of rows: the symmetric part of K is positive where nothing slides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.scalar import Array

SOFT = 1e-11
"""e of (1)."""

ROUNDS = 2
"""How often (1) is applied."""


class Elimination:
    """The triangular factors of K + e D, for a matrix K (n, n) and the usual sizes (n,) of its diagonal."""

    def __init__(self, K: Array, sizes: Array) -> None:
        self.K, n = K, len(K)
        U: list[list[Any]] = [list(row) for row in K]
        for k in range(n):
            U[k][k] = U[k][k] + SOFT * sizes[k]
        self.inverse: list[Any] = []
        for j in range(n):
            self.inverse.append(1.0 / U[j][j])
            for i in range(j + 1, n):
                gain = U[i][j] * self.inverse[j]
                for c in range(j + 1, n):
                    U[i][c] = U[i][c] - gain * U[j][c]
                U[i][j] = gain
        self.U = U

    def solve(self, r: Array, rounds: int = ROUNDS) -> Array:
        """x by (1), for a vector or a matrix of columns."""
        x = self._once(r)
        for _ in range(rounds - 1):
            x = x + self._once(r - self.K @ x)
        return x

    def solve_left(self, w: Array, rounds: int = ROUNDS) -> Array:
        """Rows x with x K = w, for a matrix w (m, n), by (1) from the left."""
        x = self._once_left(w)
        for _ in range(rounds - 1):
            x = x + self._once_left(w - x @ self.K)
        return x

    def _once_left(self, w: Array) -> Array:
        n = len(self.inverse)
        y: list[Any] = [w[:, k] for k in range(n)]
        for j in range(n):
            for i in range(j):
                y[j] = y[j] - y[i] * self.U[i][j]
            y[j] = y[j] * self.inverse[j]
        for j in reversed(range(n)):
            for i in range(j + 1, n):
                y[j] = y[j] - y[i] * self.U[i][j]
        return np.stack(y, axis=1)

    def _once(self, r: Array) -> Array:
        n = len(self.inverse)
        y: list[Any] = [r[k] for k in range(n)]
        for i in range(n):
            for j in range(i):
                y[i] = y[i] - self.U[i][j] * y[j]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                y[i] = y[i] - self.U[i][j] * y[j]
            y[i] = y[i] * self.inverse[i]
        return np.array(y).reshape(r.shape)
