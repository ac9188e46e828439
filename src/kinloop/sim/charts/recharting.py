"""Better charts where the present ones have become bad, and the way over singular configurations.

Numbers only, one batch row at a time: this happens a few times per turn of a linkage, never inside a kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.algorithms.trees.energy import potential_energy
from kinloop.algorithms.trees.kinematics import joint_pose
from kinloop.clusters import Chart, Cluster, ClusterTree
from kinloop.clusters.charts import choose
from kinloop.clusters.closing import close_ahead, nearest_velocity
from kinloop.linear import determinant
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive, joint_forces
from kinloop.sim.charts.thresholds import LANDING, NO_BETTER_SWAP, PASSAGE_STEPS, SPEED_CHANGE, TINY
from kinloop.sim.smooth_motion import smooth_motion, spanning


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
        if not abs(G[chart.dependent[j], a]) > 1.0 + NO_BETTER_SWAP:
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
    for c in tree.loop_clusters:
        K = tree.rows(c, q).K
        found = best_chart(c, K, tree.samples.scales[c.index])
        if found is not None:
            charts[c.index] = found
    return tree.with_charts(charts)


def smallest_singular(tree: ClusterTree, q: Array, typical: dict[int, float]) -> float:
    """The smallest singular value that the loops' rank needs, relative to its typical size; worst over clusters."""
    worst = 1.0
    for c in tree.loop_clusters:
        scale = tree.samples.scales[c.index]
        worst = min(worst, _smallest(c, tree.rows(c, q).K * scale) / typical[c.index])
    return worst


def typical_singular(tree: ClusterTree, samples: dict[int, list[Array]]) -> dict[int, float]:
    """What `smallest_singular` compares with: medians over sample configurations."""
    out = {}
    for c in tree.loop_clusters:
        scale = tree.samples.scales[c.index]
        out[c.index] = max(float(np.median([_smallest(c, K * scale) for K in samples[c.index]])), TINY)
    return out


def _smallest(c: Cluster, K: Array) -> float:
    s = np.linalg.svd(K, compute_uv=False)
    return float(s[len(c.chart.dependent) - 1])


class Passage(NamedTuple):
    """A spanning state beyond a singular configuration, some steps later; `tree` has charts that are good there."""

    tree: ClusterTree
    q: Array
    qd: Array
    steps: int


def orientation(tree: ClusterTree, q: Array) -> Array:
    """det K_d of every block of the loops' charts: where one changes sign the loops lose rank."""
    out = []
    for c in tree.loop_clusters:
        K = tree.rows(c, q).K
        out += [float(determinant(K[np.ix_(list(rows), list(columns))])) for rows, columns in c.chart.blocks]
    return np.array(out)


def approach(tree: ClusterTree, q: Array, step: Array) -> float:
    """How much of its distance to a singular configuration, in det K_d, a step covers: above 1 it passes it."""
    there = close_ahead(tree, q, step)
    if there is None:
        return 0.0
    here = orientation(tree, q)
    return float(np.max(1.0 - orientation(tree, there) / here))


def pass_over(tree: ClusterTree, drive: Drive, q: Array, qd: Array, u: Array, dt: float, most: int) -> Passage | None:
    """Move straight over a singular configuration and close the loops there: the motion keeps its branch.

    Straight on means with the acceleration at q, to second order; the speed afterwards follows from the energy. Takes
    several steps at once, up to `most`, where one would land too near the singular configuration; None if there is
    no way.
    """
    s = smooth_motion(tree, drive, q, qd[tree.independent_dofs], u)
    qdd = spanning(tree, s.kin, s.a) + s.g
    bent = np.all(np.isfinite(qdd)) and np.max(np.abs(qdd)) * dt < np.max(np.abs(qd))
    qdd = qdd if bent else np.zeros_like(qd)
    here = np.abs(orientation(tree, q))
    tries = [n for n in PASSAGE_STEPS if n <= most]
    for steps in tries:
        h = dt * steps
        trial = close_ahead(tree, q, h * (qd + 0.5 * h * qdd))
        if trial is None:
            continue
        there = np.abs(orientation(tree, trial))
        if steps < tries[-1] and np.any(there * steps < LANDING * (here + there)):
            continue
        after = rechart(tree, trial)
        v = nearest_velocity(after, trial, qd + h * qdd)
        speed = _with_energy(tree, after, drive, (q, qd), (trial, v), u, h)
        return Passage(after, trial, speed * v, steps)
    return None


def _with_energy(
    tree: ClusterTree, after: ClusterTree, drive: Drive, x: tuple[Array, Array], y: tuple[Array, Array], u: Array,
    h: float,
) -> float:  # fmt: skip
    """The factor that gives the velocity at y the kinetic energy left after the work done since x, a time h before."""
    work = 0.5 * h * sum(float(joint_forces(drive, *z, u) @ z[1]) for z in (x, y))
    left = spanning_kinetic(tree, *x) + potential_energy(tree, x[0]) - potential_energy(tree, y[0]) + work
    has = spanning_kinetic(after, *y)
    scale = np.sqrt(max(left, 0.0) / has) if has > 0 else 1.0
    return scale if SPEED_CHANGE[0] < scale < SPEED_CHANGE[1] else 1.0


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
