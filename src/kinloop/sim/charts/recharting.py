"""Another chart for a row whose own one has become bad, and the way through singular configurations.

Numbers only, row by row: this happens a few times per turn of a linkage, never inside a kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.algorithms.trees.energy import potential_energy
from kinloop.algorithms.trees.kinematics import joint_pose
from kinloop.clusters import Chart, Cluster, ClusterTree
from kinloop.clusters.charts import choose
from kinloop.linear import determinant
from kinloop.sim.actuation import Drive, joint_forces
from kinloop.sim.charts.gauge import coordinate_scales, loops
from kinloop.sim.integrators.flight import smooth, spanning
from kinloop.spatial.transform import Array

SINGULAR = 1e-6
"""Loops whose smallest singular value has fallen to this part of its usual size have no direction at q itself."""

LANDING = 0.2
"""A passage ends at least this part of a step beyond the singular configuration."""


def best_chart(c: Cluster, K: Array, scale: Array) -> Chart | None:
    """The chart in which no single swap of coordinates helps: all scaled |G_ji| <= 1."""
    assert c.equations is not None
    n, rank, pattern = K.shape[1], len(c.chart.dependent), c.equations.pattern
    scaled = K * c.equations.weights[:, None] * scale
    chart = choose([scaled], [], pattern=pattern)
    if chart is None or len(chart.dependent) != rank:
        return None
    for _ in range(4 * n):
        G = chart.embed(scaled)[0]
        j, a = np.unravel_index(int(np.argmax(np.abs(G[list(chart.dependent)]))), (rank, n - rank))
        if not abs(G[chart.dependent[j], a]) > 1.0 + 1e-6:
            break
        columns = tuple(sorted({*chart.dependent, chart.independent[a]} - {chart.dependent[j]}))
        swapped = choose([scaled], [], columns, pattern=pattern)
        if swapped is None:
            break
        chart = swapped
    return chart


def rechart(tree: ClusterTree, q: Array) -> ClusterTree:
    """The tree with the best charts at q in all loop clusters."""
    charts: dict[int, Chart] = {}
    for c in loops(tree):
        K = tree.rows(c, q).K
        found = best_chart(c, K, coordinate_scales(tree)[c.index])
        if found is not None:
            charts[c.index] = found
    return tree.with_charts(charts)


def smallest_singular(tree: ClusterTree, q: Array, typical: dict[int, float]) -> float:
    """The smallest singular value that the loops' rank needs, relative to its typical size; worst over clusters."""
    worst = 1.0
    for c in loops(tree):
        scale = coordinate_scales(tree)[c.index]
        worst = min(worst, _smallest(c, tree.rows(c, q).K * scale) / typical[c.index])
    return worst


def typical_singular(tree: ClusterTree, samples: dict[int, list[Array]]) -> dict[int, float]:
    """What `smallest_singular` compares with: medians over sample configurations."""
    out = {}
    for c in loops(tree):
        scale = coordinate_scales(tree)[c.index]
        out[c.index] = max(float(np.median([_smallest(c, K * scale) for K in samples[c.index]])), 1e-300)
    return out


def _smallest(c: Cluster, K: Array) -> float:
    s = np.linalg.svd(K, compute_uv=False)
    return float(s[len(c.chart.dependent) - 1])


class Passage(NamedTuple):
    """A state beyond a singular configuration, so many steps later, in charts that are good there."""

    tree: ClusterTree
    q: Array
    qd: Array
    steps: int


def orientation(tree: ClusterTree, q: Array) -> Array:
    """det K_d of every block of the loops' charts: where one changes sign the loops lose rank."""
    out = []
    for c in loops(tree):
        K = tree.rows(c, q).K
        out += [float(determinant(K[np.ix_(list(rows), list(columns))])) for rows, columns in c.chart.blocks]
    return np.array(out)


