"""Another chart for a row whose own one has become bad, and the way through singular configurations.

Numbers only, row by row: this happens a few times per turn of a linkage, never inside a kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.algorithms.energy import kinetic_energy, potential_energy
from kinloop.algorithms.kinematics import joint_pose
from kinloop.clusters import Chart, Cluster, ClusterTree
from kinloop.clusters.charts import choose
from kinloop.clusters.closing import close_parts
from kinloop.sim.closing import coordinate_scales, loops
from kinloop.spatial.transform import Array

SINGULAR = 1e-6
"""Loops whose smallest singular value has fallen to this part of its usual size have no direction at q itself."""


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


def rechart(tree: ClusterTree, q: Array, samples: dict[int, list[Array]]) -> ClusterTree:
    """The tree with the best charts at q in all loop clusters."""
    charts: dict[int, Chart] = {}
    for c in loops(tree):
        K = tree.rows(c, q).K
        found = best_chart(c, K, coordinate_scales(tree)[c.index])
        if found is not None:
            charts[c.index] = found
    return tree.with_charts(charts)


def smallest_singular(tree: ClusterTree, q: Array, samples: dict[int, list[Array]]) -> float:
    """The smallest singular value that the loops' rank needs, relative to its typical size; worst over clusters."""
    worst = 1.0
    for c in loops(tree):
        scale = coordinate_scales(tree)[c.index]
        typical = float(np.median([_smallest(c, K * scale) for K in samples[c.index]]))
        worst = min(worst, _smallest(c, tree.rows(c, q).K * scale) / max(typical, 1e-300))
    return worst


def _smallest(c: Cluster, K: Array) -> float:
    s = np.linalg.svd(K, compute_uv=False)
    return float(s[len(c.chart.dependent) - 1])


class Passage(NamedTuple):
    """A state beyond a singular configuration, so many steps later, in charts that are good there."""

    tree: ClusterTree
    q: Array
    v: Array
    steps: int


def pass_over(tree: ClusterTree, q: Array, qd: Array, dt: float, samples: dict[int, list[Array]]) -> Passage | None:
    """Step straight along qd over a singular configuration and close there: the branch the motion was on.

    The speed there is the one that keeps the energy. Takes more steps at once while it would land on a
    singular configuration; None if there is no way.
    """
    top = tree.top
    for steps in (1, 2, 3, 5):
        trial = top.integrate(q, qd * (dt * steps))
        errors = [0.0]
        for c in loops(tree):
            trial, error = close_parts(top, c.parts, c.dofs, trial)
            errors.append(error)
        if max(errors) < 1e-10 and smallest_singular(tree, trial, samples) > SINGULAR:
            there = rechart(tree, trial, samples)
            v = project(there, trial, qd)[there.independent_dofs]
            before = spanning_kinetic(tree, q, qd) + potential_energy(tree, q) - potential_energy(tree, trial)
            after = kinetic_energy(there, trial, v)
            scale = np.sqrt(max(before, 0.0) / after) if after > 0 else 1.0
            return Passage(there, trial, v * (scale if 0.5 < scale < 2.0 else 1.0), steps)
    return None


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
