"""Closed configurations of a whole robot: the nearest, a neutral one, random ones."""

from __future__ import annotations

import numpy as np

from kinloop.clusters.closing import TOLERANCE, close_parts, sample_closed
from kinloop.clusters.tree import Cluster, ClusterTree
from kinloop.constraints import rows_of
from kinloop.errors import LoopNotClosed
from kinloop.spatial.transform import Array


def loop_errors(tree: ClusterTree, q: Array) -> dict[str, float]:
    """max |phi| [m or rad] of every loop and coupling."""
    return {p.name: float(np.max(np.abs(rows_of(tree.top, p, q).phi), initial=0.0)) for p in tree.top.mechanism.closures}


def close(tree: ClusterTree, q: Array, tolerance: float = TOLERANCE) -> Array:
    """The nearest closed q, cluster by cluster, or `LoopNotClosed` naming the worst loop."""
    q = tree.top.normalized(np.asarray(q, dtype=float))
    for c in tree.clusters:
        if c.parts:
            q, _ = close_parts(tree.top, c.parts, c.dofs, q)
            check_closed(tree, c, q, tolerance)
    return q


def check_closed(tree: ClusterTree, cluster: Cluster, q: Array, tolerance: float) -> None:
    worst, name = 0.0, ""
    for p in cluster.parts:
        error = float(np.max(np.abs(rows_of(tree.top, p, q).phi), initial=0.0))
        if not error <= worst:
            worst, name = error, p.name
    if not worst <= tolerance:
        raise LoopNotClosed(
            f"loop {name!r} stays open by {worst:.3g} at the nearest configuration found (tolerance {tolerance:.0e}); "
            "start closer to an assembled configuration, or check the loop's frames and lengths"
        )


def conditioning(tree: ClusterTree, q: Array) -> float:
    """Worst condition number over clusters of the matrix that gives the dependent velocities."""
    worst = 1.0
    for c in tree.clusters:
        if c.parts and c.chart.rows:
            K = tree.rows(c, q).K[np.ix_(c.chart.rows, c.chart.dependent)]
            s = np.linalg.svd(K / np.maximum(np.linalg.norm(K, axis=1, keepdims=True), 1e-300), compute_uv=False)
            worst = max(worst, float(s[0] / max(s[-1], 1e-300)))
    return worst


def neutral(tree: ClusterTree, seed: int = 0) -> Array:
    """A closed q: the one nearest to all joints at zero, moved off it where that one is singular."""
    top = tree.top
    q = top.neutral()
    for c in tree.clusters:
        if not c.parts:
            continue
        candidate, error = close_parts(top, c.parts, c.dofs, q)
        if error > TOLERANCE or _singular(tree, c, candidate):
            regular = [s for s in sample_closed(top, c.parts, c.bodies, c.dofs, seed) if not _singular(tree, c, s)]
            if regular:
                candidate = regular[0]
        for i in c.bodies:
            q[top.q_of[i]] = candidate[top.q_of[i]]
    return q


def _singular(tree: ClusterTree, c: Cluster, q: Array) -> bool:
    K = tree.rows(c, q).K[np.ix_(c.chart.rows, c.chart.dependent)]
    if not K.size:
        return False
    s = np.linalg.svd(K / np.maximum(np.linalg.norm(K, axis=1, keepdims=True), 1e-300), compute_uv=False)
    return bool(s[-1] < 1e-3 * s[0])


def random_closed(tree: ClusterTree, rng: np.random.Generator, limit: float = 1e6) -> Array:
    """A random closed q, spread as widely as the loops allow, where the charts are well conditioned."""
    top, base = tree.top, neutral(tree)
    q = top.random(rng)
    for c in tree.clusters:
        if c.parts:
            q = _random_cluster(tree, c, q, base, rng, limit)
    return q


def _random_cluster(
    tree: ClusterTree, c: Cluster, q: Array, base: Array, rng: np.random.Generator, limit: float
) -> Array:
    top = tree.top
    for attempt in range(60):
        trial = q.copy()
        if attempt >= 10:
            # starts drawn ever closer to the assembled neutral configuration
            step = np.zeros(top.n_spanning)
            step[list(c.dofs)] = rng.normal(size=len(c.dofs)) * 0.93 ** (attempt - 10)
            near = top.integrate(base, step)
            for i in c.bodies:
                trial[top.q_of[i]] = near[top.q_of[i]]
        elif attempt:
            again = top.random(rng)
            for i in c.bodies:
                trial[top.q_of[i]] = again[top.q_of[i]]
        trial, error = close_parts(top, c.parts, c.dofs, trial)
        if error < 1e-12 and conditioning(ClusterTree(top, [c]), trial) < limit:
            return trial
    for i in c.bodies:
        q[top.q_of[i]] = base[top.q_of[i]]
    return q


def step(tree: ClusterTree, q: Array, dy: Array) -> Array:
    """The closed configuration reached by the independent step dy: independents exactly, dependents by Newton."""
    top = tree.top
    q1 = top.integrate(q, tree.spanning_jacobian(q) @ dy)
    for c in tree.clusters:
        if not c.parts:
            continue
        dependent = [c.dofs[k] for k in c.chart.dependent]
        closed, error = close_parts(top, c.parts, dependent, q1)
        q1 = closed if error < 1e-10 else close_parts(top, c.parts, c.dofs, q1)[0]
    return top.normalized(q1)
