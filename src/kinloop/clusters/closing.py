"""Closing: the one home of what brings loops from nearly closed to closed, in position and in velocity.

Loops are closed for different needs, each by one function:

    close_parts         from anywhere, on numbers: damped Gauss-Newton on chosen coordinates
    close_step          after a step of the independent coordinates: these exactly, the dependent ones follow
    close_ahead         after a step straight on, through configurations where the loops lose rank; or None
    close_dependents    inside a traced step: a fixed number of Newton rounds on the dependent coordinates
    closest             inside a traced step: a fixed number of rounds that move all coordinates the least
    project_velocity    a velocity the loops allow, moved the least; traced, where the loops have full rank
    nearest_velocity    the same on numbers, at any rank

A round solves K dq = -phi for a step dq of the joints. With the dependent coordinates alone,

    K_d(q) dq_d = -phi(q)                                                          (1)

and two rounds of (1), which converge quadratically, bring a second-order prediction below rounding. With all
coordinates the shortest step is taken, each coordinate measured in units of how far it usually moves
(`sampling.LoopSamples.scales`). docs/simulation.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.charts import TINY
from kinloop.linear import Factor, symmetric_product
from kinloop.model.loops import LoopClosure, stacked_rows
from kinloop.model.topology import Topology
from kinloop.spatial.transform import Array

if TYPE_CHECKING:
    from kinloop.clusters.tree import Cluster, ClusterTree

TOLERANCE = 1e-5
"""A loop that is open by more [m, rad] is not closed, whoever asks: what `close` finds, every check accepts. Model
files disagree with themselves by 5e-6."""

CONVERGED = 1e-10
"""What Newton's rounds leave [m, rad] where they have converged: far above rounding, far below any other end."""

EXACT = 1e-12
"""What random configurations leave open at most [m, rad], so that laws can be tested on them to the last digits."""

ROUNDING = 1e-15
"""A residual or a step this small is zero but for rounding."""

SINGULAR_PART = 1e-7
"""Directions of K with a singular value below this part of the largest are left alone: the loops do not hold there."""

STALLED = 0.98
"""A step that leaves more than this part of the squared residual gains nothing; three in a row end the search."""

DAMPING, GROWTH, DECAY, HOPELESS, NEGLIGIBLE = 1e-4, 10.0, 0.1, 1e6, 1e-8
"""Levenberg's damping: where it starts, the factors by which it grows while steps fail and decays while they
succeed; above what no step will help any more, and below what it is dropped."""

FINISHED = 1e-13
"""A residual [m, rad] that is not worth damping for: a step that fails from here fails by rounding."""

ROUNDS = 2
"""Rounds inside a traced step: the first leaves the square of the prediction's error, the second rounding."""


# --- positions, on numbers


def close_parts(
    top: Topology, parts: Sequence[LoopClosure], dofs: Sequence[int], q: Array, rounds: int = 100
) -> tuple[Array, float]:
    """The closed configuration near q, moving only `dofs`, and the largest residual left."""
    dofs = list(dofs)
    bodies = sorted({top.body_of[d] for d in dofs})
    q = top.moved(bodies, q, np.zeros(top.n_spanning))
    rows = stacked_rows(top, parts, dofs, q)
    damping, stalled = 0.0, 0
    for _ in range(rounds):
        error = residual(rows.phi)
        if error == 0.0 or not np.isfinite(error) or (stalled >= 3 and error > TOLERANCE):
            break
        step = np.zeros(top.n_spanning)
        step[dofs] = -_damped_step(rows.K, rows.phi, damping)
        trial = top.moved(bodies, q, step)
        new = stacked_rows(top, parts, dofs, trial)
        before, after = float(rows.phi @ rows.phi), float(new.phi @ new.phi)
        if after < before:
            # near a smallest residual that is not zero steps gain little: there is no closed configuration here
            stalled = stalled + 1 if after > STALLED * before else 0
            small = np.max(np.abs(step)) < ROUNDING
            q, rows, damping = trial, new, damping * DECAY if damping > NEGLIGIBLE else 0.0
            if small:
                break
        else:
            if error < FINISHED or damping > HOPELESS:
                break
            damping = max(GROWTH * damping, DAMPING)
    return q, residual(rows.phi)


def residual(phi: Array) -> float:
    """The largest |phi| [m, rad]."""
    return float(np.max(np.abs(phi), initial=0.0))


def _damped_step(K: Array, phi: Array, damping: float) -> Array:
    """The shortest step that (nearly) removes phi; singular directions are left alone."""
    U, s, Vt = np.linalg.svd(K, full_matrices=False)
    keep = s > SINGULAR_PART * max(s[0], TINY) if len(s) else np.zeros(0, dtype=bool)
    gain = np.where(keep, s / np.maximum(s * s + damping, TINY), 0.0)
    step: Array = Vt.T @ (gain * (U.T @ phi))
    return step


