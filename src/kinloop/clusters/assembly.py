"""Closed configurations of a whole robot: the nearest, a neutral one; how well charts are conditioned there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kinloop.clusters.alone import Alone
from kinloop.clusters.charts import TINY, Chart
from kinloop.clusters.closing import TOLERANCE, close_cluster, close_parts, residual
from kinloop.clusters.sampling import sample_closed
from kinloop.clusters.tree import Cluster, ClusterTree
from kinloop.errors import LoopNotClosed
from kinloop.model.joints import Revolute, Universal
from kinloop.model.loops import LoopClosure, stacked_rows
from kinloop.model.topology import Topology
from kinloop.scalar import Array

REGULAR = 1e3
"""Conditioning beyond which a neutral configuration is moved off: too near a singular one to start from."""

ROUNDED = 1e-9
"""What whole turns may move a closed configuration by [m, rad]: rounding of angles of many turns."""


def loop_errors(tree: ClusterTree, q: Array) -> dict[str, float]:
    """max |phi| [m or rad] of every loop and coupling."""
    return {p.name: residual(p.rows(tree.top, q).phi) for p in tree.top.mechanism.closures}


def open_by(tree: ClusterTree, name: str, q: Array, verb: str = "is") -> str:
    """How far a loop or coupling stands open at q, in words."""
    closure = next(p for p in tree.top.mechanism.closures if p.name == name)
    return f"{closure.what} {verb} {closure.openness(closure.rows(tree.top, q).phi)}"


def close(tree: ClusterTree, q: Array, tolerance: float = TOLERANCE) -> Array:
    """The nearest closed q, cluster by cluster, or `LoopNotClosed` naming the worst loop."""
    q = tree.top.normalized(np.asarray(q, dtype=float))
    for c in tree.clusters:
        if c.parts:
            closed, error = close_cluster(tree.top, c, q)
            if error > tolerance:
                closed = _close_from_around(tree.top, c, q, tolerance, closed)
            check_closed(tree, c, closed, tolerance)
            q = closed
    q, error = _close_constrained(tree, q)
    if not error <= tolerance:
        raise _stays_open(tree, q, tolerance, tree.top.mechanism.closures)
    return q


def _close_constrained(tree: ClusterTree, q: Array) -> tuple[Array, float]:
    """q with the loops closed that are not embedded in clusters but kept as constraints, and what is left open."""
    m = tree.top.mechanism
    if not m.constrained:
        return q, 0.0
    top, dofs = tree.top, range(tree.top.n_spanning)
    closed, error = close_parts(top, m.closures, dofs, q)
    if error > TOLERANCE:  # q itself may be stretched or folded: take the nearest of a few closed ones
        found = sample_closed(top, m.closures, range(len(top)), dofs, 0)
        start = min(found, key=lambda x: float(np.linalg.norm(top.difference(q, x))))
        closed, error = close_parts(top, m.closures, dofs, start)
    return closed, error


def _close_from_around(top: Topology, c: Cluster, q: Array, tolerance: float, otherwise: Array) -> Array:
    """The nearest of the closed configurations found from starts around q, ever farther away.

    From q itself a loop may run into a stretched or folded position that no small step leaves.
    """
    rng = np.random.default_rng(0)
    best: tuple[float, Array] | None = None
    for attempt in range(40):
        step = np.zeros(top.n_spanning)
        step[list(c.dofs)] = rng.normal(size=len(c.dofs)) * 0.1 * 1.1**attempt
        trial, error = close_cluster(top, c, top.integrate(q, step))
        if error <= tolerance:
            far = float(np.linalg.norm(top.difference(q, trial)))
            if best is None or far < best[0]:
                best = far, trial
    return best[1] if best else otherwise


def check_closed(tree: ClusterTree, cluster: Cluster, q: Array, tolerance: float) -> None:
    if not residual(tree.rows(cluster, q).phi) <= tolerance:
        raise _stays_open(tree, q, tolerance, cluster.parts)


def _stays_open(tree: ClusterTree, q: Array, tolerance: float, parts: Sequence[LoopClosure]) -> LoopNotClosed:
    """The error that names the worst of some closures."""
    name = worst_loop({p.name: residual(p.rows(tree.top, q).phi) for p in parts})
    return LoopNotClosed(
        f"{open_by(tree, name, q, 'stays')} at the nearest configuration found (tolerance {tolerance:.0e}); "
        "start closer to an assembled configuration, or check the loop's frames and lengths"
    )


def worst_loop(errors: Mapping[str, float]) -> str:
    """The name of what is open the most; NaN is more than any number."""
    return max(errors, key=lambda name: np.inf if np.isnan(errors[name]) else errors[name])


def conditioning(tree: ClusterTree, q: Array) -> float:
    """How much the dependent velocities can exceed the independent ones: infinite where a chart is singular.

    The worst over clusters of 1 / (smallest singular value of the rows that give the dependent velocities).
    A gear of any ratio counts as 1: its rotor is fast, not ill-conditioned.
    """
    worst = 1.0
    for c in tree.clusters:
        if c.parts:
            worst = max(worst, _cluster_conditioning(tree.top, c, c.dofs, q))
    return worst


def _cluster_conditioning(top: Topology, c: Cluster, dofs: Sequence[int], q: Array) -> float:
    """`conditioning` of one cluster, whose coordinates are `dofs` of `top`."""
    if not c.chart.rows:
        return 1.0
    s = np.linalg.svd(_dependent_rows(top, c, dofs, q), compute_uv=False)
    return max(float(s[0]), 1.0) / max(float(s[-1]), TINY)


def _dependent_rows(top: Topology, c: Cluster, dofs: Sequence[int], q: Array) -> Array:
    """The chart's rows over its dependent columns: loops as parts of rows of unit length, couplings to unit length."""
    blocks = []
    for part in c.parts:
        K = stacked_rows(top, [part], dofs, q).K
        measured = K[:, list(c.chart.dependent)] if part.explicit_joints() else K
        blocks.append(K / np.maximum(np.linalg.norm(measured, axis=1, keepdims=True), TINY))
    return np.concatenate(blocks)[np.ix_(c.chart.rows, c.chart.dependent)]


