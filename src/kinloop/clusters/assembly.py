"""Closing loops: the nearest closed configuration, by damped Gauss-Newton steps on the joints' manifold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.clusters.charts import rank_of
from kinloop.clusters.tree import Cluster, ClusterTree, stacked_rows
from kinloop.constraints import rows_of
from kinloop.errors import LoopNotClosed
from kinloop.model.parts import Coupling, Loop
from kinloop.model.topology import Topology
from kinloop.spatial.transform import Array

TOLERANCE = 1e-5
"""A loop that cannot be closed below this [m, rad] is reported open."""


def close_parts(
    top: Topology, parts: Sequence[Loop | Coupling], dofs: Sequence[int], q: Array, rounds: int = 100
) -> tuple[Array, float]:
    """The closed configuration near q, moving only `dofs`, and the largest residual left."""
    dofs = list(dofs)
    q = top.normalized(q)
    rows = stacked_rows(top, parts, dofs, q)
    damping = 0.0
    for _ in range(rounds):
        error = float(np.max(np.abs(rows.phi), initial=0.0))
        if error == 0.0:
            break
        step = np.zeros(top.n_spanning)
        step[dofs] = -_damped_step(rows.K, rows.phi, damping)
        trial = top.normalized(top.integrate(q, step))
        new = stacked_rows(top, parts, dofs, trial)
        if float(new.phi @ new.phi) < float(rows.phi @ rows.phi):
            small = np.max(np.abs(step)) < 1e-15
            q, rows, damping = trial, new, damping * 0.1 if damping > 1e-8 else 0.0
            if small:
                break
        else:
            if error < 1e-13 or damping > 1e6:
                break
            damping = max(10.0 * damping, 1e-4)
    return q, float(np.max(np.abs(rows.phi), initial=0.0))


def _damped_step(K: Array, phi: Array, damping: float) -> Array:
    """The shortest step that (nearly) removes phi; singular directions are left alone."""
    U, s, Vt = np.linalg.svd(K, full_matrices=False)
    keep = s > 1e-7 * max(s[0], 1e-300) if len(s) else np.zeros(0, dtype=bool)
    gain = np.where(keep, s / (s * s + damping), 0.0)
    return Vt.T @ (gain * (U.T @ phi))


def loop_errors(tree: ClusterTree, q: Array) -> dict[str, float]:
    """max |phi| [m or rad] of every loop and coupling."""
    m = tree.top.mechanism
    return {p.name: float(np.max(np.abs(rows_of(tree.top, p, q).phi), initial=0.0)) for p in (*m.loops, *m.couplings)}


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


def sample_closed(
    top: Topology, parts: Sequence[Loop | Coupling], bodies: Sequence[int], dofs: Sequence[int], seed: int
) -> list[Array]:
    """A few closed configurations of one cluster, in general position where there are such."""
    rng = np.random.default_rng(seed)
    start, error = close_parts(top, parts, dofs, top.neutral())
    found: list[Array] = [start] if error < TOLERANCE else []
    for scale in (0.1, 0.3, 0.3, 0.6, 0.6, 1.0, 1.0, 2.0):
        step = np.zeros(top.n_spanning)
        step[list(dofs)] = rng.normal(size=len(dofs)) * scale
        q, error = close_parts(top, parts, dofs, top.integrate(start, step))
        if error < TOLERANCE:
            found.append(q)
    tries = 0
    while not found and tries < 200:
        tries += 1
        random = top.random(rng)
        q = top.neutral()
        for i in bodies:
            q[top.q_of[i]] = random[top.q_of[i]]
        q, error = close_parts(top, parts, dofs, q)
        if error < TOLERANCE:
            found.append(q)
    if not found:
        worst = max(parts, key=lambda p: float(np.max(np.abs(rows_of(top, p, start).phi), initial=0.0)))
        size = float(np.max(np.abs(rows_of(top, worst, start).phi)))
        raise LoopNotClosed(
            f"loop {worst.name!r} cannot be closed: the nearest configuration to neutral leaves it open by {size:.3g} "
            f"and {tries} random starts found none closed; check the loop's frames and lengths"
        )
    ranks = [rank_of(stacked_rows(top, parts, dofs, q).K) for q in found]
    return [q for q, r in zip(found, ranks, strict=True) if r == max(ranks)]


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
