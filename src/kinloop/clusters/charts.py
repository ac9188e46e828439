"""Charts: which coordinates of a cluster are independent, and how the others follow.

With rows K qd = 0 split into dependent and independent columns, K_d qd_d = -K_i qd_i gives

    G = [ -K_d^-1 K_i ; 1 ],   g = [ K_d^-1 k ; 0 ].            [Jain2009, (20)]

Rows may be redundant; a chart keeps as many as there are dependent coordinates. The choice of rows and
columns is made once, by pivoted orthogonalisation at closed configurations; K_d is brought to block
triangular form, so that gears cost nothing and loops are solved one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinloop.clusters.grouping import strongly_connected
from kinloop.linear import solve
from kinloop.scalar import Array

Blocks = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""Rows paired with the columns they fix, in the order in which they can be solved."""

RANK_TOLERANCE = 1e-4
"""Singular values of weighted rows below this are redundancy that files print with few digits, not freedom lost."""

USABLE = 1e-6
"""Smallest singular value, of weighted rows, of a chart that can be used at all."""

TIE = 1e-9
"""Relative difference below which two candidates count as equal, so that rounding does not choose between them."""

DIRECTION = 1e-9
"""A column adds rank if this much of its unit length is left outside the others."""

TINY = 1e-300
"""Keeps a division by what may be zero defined."""


@dataclass(frozen=True)
class Chart:
    """Rows kept, and the split of a cluster's n coordinates; `blocks` pairs rows with the columns they fix."""

    n: int
    rows: tuple[int, ...]
    dependent: tuple[int, ...]
    independent: tuple[int, ...]
    blocks: Blocks

    def embed(self, K: Array, k: Array | None = None) -> tuple[Array, Array | None]:
        """G (n, m) with qd = G v, and g (n,) with qdd = G a + g where the bias k is given."""
        m = len(self.independent)
        right = -K[:, list(self.independent)]
        if k is not None:
            right = np.concatenate([right, k.reshape(-1, 1)], axis=1)
        dtype = object if right.dtype == object or K.dtype == object else float
        solution = np.zeros((self.n, right.shape[1]), dtype=dtype)
        done: list[int] = []
        for rows, columns in self.blocks:
            r, c = list(rows), list(columns)
            b = right[r]
            if done:
                b = b - K[np.ix_(r, done)] @ solution[done]
            solution[c] = solve(K[np.ix_(r, c)], b)
            done += c
        for column, i in enumerate(self.independent):
            solution[i, column] = 1.0
        return solution[:, :m], (solution[:, m] if k is not None else None)

    def correction(self, K: Array, phi: Array) -> Array:
        """The step (n,) of the dependent coordinates that removes phi to first order."""
        step = self.embed(K, -phi)[1]
        assert step is not None
        step = step.copy()
        step[list(self.independent)] = 0.0
        return step

    def coordinates(self, qd: Array, G: Array) -> Array:
        """The independent part (m,) of a cluster's spanning velocity."""
        return qd[list(self.independent)]


def pivots(A: Array, rank: int) -> list[int]:
    """The columns that a pivoted orthogonalisation takes first."""
    A = A.astype(float).copy()
    chosen: list[int] = []
    for _ in range(rank):
        norms = np.linalg.norm(A, axis=0)
        norms[chosen] = -1.0
        # ties go to the first column, whatever rounding says
        k = int(np.flatnonzero(norms >= norms.max() * (1 - TIE))[0])
        chosen.append(k)
        if norms[k] > 0:
            u = A[:, k] / norms[k]
            A = A - np.outer(u, u @ A)
            A[:, chosen] = 0.0
    return chosen


def rank_of(K: Array) -> int:
    """Numerical rank of weighted rows (`sampling.row_weights`)."""
    return int(np.sum(np.linalg.svd(K, compute_uv=False) > RANK_TOLERANCE)) if K.size else 0


