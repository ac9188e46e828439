"""Smooth motion, between impacts: accelerations under gravity, motors, passive joint forces and forces of users.

Two views of it. The independent one, in the charts in force: accelerations a of the coordinates v. And the one of all
joints: x = (q, qd) moves by

    x' = f(P(x)),    P the orthogonal projection onto the closed loops, positions then velocities       (1)

a smooth field around the loops whose solutions stay on them. Every evaluation is on closed loops, and nothing depends
on the charts, which only serve to compute f.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.trees.articulated import Articulated, articulate
from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.cluster_aba import inward, outward
from kinloop.algorithms.trees.kinematics import Motion, joint_pose, motion, scatter, still
from kinloop.clusters import ClusterTree
from kinloop.linear import join
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive, joint_forces
from kinloop.sim.contact.propagation import Soft
from kinloop.sim.on_loops import closed_twice, coordinates, projected, spanning
from kinloop.sim.outside import NOTHING, Outside
from kinloop.sim.singularity import nearness


class SmoothMotion(NamedTuple):
    """The smooth motion at a state: kinematics `kin`, articulated inertias `art`, accelerations.

    `qd` and `g` are the spanning velocity and its bias (qdd = G a + g), `a` the accelerations of the independent
    coordinates, `acc` the spatial accelerations of the bodies, with gravity as an acceleration of the ground. `soft`
    are springs and dampers that a step takes implicitly, besides those at joints. `rub` is the dry friction of gears on
    spanning coordinates, where motors have any.
    """

    kin: Motion
    art: list[Articulated]
    qd: Array
    g: Array
    a: Array
    acc: list[Array]
    soft: tuple[Soft, ...] = ()
    rub: Array | None = None


def accelerate(tree: ClusterTree, kin: Motion, art: list[Articulated], q: Array, f: Array) -> SmoothMotion:
    """The smooth motion with known kinematics and inertias, under forces f on the spanning coordinates."""
    tau = [e.G.T @ f[list(c.dofs)] for c, e in zip(tree, kin.embedding, strict=True)]
    y, acc = outward(tree, kin, art, inward(tree, kin, art, body_bias(tree.top, kin.v, q, None), join(tau)))
    qd, g = scatter(tree, [e.qd for e in kin.embedding]), scatter(tree, [e.g for e in kin.embedding])
    return SmoothMotion(kin, art, qd, g, join(y), acc)


def position_rate(top: Topology, q: Array, qd: Array) -> Array:
    """dq/dt for the spanning velocity qd."""
    parts = [t.rate(q[a], qd[b]) for t, a, b in zip(top.types, top.q_of, top.v_of, strict=True)]
    return np.concatenate(parts or [np.zeros(0)])


def closed_rate(
    tree: ClusterTree, drive: Drive, x: tuple[Array, Array], u: Array, outside: Outside = NOTHING
) -> tuple[Array, Array]:
    """f(x): rates of x = (q, qd) on closed loops."""
    q, qd = x
    v = coordinates(tree, still(tree, q).embedding, qd)
    kin = motion(tree, q, v)
    f = all_forces(tree.top, drive, outside, q, scatter(tree, [e.qd for e in kin.embedding]), u)
    s = accelerate(tree, kin, articulate(tree, kin), q, f)
    return position_rate(tree.top, q, s.qd), spanning(tree, kin.embedding, s.a) + s.g


def all_forces(top: Topology, drive: Drive, outside: Outside, q: Array, qd: Array, u: Array) -> Array:
    """Forces on the spanning coordinates: those at joints, and those of users, at this very state."""
    f = joint_forces(drive, q, qd, u)
    return f + outside.forces(top, q, qd, u) if outside else f


def working_forces(top: Topology, drive: Drive, outside: Outside, q: Array, qd: Array, u: Array) -> Array:
    """Forces on the spanning coordinates that do work: those at joints, and those of users but their springs."""
    f = joint_forces(drive, q, qd, u)
    return f + outside.working(top, q, qd, u) if outside else f


def state_rate(
    tree: ClusterTree, drive: Drive, x: tuple[Array, Array], u: Array, outside: Outside = NOTHING
) -> tuple[tuple[Array, Array], Any]:
    """f(P(x)): rates of x = (q, qd) near closed loops, by (1), and how near P(x) is to a singular configuration."""
    q, _ = closed_twice(tree, tree.top.normalized(x[0]))
    return closed_rate(tree, drive, (q, projected(tree, q, x[1])), u, outside), nearness(tree, q)


def spanning_kinetic_energy(tree: ClusterTree, q: Array, qd: Array) -> Any:
    """Kinetic energy [J] of a spanning velocity, whether the loops allow it or not."""
    top = tree.top
    energy: Any = 0.5 * (top.armature * qd) @ qd
    twist: list[Array] = []
    for i, parent in enumerate(top.parent):
        own = top.types[i].subspace(q[top.q_of[i]]) @ qd[top.v_of[i]]
        twist.append(own if parent < 0 else joint_pose(top, i, q).motion(twist[parent]) + own)
        energy = energy + 0.5 * (twist[i] @ top.inertia[i].apply(twist[i]))
    return energy
