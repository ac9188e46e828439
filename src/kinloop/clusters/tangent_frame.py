"""Tangent frames: a basis of the motions that a cluster's loops allow, without naming coordinates.

A chart names independent coordinates, and fails where these stop determining the motion (a dead centre). A tangent
frame names none. With coordinates measured in their own scales, y = qd / s, it takes the loops one by one. N is a basis
of what the loops so far allow, N = 1 before the first; for the rows K_p of the next loop

    K_p N = [L 0] Q^T,      N Q = [F  N'],      N' the basis after this loop                                      (1)

with Q orthogonal and L lower triangular. F are the motions which this loop forbids and the loops before it allow. The
smallest solution of K x = b follows on the way,

    x -> x + F L^-1 (b_p - K_p x)                                                                                 (2)

and N stays orthonormal, so that v = N^T y are coordinates of any velocity. The diagonal of L says how far this loop is
from losing rank: each loop is judged by itself, and nothing else makes (1) ill-conditioned. Only the columns of N which
a loop touches are turned; the order of work is the same at all configurations, so that (1) can be traced.
docs/algorithms/tangent_frames.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.charts import Chart
from kinloop.scalar import Array

TINY = 1e-150
"""Added to lengths that are divided by: at an exactly singular configuration directions are zero, not undefined."""


class LoopTurn(NamedTuple):
    """What one loop adds: its rank, its rows, and the columns of N they touch.

    There are more rows than rank where the best ones are chosen on the way.
    """

    rank: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]


class Reduced(NamedTuple):
    """The frame at a configuration: G = s N (n, m), the smallest x with K x = b, and |L_jj| of all rows kept."""

    G: Array
    x: Array
    pivots: list[Any]


@dataclass(frozen=True)
class TangentFrame(Chart):
    """A frame of a cluster's n coordinates: their scales, the loops in order, the usual sizes of the pivots.

    It serves wherever a chart does. Its independent velocities are not those of any coordinates.
    """

    scale: Array
    loops: tuple[LoopTurn, ...]
    typical: tuple[float, ...] = ()

    @staticmethod
    def of(scale: Array, loops: Sequence[LoopTurn]) -> TangentFrame:
        """A frame of coordinates with these scales."""
        n, rank = len(scale), sum(loop.rank for loop in loops)
        rows = tuple(r for loop in loops for r in loop.rows)
        return TangentFrame(n, rows, (), tuple(range(n - rank)), (), scale, tuple(loops))

    @property
    def key(self) -> tuple[Any, ...]:
        """What its kernels depend on."""
        return self.n, tuple(map(float, self.scale)), tuple(map(tuple, self.loops)), self.typical

    def embed(self, K: Array, k: Array | None = None) -> tuple[Array, Array | None]:
        """G (n, m) with qd = G v, and g (n,) with qdd = G a + g where the bias k is given."""
        found = self.reduce(K, k)
        return found.G, (None if k is None else found.x)

    def correction(self, K: Array, phi: Array) -> Array:
        """The smallest step (n,) that removes phi to first order."""
        return self.reduce(K, -phi).x

    def coordinates(self, qd: Array, G: Array) -> Array:
        """The velocities v (m,) whose motion G v is nearest to qd."""
        v: Array = (G / (self.scale * self.scale)[:, None]).T @ qd
        return v

    def nearness(self, found: Sequence[Any]) -> Any:
        """The smallest pivot in units of its usual size: zero where a loop loses rank."""
        smallest: Any = 1.0
        for x, usual in zip(found, self.typical, strict=True):
            smallest = sc.minimum(smallest, x * (1.0 / usual))
        return smallest

    def reduce(self, K: Array, b: Array | None = None) -> Reduced:
        """(1) and (2) at one configuration, on numbers or symbols."""
        K = K * self.scale
        N = np.zeros((self.n, self.n), dtype=object) + 0.0
        N[np.diag_indices(self.n)] = 1.0
        live, x = list(range(self.n)), np.zeros(self.n, dtype=object) + 0.0
        found: list[Any] = []
        for rank, rows, columns in self.loops:
            A = np.array([[_dot(K[r], N[:, j]) for j in columns] for r in rows], dtype=object)
            rest = [0.0 if b is None else b[r] - _dot(K[r], x) for r in rows]
            turn = _cross_product if A.shape == (2, 3) and rank == 2 else _reflections
            step, size = turn(A, rest, N, list(columns), rank)
            x, found = x + step, found + size
            live = [j for j in live if j not in columns[:rank]]
        return Reduced(plain(N[:, live] * self.scale[:, None]), plain(self.scale * x), found)


def _cross_product(A: Array, rest: list[Any], N: Array, columns: list[int], rank: int) -> tuple[Array, list[Any]]:
    """Two rows over three columns, as of every flat loop: what is left is their cross product."""
    n = _cross(A[0], A[1])
    square = _dot(n, n)
    length = sc.sqrt(square)
    step = _cross(rest[0] * A[1] - rest[1] * A[0], n) * (1.0 / (square + TINY * TINY))
    out = _combined(N, columns, step)
    N[:, columns[2]] = _combined(N, columns, n * (1.0 / (length + TINY)))
    return out, [length]


def _reflections(A: Array, rest: list[Any], N: Array, columns: list[int], rank: int) -> tuple[Array, list[Any]]:
    """Householder's reflections, row by row; the largest row first where there are more rows than rank."""
    turns: list[tuple[Array, Any]] = []
    for a in range(rank):
        if len(A) > rank:
            _largest_first(A, rest, a)
        w, factor, diagonal = _reflection(A[a, a:])
        for c in range(a + 1, len(A)):
            A[c, a:] = A[c, a:] - w * (factor * _dot(A[c, a:], w))
        A[a, a] = diagonal
        turns.append((np.array([*[0.0] * a, *w], dtype=object), factor))
    z: list[Any] = []
    for a in range(rank):
        left = rest[a]
        for c in range(a):
            left = left - A[a, c] * z[c]
        z.append(left * A[a, a] * (1.0 / (A[a, a] * A[a, a] + TINY * TINY)) if _there(left) else 0.0)
    units = np.eye(len(columns))[rank:]
    smallest = np.array([*z, *[0.0] * len(units)], dtype=object)
    step, *kept = _turned(N, columns, turns, [smallest, *units])
    for j, column in zip(columns[rank:], kept, strict=True):
        N[:, j] = column
    return step, [sc.abs(A[a, a]) for a in range(rank)]


