"""Smooth motion, between impacts: accelerations under gravity, motors and passive joint forces.

Two views of it. The independent one, in the charts in force: accelerations a of the coordinates v. And the one of all
joints: x = (q, qd) moves by

    x' = f(P(x)),    P the orthogonal projection onto the closed loops, positions then velocities       (1)

a smooth field around the loops whose solutions stay on them. Every evaluation is on closed loops, and nothing depends
on the charts, which only serve to compute f.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from kinloop.algorithms.trees.articulated import Articulated, articulate
from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.cluster_aba import inward, outward
from kinloop.algorithms.trees.kinematics import Motion, motion, scatter
from kinloop.clusters import ClusterTree
from kinloop.clusters.closing import closest, project_velocity
from kinloop.linear import join
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive, joint_forces


class SmoothMotion(NamedTuple):
    """The smooth motion at a state: kinematics `kin`, articulated inertias `art`, accelerations.

    `qd` and `g` are the spanning velocity and its bias (qdd = G a + g), `a` the accelerations of the independent
    coordinates, `acc` the spatial accelerations of the bodies, with gravity as an acceleration of the ground.
    """

    kin: Motion
    art: list[Articulated]
    qd: Array
    g: Array
    a: Array
    acc: list[Array]


def smooth_motion(
    tree: ClusterTree, drive: Drive, q: Array, v: Array, u: Array, turning: Collection[int] = ()
) -> SmoothMotion:
    """The smooth motion at (q, v) under controls u; bodies in `turning` are posed even if their spin is unseen."""
    kin = motion(tree, q, v, turning)
    art = articulate(tree, kin)
    f = joint_forces(drive, q, scatter(tree, [e.qd for e in kin.embedding]), u)
    return accelerate(tree, kin, art, q, f)


def accelerate(tree: ClusterTree, kin: Motion, art: list[Articulated], q: Array, f: Array) -> SmoothMotion:
    """The smooth motion with known kinematics and inertias, under forces f on the spanning coordinates."""
    tau = [e.G.T @ f[list(c.dofs)] for c, e in zip(tree, kin.embedding, strict=True)]
    y, acc = outward(tree, kin, art, inward(tree, kin, art, body_bias(tree.top, kin.v, q, None), join(tau)))
    qd, g = scatter(tree, [e.qd for e in kin.embedding]), scatter(tree, [e.g for e in kin.embedding])
    return SmoothMotion(kin, art, qd, g, join(y), acc)


def spanning(tree: ClusterTree, kin: Motion, v: Array) -> Array:
    """G v: spanning velocities for the independent ones, with the G of known kinematics."""
    return scatter(tree, [e.G @ v[c.v] for c, e in zip(tree, kin.embedding, strict=True)])


def position_rate(top: Topology, q: Array, qd: Array) -> Array:
    """dq/dt for the spanning velocity qd."""
    parts = [t.rate(q[a], qd[b]) for t, a, b in zip(top.types, top.q_of, top.v_of, strict=True)]
    return np.concatenate(parts or [np.zeros(0)])


def closed_rate(tree: ClusterTree, drive: Drive, x: tuple[Array, Array], u: Array) -> tuple[Array, Array]:
    """f(x): rates of x = (q, qd) on closed loops."""
    s = smooth_motion(tree, drive, x[0], x[1][tree.independent_dofs], u)
    return position_rate(tree.top, x[0], s.qd), spanning(tree, s.kin, s.a) + s.g


def state_rate(tree: ClusterTree, drive: Drive, x: tuple[Array, Array], u: Array) -> tuple[Array, Array]:
    """f(P(x)): rates of x = (q, qd) near closed loops, by (1)."""
    q, _ = closest(tree, x[0])
    return closed_rate(tree, drive, (q, project_velocity(tree, q, x[1])), u)