def ahead(tree: ClusterTree, q: Array, step: Array) -> Array | None:
    """q moved straight on by a spanning step, its loops closed there; None if they do not close."""
    q = tree.top.integrate(q, step)
    for c in loops(tree):
        for _ in range(20):
            rows = tree.rows(c, q)
            if not np.max(np.abs(rows.phi), initial=0.0) > 1e-15:
                break
            back = np.zeros(tree.top.n_spanning)
            back[list(c.dofs)] = -np.linalg.pinv(rows.K, rcond=1e-7) @ rows.phi
            q = tree.top.moved(c.bodies, q, back)
        if not np.max(np.abs(tree.rows(c, q).phi), initial=0.0) < 1e-10:
            return None
    return q


def approach(tree: ClusterTree, q: Array, step: Array) -> float:
    """How much of its distance to a singular configuration, in det K_d, a step covers: above 1 it passes it."""
    there = ahead(tree, q, step)
    if there is None:
        return 0.0
    here = orientation(tree, q)
    return float(np.max(1.0 - orientation(tree, there) / here))


def pass_over(tree: ClusterTree, drive: Drive, q: Array, qd: Array, u: Array, dt: float, most: int) -> Passage | None:
    """Step straight over a singular configuration and close there: the branch the motion was on.

    Straight on with the acceleration at q, to second order; the speed is then the one that the energy says.
    Takes more steps at once, up to `most`, while it would land too near the singular configuration; None if there
    is no way.
    """
    s = smooth(tree, drive, q, qd[tree.independent_dofs], u)
    qdd = spanning(tree, s.kin, s.a) + s.g
    bent = np.all(np.isfinite(qdd)) and np.max(np.abs(qdd)) * dt < np.max(np.abs(qd))
    qdd = qdd if bent else np.zeros_like(qd)
    here = np.abs(orientation(tree, q))
    tries = [n for n in (1, 2, 3, 5) if n <= most]
    for steps in tries:
        h = dt * steps
        trial = ahead(tree, q, h * (qd + 0.5 * h * qdd))
        if trial is None:
            continue
        there = np.abs(orientation(tree, trial))
        if steps < tries[-1] and np.any(there * steps < LANDING * (here + there)):
            continue
        after = rechart(tree, trial)
        v = project(after, trial, qd + h * qdd)
        speed = _with_energy(tree, after, drive, (q, qd), (trial, v), u, h)
        return Passage(after, trial, speed * v, steps)
    return None


def _with_energy(
    tree: ClusterTree, after: ClusterTree, drive: Drive, x: tuple[Array, Array], y: tuple[Array, Array], u: Array,
    h: float,
) -> float:  # fmt: skip
    """The factor that gives the velocity at y the energy it has after the work done since x, a time h before."""
    work = 0.5 * h * sum(float(joint_forces(drive, *z, u) @ z[1]) for z in (x, y))
    left = spanning_kinetic(tree, *x) + potential_energy(tree, x[0]) - potential_energy(tree, y[0]) + work
    has = spanning_kinetic(after, *y)
    scale = np.sqrt(max(left, 0.0) / has) if has > 0 else 1.0
    return scale if 0.5 < scale < 2.0 else 1.0


def spanning_kinetic(tree: ClusterTree, q: Array, qd: Array) -> float:
    """Kinetic energy [J] of a spanning velocity, whether the loops allow it or not."""
    top, out = tree.top, 0.5 * float(np.sum(tree.top.armature * qd * qd))
    twist: list[Array] = []
    for i, parent in enumerate(top.parent):
        own = top.types[i].subspace(q[top.q_of[i]]) @ qd[top.v_of[i]]
        T = joint_pose(top, i, q)
        twist.append(own if parent < 0 else T.motion(twist[parent]) + own)
        out += 0.5 * float(twist[i] @ top.inertia[i].apply(twist[i]))
    return out


def project(tree: ClusterTree, q: Array, qd: Array) -> Array:
    """The nearest spanning velocity the loops allow at q."""
    out = qd.copy()
    for c in tree:
        if c.parts and c.chart.dependent:
            K = tree.rows(c, q).K
            Vt = np.linalg.svd(K, full_matrices=False)[2][: len(c.chart.dependent)]
            dofs = list(c.dofs)
            out[dofs] = out[dofs] - Vt.T @ (Vt @ out[dofs])
    return out
