"""One step of smooth motion, on closed loops: the semi-implicit step, and Runge-Kutta of order 4.

The semi-implicit step moves by half with the old velocity, accelerates there, and moves by half with the
new one: the symplectic leapfrog. Velocity products are taken at the middle of the step too (predicted with
the acceleration of the step before), so that tumbling bodies and linkages keep their energy to second order,
and flight is a parabola. Free bodies write their velocity in their own turning
axes; during the step it is written in the axes of its middle, so that turning mixes nothing with gravity.

The Runge-Kutta method integrates positions and velocities of *all* joints, x = (q, qd), with

    x' = f(P(x)),    P the orthogonal projection onto the closed loops, positions then velocities       (1)

a smooth field around the loops whose solutions stay on them: every stage is evaluated on closed loops, the
order is 4 whatever the joints are, and nothing depends on the charts, which only serve to compute f.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.articulated import Articulated, articulate
from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.cluster_aba import inward, outward
from kinloop.algorithms.trees.kinematics import Motion, motion, position_rate, scatter
from kinloop.clusters import ClusterTree
from kinloop.linear import join
from kinloop.model.joints import Free
from kinloop.sim.actuation import Drive, joint_forces
from kinloop.sim.charts.gauge import closest, project_position, project_velocity
from kinloop.spatial.transform import Array, cross


class Smooth(NamedTuple):
    """Everything known of the smooth motion at a state: spanning velocity and bias, accelerations, inertias.

    `acc` are the spatial accelerations of the bodies, gravity as the acceleration of the ground.
    """

    kin: Motion
    art: list[Articulated]
    qd: Array
    g: Array
    a: Array
    acc: list[Array]


def smooth(tree: ClusterTree, drive: Drive, q: Array, v: Array, u: Array, turning: Collection[int] = ()) -> Smooth:
    """Accelerations of the independent coordinates at (q, v) under controls u."""
    kin = motion(tree, q, v, turning)
    art = articulate(tree, kin)
    f = joint_forces(drive, q, scatter(tree, [e.qd for e in kin.embedding]), u)
    return accelerate(tree, kin, art, q, f)


def accelerate(tree: ClusterTree, kin: Motion, art: list[Articulated], q: Array, f: Array) -> Smooth:
    """Accelerations in a motion, under forces f on the spanning coordinates."""
    tau = [e.G.T @ f[list(c.dofs)] for c, e in zip(tree, kin.embedding, strict=True)]
    y, acc = outward(tree, kin, art, inward(tree, kin, art, body_bias(tree.top, kin.v, q, None), join(tau)))
    qd, g = scatter(tree, [e.qd for e in kin.embedding]), scatter(tree, [e.g for e in kin.embedding])
    return Smooth(kin, art, qd, g, join(y), acc)


def halfway(
    tree: ClusterTree, drive: Drive, q: Array, v: Array, before: Array, u: Array, h: float, turning: Collection[int]
) -> tuple[Smooth, Array]:
    """The smooth motion over a step whose middle is at q, and the velocity at its end.

    Velocity products are taken at the middle, predicted with the acceleration `before` of the last step,
    all other forces with the velocity v at the start. Velocities are in the axes of the middle, which do
    not turn.
    """
    v_mid = v + (0.5 * h) * before
    kin = motion(tree, q, v_mid, turning)
    f = joint_forces(drive, q, spanning(tree, kin, v), u)
    s = accelerate(tree, kin, articulate(tree, kin), q, f)
    return s, v + h * (s.a + transport(tree, v_mid))


def transport(tree: ClusterTree, v: Array) -> Array:
    """w x v of free joints, whose linear velocity is written in turning axes; zero for other coordinates."""
    out = np.zeros(tree.nv, dtype=v.dtype)
    for a in _free_starts(tree):
        out[a + 3 : a + 6] = cross(v[a : a + 3], v[a + 3 : a + 6])
    return out


def turned(tree: ClusterTree, v: Array, h: float) -> Array:
    """v with the linear velocity of free joints in axes that have turned on by the time h.

    By Cayley's map, a rotation: what is written down anew keeps its length.
    """
    out = np.array(v)
    for a in _free_starts(tree):
        t, x = (-0.5 * h) * v[a : a + 3], v[a + 3 : a + 6]
        out[a + 3 : a + 6] = x + (2.0 / (1.0 + t @ t)) * cross(t, x + cross(t, x))
    return out


def _free_starts(tree: ClusterTree) -> list[int]:
    return [c.v.start for c in tree if not c.parts and isinstance(tree.top.types[c.bodies[0]], Free)]


def spanning(tree: ClusterTree, kin: Motion, v: Array) -> Array:
    """G v, with the G of a motion already known."""
    return scatter(tree, [e.G @ v[c.v] for c, e in zip(tree, kin.embedding, strict=True)])


def state_rate(tree: ClusterTree, drive: Drive, x: tuple[Array, Array], u: Array) -> tuple[Array, Array]:
    """Rates of x = (q, qd), by (1)."""
    q = project_position(tree, x[0])
    return closed_rate(tree, drive, (q, project_velocity(tree, q, x[1])), u)


def closed_rate(tree: ClusterTree, drive: Drive, x: tuple[Array, Array], u: Array) -> tuple[Array, Array]:
    """Rates of x = (q, qd) on closed loops."""
    s = smooth(tree, drive, x[0], x[1][tree.independent_dofs], u)
    return position_rate(tree.top, x[0], s.qd), spanning(tree, s.kin, s.a) + s.g


def runge_kutta(tree: ClusterTree, drive: Drive, q: Array, qd: Array, u: Array, h: float) -> tuple[Array, Array, Any]:
    """(q, qd) after the classical step of order 4, closed, and the size of the last correction."""

    def ahead(k: tuple[Array, Array], part: float) -> tuple[Array, Array]:
        return q + part * h * k[0], qd + part * h * k[1]

    k1 = closed_rate(tree, drive, (q, qd), u)
    k2 = state_rate(tree, drive, ahead(k1, 0.5), u)
    k3 = state_rate(tree, drive, ahead(k2, 0.5), u)
    k4 = state_rate(tree, drive, ahead(k3, 1.0), u)
    q, qd = (x + (h / 6.0) * (a + 2.0 * (b + c) + d) for x, a, b, c, d in zip((q, qd), k1, k2, k3, k4, strict=True))
    q, correction = closest(tree, q)
    return q, project_velocity(tree, q, qd), correction


def runge_kutta_steps(
    tree: ClusterTree, drive: Drive, q: Array, qd: Array, u: Array, h: float, n: int
) -> tuple[Array, Array, Any]:
    """(q, qd) after the time h in n classical steps, and the largest last correction: one rolled loop."""
    nq = len(q)

    def body(carry: Array, given: Array) -> Array:
        q, qd, correction = runge_kutta(tree, drive, carry[:nq], carry[nq:-1], given, h / n)
        return np.array([*q, *qd, sc.maximum(carry[-1], correction)])

    end = sc.repeat(n, body, np.array([*q, *qd, 0.0]), u)
    return end[:nq], end[nq:-1], end[-1]
