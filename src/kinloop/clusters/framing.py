"""Which tangent frame a cluster gets: scales of its coordinates, rows of its loops that count, usual pivots.

All of it is read off the closed configurations at which the cluster's chart was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinloop.clusters.charts import TINY, pivots
from kinloop.clusters.tangent_frame import LoopTurn, TangentFrame
from kinloop.clusters.tree import Cluster, ClusterTree
from kinloop.scalar import Array

SLOWEST = 1e-2
"""Coordinates that move less than this part of the fastest one count as so fast: loops may hold them altogether."""

VANISHING, DEPENDENT = 1e-9, 1e-6
"""Where scales are measured: norms of rows that are zero; singular values, relative to the largest, of rows that
depend on others."""

RANK_TOLERANCE = 1e-4
"""Weighted rows below this add no rank: as `charts.RANK_TOLERANCE`, for the rows a loop adds to those before it."""


def framed(tree: ClusterTree) -> ClusterTree:
    """The tree with a tangent frame in every cluster whose G changes with the configuration."""
    return tree.with_charts({c.index: make_frame(c) for c in tree if c.bends})


def make_frame(cluster: Cluster) -> TangentFrame:
    """The frame of a cluster: scales, kept rows and usual pivots from its sample configurations."""
    assert cluster.equations is not None
    samples = cluster.equations.samples
    frame = TangentFrame.of(coordinate_scales(samples), _order_of_loops(cluster, _best_sample(cluster)))
    found = np.array([[float(x) for x in frame.reduce(K).pivots] for K in samples])
    return replace(frame, typical=tuple(map(float, np.maximum(np.median(found, axis=0), np.finfo(float).tiny))))


def _best_sample(cluster: Cluster) -> Array:
    """K at the sample configuration where its rows are farthest from losing rank."""
    assert cluster.equations is not None
    samples, weights, rank = cluster.equations.samples, cluster.equations.weights, len(cluster.chart.dependent)
    sizes = [np.linalg.svd(K * weights[:, None], compute_uv=False)[rank - 1] for K in samples]
    return samples[int(np.argmax(sizes))]


def shortest(tree: ClusterTree) -> ClusterTree | None:
    """The tree with a frame in every tied cluster whose corrections are the shortest, all coordinates counting alike.

    None if the rows that matter change on the way (Bennett's, Bricard's loops): off closed configurations more of them
    do, and the shortest step that removes what can be removed of all rows is another one.
    """
    tied = tree.tied_clusters
    frames = [TangentFrame.of(np.ones(len(c.dofs)), _order_of_loops(c, _best_sample(c))) for c in tied]
    if any(len(frame.rows) > len(c.chart.rows) for c, frame in zip(tied, frames, strict=True)):
        return None
    return tree.with_charts({c.index: frame for c, frame in zip(tied, frames, strict=True)})


def _order_of_loops(cluster: Cluster, K: Array) -> tuple[LoopTurn, ...]:
    """Closures in order, those that are the same everywhere first; rows kept where they add rank at one configuration.

    The columns a loop uses up are those which fewest coordinates share, so that N stays sparse.
    """
    equations = cluster.equations
    assert equations is not None
    weights, pattern, parts = equations.weights, equations.pattern, equations.spans
    n = K.shape[1]
    N, touched, live = np.eye(n), np.eye(n, dtype=bool), list(range(n))
    out: list[LoopTurn] = []
    for span in sorted(parts, key=lambda s: not _constant(equations.samples, s)):
        A = (K * weights[:, None])[span] @ N[:, live]
        rank = int(np.sum(np.linalg.svd(A, compute_uv=False) > RANK_TOLERANCE)) if A.size else 0
        if not rank:
            continue
        rows = [span[k] for k in sorted(pivots(A.T, rank))]
        columns = [j for j in live if np.any(pattern[rows] & touched[:, j])]
        columns.sort(key=lambda j: int(touched[:, j].sum()))
        choice = rows if _always_enough(equations.samples, span, rows) else span
        out.append(LoopTurn(rank, tuple(choice), tuple(columns)))
        N[:, columns] = N[:, columns] @ np.linalg.qr((K[rows] @ N[:, columns]).T, mode="complete")[0]
        touched[:, columns] = np.any(touched[:, columns], axis=1, keepdims=True)
        live = [j for j in live if j not in columns[:rank]]
    return tuple(out)


def _always_enough(samples: Sequence[Array], span: Sequence[int], rows: Sequence[int]) -> bool:
    """Whether the other rows of a loop are the same combinations of `rows` at all configurations.

    So they are in a flat loop. In Bennett's or Bricard's the rows that matter change on the way.
    """
    others = [r for r in span if r not in rows]
    found = [K[others] @ np.linalg.pinv(K[list(rows)]) for K in samples]
    exact = all(
        np.max(np.abs(K[others] - C @ K[list(rows)]), initial=0.0) <= 1e-6 * np.max(np.abs(K), initial=0.0)
        for K, C in zip(samples, found, strict=True)
    )
    return exact and bool(np.max(np.ptp(found, axis=0), initial=0.0) <= 1e-6)


def _constant(samples: Sequence[Array], span: Sequence[int]) -> bool:
    return len(samples) > 1 and bool(np.max(np.ptp([K[list(span)] for K in samples], axis=0)) <= 1e-12)


def coordinate_scales(samples: Sequence[Array]) -> Array:
    """How much each coordinate of a cluster moves where all are free to: its unit in a frame."""
    sizes = []
    for K in samples:
        norm = np.linalg.norm(K, axis=1, keepdims=True)
        _, s, Vt = np.linalg.svd(np.where(norm > VANISHING, K / np.maximum(norm, TINY), 0.0))
        rank = int(np.sum(s > DEPENDENT * max(s[0], TINY))) if len(s) else 0
        sizes.append(np.linalg.norm(Vt[rank:], axis=0))
    usual = np.sqrt(np.mean(np.square(sizes), axis=0))
    if not np.any(usual):  # nothing moves, and every coordinate is its own unit
        return np.ones(len(usual))
    return np.asarray(np.maximum(usual, SLOWEST * np.max(usual)))
