"""One step of smooth motion: semi-implicit Euler or Runge-Kutta of order 4, on closed loops.

The Runge-Kutta method integrates positions and velocities of *all* joints, x = (q, qd), with

    x' = f(P(x)),    P the orthogonal projection onto the closed loops, positions then velocities       (1)

a smooth field around the loops whose solutions stay on them: every stage is evaluated on closed loops, the
order is 4 whatever the joints are, and nothing depends on the charts, which only serve to compute f.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.articulated import Articulated, articulate
from kinloop.algorithms.cluster_aba import accelerations, body_bias
from kinloop.algorithms.kinematics import Motion, motion, scatter
from kinloop.clusters import ClusterTree
from kinloop.model.joints import Free
from kinloop.model.topology import Topology
from kinloop.sim.actuation import Drive, joint_forces
from kinloop.sim.closing import closest, project_position, project_velocity
from kinloop.spatial.transform import Array


class Smooth(NamedTuple):
    """Everything known of the smooth motion at a state: spanning velocity and bias, acceleration, inertias."""

    kin: Motion
    art: list[Articulated]
    qd: Array
    g: Array
    a: Array


def smooth(tree: ClusterTree, drive: Drive, q: Array, v: Array, u: Array, h: float, turning=()) -> Smooth:
    """Accelerations of the independent coordinates under controls u; h > 0 takes linear forces implicitly."""
    kin = motion(tree, q, v, turning)
    art = articulate(tree, kin)
    qd = scatter(tree, [e.qd for e in kin.embedding])
    g = scatter(tree, [e.g for e in kin.embedding])
    f = joint_forces(drive, q, qd, u, h)
    tau = [e.G.T @ f[list(c.dofs)] for c, e in zip(tree, kin.embedding, strict=True)]
    p = body_bias(tree.top, kin.v, q, None)
    y, _ = accelerations(tree, kin, art, p, np.concatenate(tau) if tau else np.zeros(0))
    return Smooth(kin, art, qd, g, np.concatenate(y) if y else np.zeros(0))


def spanning(tree: ClusterTree, kin: Motion, v: Array) -> Array:
    """G v, with the G of a motion already known."""
    return scatter(tree, [e.G @ v[c.v] for c, e in zip(tree, kin.embedding, strict=True)])


def position_rate(top: Topology, q: Array, qd: Array) -> Array:
    """dq/dt for the spanning velocity qd."""
    parts = [t.rate(q[a], qd[b]) for t, a, b in zip(top.types, top.q_of, top.v_of, strict=True)]
    return np.concatenate(parts or [np.zeros(0)])


def state_rate(tree: ClusterTree, drive: Drive, x: tuple[Array, Array], u: Array) -> tuple[Array, Array]:
    """Rates of x = (q, qd), by (1)."""
    q = project_position(tree, x[0])
    v = project_velocity(tree, q, x[1])[tree.independent_dofs]
    s = smooth(tree, drive, q, v, u, 0.0)
    return position_rate(tree.top, q, s.qd), spanning(tree, s.kin, s.a) + s.g


def free_fall(tree: ClusterTree, q: Array, h: float) -> Array:
    """What the semi-implicit step h v misses where a free base falls: -g h^2 / 2, so that flight is a parabola.

    It is the same for all states, so that the step stays symplectic.
    """
    top = tree.top
    out = np.zeros(tree.nv, dtype=q.dtype)
    for c in tree:
        if c.parent < 0 and len(c.bodies) == 1 and isinstance(top.types[c.bodies[0]], Free):
            i = c.bodies[0]
            R = (top.placement[i].R @ top.types[i].pose(q[top.q_of[i]]).R).T
            out[c.v.start + 3 : c.v.stop] = R @ (-0.5 * h * h * top.mechanism.gravity)
    return out


def runge_kutta(tree: ClusterTree, drive: Drive, q: Array, qd: Array, u: Array, h: float) -> tuple[Array, Array, Any]:
    """(q, v) after the classical step of order 4, closed, and the size of the last correction."""

    def ahead(k: tuple[Array, Array], part: float) -> tuple[Array, Array]:
        return q + part * h * k[0], qd + part * h * k[1]

    k1 = state_rate(tree, drive, (q, qd), u)
    k2 = state_rate(tree, drive, ahead(k1, 0.5), u)
    k3 = state_rate(tree, drive, ahead(k2, 0.5), u)
    k4 = state_rate(tree, drive, ahead(k3, 1.0), u)
    q, qd = (x + (h / 6.0) * (a + 2.0 * (b + c) + d) for x, a, b, c, d in zip((q, qd), k1, k2, k3, k4, strict=True))
    q, correction = closest(tree, q)
    return q, project_velocity(tree, q, qd)[tree.independent_dofs], correction