def choose(
    samples: Sequence[Array],
    preferred: Sequence[int],
    dependents: Sequence[int] | None = None,
    exact: Sequence[int] = (),
    pattern: Array | None = None,
) -> Chart | None:
    """The chart that stays best conditioned over sample Jacobians, weighted, at closed configurations.

    `preferred` columns become dependent first (couplings name them); `dependents` fixes them all.
    Rows in `exact` (couplings) are as good as any whatever their ratio. `pattern` tells which entries of K
    are anything but zero everywhere; without it all may be. None where the wish cannot be met.
    """
    n = samples[0].shape[1]
    rank = max((rank_of(K) for K in samples), default=0)
    pattern = np.ones(samples[0].shape, dtype=bool) if pattern is None else pattern
    candidates = [tuple(sorted(dependents))] if dependents is not None else []
    if dependents is None:
        for K in samples:
            found = _dependents(K, rank, n, list(preferred))
            if found is not None and found not in candidates:
                candidates.append(found)
    best: tuple[float, Chart] | None = None
    for columns in candidates:
        if len(columns) != rank:
            continue
        blocks = [_dependent_rows(K, columns, exact) for K in samples]
        for rows in sorted({tuple(sorted(pivots(A.T, rank))) for A in blocks}):
            smallest = [_smallest(A[list(rows)]) for A in blocks]
            score = float(np.mean(np.log(np.array(smallest) + 1e-12)))
            if max(smallest) > USABLE and (best is None or score > best[0] + TIE):
                best = score, make_chart(n, rows, columns, pattern)
    return best[1] if best else None


def _dependent_rows(K: Array, columns: Sequence[int], exact: Sequence[int]) -> Array:
    """Dependent columns; a coupling's row is scaled to unit length in these columns alone."""
    A = K[:, list(columns)].copy()
    for r in exact:
        A[r] /= max(float(np.linalg.norm(A[r])), TINY)
    return A


def _smallest(A: Array) -> float:
    return float(np.linalg.svd(A, compute_uv=False)[-1]) if A.size else 1.0


def _dependents(K: Array, rank: int, n: int, preferred: list[int]) -> tuple[int, ...] | None:
    """Dependent columns at one configuration: preferred ones while they add rank, then the best others."""
    chosen: list[int] = []
    for c in preferred:
        if _smallest_of_columns(K, [*chosen, c]) > DIRECTION and len(chosen) < rank:
            chosen.append(c)
    rest = [c for c in range(n) if c not in chosen]
    if chosen:
        basis, _ = np.linalg.qr(K[:, chosen])
        reduced = K[:, rest] - basis @ (basis.T @ K[:, rest])
    else:
        reduced = K[:, rest]
    if len(rest) < rank - len(chosen):
        return None
    chosen += [rest[k] for k in pivots(reduced, rank - len(chosen))]
    return tuple(sorted(chosen))


def _smallest_of_columns(K: Array, columns: list[int]) -> float:
    A = K[:, columns]
    return _smallest(A / np.maximum(np.linalg.norm(A, axis=0), TINY))


def make_chart(n: int, rows: tuple[int, ...], columns: tuple[int, ...], pattern: Array) -> Chart:
    """The chart of given rows and dependent columns, solved block by block as the pattern of K allows."""
    independent = tuple(c for c in range(n) if c not in columns)
    return Chart(n, rows, columns, independent, _blocks(pattern[np.ix_(rows, columns)], rows, columns))


def _blocks(pattern: Array, rows: tuple[int, ...], columns: tuple[int, ...]) -> Blocks:
    """Block triangular order of a square pattern: match rows with columns, then take components."""
    n = len(rows)
    row_of = _matching(pattern)
    if row_of is None:
        return ((rows, columns),) if n else ()
    # column a needs column b first where a's row contains b
    edges = [[b for b in range(n) if b != a and pattern[row_of[a], b]] for a in range(n)]
    return tuple(
        (tuple(rows[row_of[c]] for c in component), tuple(columns[c] for c in component))
        for component in strongly_connected(edges)
    )


def _matching(pattern: Array) -> list[int] | None:
    """A row for every column of a square pattern, by augmenting paths."""
    n = len(pattern)
    column_of = [-1] * n

    def augment(c: int, seen: set[int]) -> bool:
        for r in range(n):
            if pattern[r, c] and r not in seen:
                seen.add(r)
                if column_of[r] < 0 or augment(column_of[r], seen):
                    column_of[r] = c
                    return True
        return False

    if not all(augment(c, set()) for c in range(n)):
        return None
    row_of = [0] * n
    for r, c in enumerate(column_of):
        row_of[c] = r
    return row_of