def _turned(N: Array, columns: list[int], turns: list[tuple[Array, Any]], vectors: Sequence[Any]) -> list[Array]:
    """N Q y for vectors y over the columns, Q = Q_1 Q_2 ... of the reflections Q_k = 1 - c_k w_k w_k^T.

    Q y = y - t_1 w_1 - t_2 w_2 - ..., from the last on t_k = c_k w_k . (y - t_k+1 w_k+1 - ...): products of the w_k
    with each other and with N serve all y.
    """
    along = [_combined(N, columns, w) for w, _ in turns]
    out = []
    for y in vectors:
        found = _combined(N, columns, np.array(y, dtype=object))
        t: dict[int, Any] = {}
        for k in reversed(range(len(turns))):
            w, factor = turns[k]
            part = _dot(w, y)
            for m, other in t.items():
                part = part - other * _dot(w, turns[m][0])
            t[k] = factor * part
            found = found - t[k] * along[k]
        out.append(found)
    return out


def _largest_first(A: Array, rest: list[Any], a: int) -> None:
    """Exchange rows a, a + 1, ... so that the one which is longest beyond column a comes first."""
    size = _dot(A[a, a:], A[a, a:])
    for c in range(a + 1, len(A)):
        other = _dot(A[c, a:], A[c, a:])
        swap = size < other
        pairs = [(A[a, j], A[c, j]) for j in range(A.shape[1])] + [(rest[a], rest[c])]
        first = [sc.where(swap, y, x) for x, y in pairs]
        second = [sc.where(swap, x, y) for x, y in pairs]
        A[a], rest[a], A[c], rest[c] = first[:-1], first[-1], second[:-1], second[-1]
        size = sc.where(swap, other, size)


def _reflection(a: Array) -> tuple[Array, Any, Any]:
    """w, c and d with (1 - c w w^T) a = d e_1."""
    square = _dot(a, a)
    length = sc.sqrt(square)
    below = a[0] < 0.0
    w = a.copy()
    w[0] = sc.where(below, a[0] - length, a[0] + length)
    # w . w / 2 = |a|^2 + |a_1| |a|
    return w, 1.0 / (square + sc.abs(a[0]) * length + TINY * TINY), sc.where(below, length, -length)


def _combined(N: Array, columns: list[int], z: Array) -> Array:
    return np.array([_dot(N[i, columns], z) for i in range(len(N))], dtype=object)


def _cross(a: Array, b: Array) -> Array:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], dtype=object)


def _dot(a: Array, b: Array) -> Any:
    """a . b without the entries that are zero everywhere."""
    out: Any = 0.0
    for x, y in zip(a, b, strict=True):
        if _there(x) and _there(y):
            out = out + x * y
    return out


def _there(x: Any) -> bool:
    return isinstance(x, sc.Symbol) or x != 0.0


def plain(x: Array) -> Array:
    """Objects as floats, unless symbols are among them."""
    return x if any(isinstance(e, sc.Symbol) for e in x.flat) else x.astype(float)