def close_step(tree: ClusterTree, q: Array, dy: Array) -> Array:
    """The closed configuration reached by the independent step dy: independents exactly, dependents by Newton."""
    top = tree.top
    q1 = top.integrate(q, tree.spanning_jacobian(q) @ dy)
    for c in tree.clusters:
        if not c.parts:
            continue
        dependent = [c.dofs[k] for k in c.chart.dependent]
        closed, error = close_parts(top, c.parts, dependent, q1)
        q1 = closed if error < CONVERGED else close_parts(top, c.parts, c.dofs, q1)[0]
    return top.normalized(q1)


def close_ahead(tree: ClusterTree, q: Array, step: Array, rounds: int = 20) -> Array | None:
    """q moved straight on by a spanning step, its loops closed there; None if they do not close.

    The shortest steps, undamped: they stay on the branch of the motion where a damped search may turn back.
    """
    q = tree.top.integrate(q, step)
    for c in tree.loop_clusters:
        for _ in range(rounds):
            rows = tree.rows(c, q)
            if not residual(rows.phi) > ROUNDING:
                break
            back = np.zeros(tree.top.n_spanning)
            back[list(c.dofs)] = -np.linalg.pinv(rows.K, rcond=SINGULAR_PART) @ rows.phi
            q = tree.top.moved(c.bodies, q, back)
        if not residual(tree.rows(c, q).phi) < CONVERGED:
            return None
    return q


# --- positions, on numbers or symbols


def close_dependents(tree: ClusterTree, q: Array, rounds: int = ROUNDS) -> tuple[Array, Any]:
    """q with its dependent coordinates closed by (1), and the size of the last correction."""
    last: Any = 0.0
    for cluster in tree.tied_clusters:
        turns = 1 if cluster.linear else rounds
        for turn in range(turns):
            rows = tree.rows(cluster, q)
            step = _dependent_part(cluster, cluster.chart.embed(rows.K, -rows.phi)[1])
            q = _moved(tree, cluster, q, step)
            if turn == turns - 1 and not cluster.linear:
                last = sc.largest([step[d] for d in cluster.chart.dependent], last)
    return tree.top.normalized(q), last


def closest(tree: ClusterTree, q: Array, rounds: int = ROUNDS) -> tuple[Array, Any]:
    """The closed configuration nearest to q, coordinates in the units of their scales; and the last correction."""
    q, last = tree.top.normalized(q), 0.0
    for c in tree.tied_clusters:
        if c.linear:
            rows = tree.rows(c, q)
            q = _moved(tree, c, q, _dependent_part(c, c.chart.embed(rows.K, -rows.phi)[1]))
            continue
        for _ in range(rounds):
            rows = tree.rows(c, q)
            keep = list(c.chart.rows)
            step = -_least(tree, c, rows.K[keep], rows.phi[keep])
            q = _moved(tree, c, q, step)
        last = sc.largest(list(step), last)
    return tree.top.normalized(q), last


# --- velocities


def project_velocity(tree: ClusterTree, q: Array, qd: Array) -> Array:
    """The spanning velocity nearest to qd that the loops allow at q; gears follow their drivers."""
    out = np.array(qd, dtype=np.result_type(q, qd))
    for c in tree.tied_clusters:
        dofs = list(c.dofs)
        if c.linear:
            out[dofs] = tree.jacobian(c, q) @ out[dofs][list(c.chart.independent)]
        else:
            K = tree.rows(c, q).K[list(c.chart.rows)]
            out[dofs] = out[dofs] - _least(tree, c, K, K @ out[dofs])
    return out


def nearest_velocity(tree: ClusterTree, q: Array, qd: Array) -> Array:
    """The nearest spanning velocity the loops allow at q, where they may be about to lose rank; numbers only."""
    out = qd.copy()
    for c in tree.tied_clusters:
        K = tree.rows(c, q).K
        Vt = np.linalg.svd(K, full_matrices=False)[2][: len(c.chart.dependent)]
        dofs = list(c.dofs)
        out[dofs] = out[dofs] - Vt.T @ (Vt @ out[dofs])
    return out


def _least(tree: ClusterTree, c: Cluster, K: Array, b: Array) -> Array:
    """The smallest x with K x = b, coordinates in the units of their scales."""
    scale = tree.samples.scales[c.index]
    scaled = K * scale
    x: Array = scale * (scaled.T @ Factor(symmetric_product(scaled, scaled)).solve(b))
    return x


def _dependent_part(c: Cluster, step: Array | None) -> Array:
    assert step is not None
    step = step.copy()
    step[list(c.chart.independent)] = 0.0
    return step


def _moved(tree: ClusterTree, cluster: Cluster, q: Array, step: Array) -> Array:
    """q with the joints of one cluster moved by a step of its coordinates."""
    top, out, row = tree.top, q.copy(), 0
    if step.dtype == object and out.dtype != object:
        out = out.astype(object)
    for i in cluster.bodies:
        n = top.types[i].nv
        out[top.q_of[i]] = top.types[i].integrate(q[top.q_of[i]], step[row : row + n])
        row += n
    return out