def neutral(tree: ClusterTree) -> Array:
    """A closed q: the one nearest to all joints at zero, moved off it where that one is singular."""
    q = tree.top.neutral()
    known: dict[tuple[int, Chart], Array] = {}
    for c in tree.clusters:
        if c.alone is not None:
            like = id(c.equations), c.chart  # clusters that are alike share their equations
            if like not in known:
                known[like] = _neutral_cluster(c, c.alone)
            c.alone.put(q, known[like])
    return _close_constrained(tree, q)[0]


def _neutral_cluster(c: Cluster, alone: Alone) -> Array:
    """Positions of a cluster by itself: closed and near neutral, and regular if any of the samples is."""
    assert c.equations is not None
    rank = len(c.chart.dependent)
    candidate, error = close_parts(alone.top, c.parts, alone.dofs, alone.top.neutral(), rank=rank)
    if error > TOLERANCE or _singular(c, alone, candidate):
        candidate = next((q for q in c.equations.closed if not _singular(c, alone, q)), candidate)
    return unwound(c, alone, candidate)


def unwound(c: Cluster, alone: Alone, q: Array) -> Array:
    """A closed q with whole turns taken out of its hinges, where stops allow it and no coupling counts them.

    The search for a closed configuration may wind hinges up by hundreds of turns. A coupling that counts turns is open
    without them.
    """
    out, top = q.copy(), alone.top
    for joint, at in zip(top.joints, top.q_of, strict=True):
        if isinstance(joint.type, Revolute | Universal):
            x = np.remainder(q[at] + np.pi, 2.0 * np.pi) - np.pi
            wound = (np.abs(q[at]) > np.pi) & (joint.lower <= x) & (x <= joint.upper)
            out[at] = np.where(wound, x, q[at])
    closed, error = close_parts(top, c.parts, alone.dofs, out, rank=len(c.chart.dependent))
    return closed if error <= TOLERANCE and np.max(np.abs(closed - out), initial=0.0) < ROUNDED else q


def _singular(c: Cluster, alone: Alone, q: Array) -> bool:
    return _cluster_conditioning(alone.top, c, alone.dofs, q) > REGULAR
