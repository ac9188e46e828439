"""What moves with the centre of mass: its Jacobian, the centroidal momentum matrix, its rate times v, gravity's force.

All of them need, of every joint, only what it carries as a whole: mass m and first moment h, or the inertia I of its
subtree, added up inward. The column of joint i is then one product, turned into world axes:

    centre of mass   R_i (m_i u - h_i x w) / m           with S_i = (w, u)                                       (1)
    momentum         I_i S_i,  moments moved to the centre of mass                                              (2)
    gravity          S_i^T (h_i x a, m_i a)               with a = -R_i^T a_g                                    (3)

Joints of one cluster move together: spanning columns times G. Derivation: docs/algorithms/momentum_and_frames.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.cluster_rnea import joint_wrenches
from kinloop.algorithms.trees.energy import check_mass
from kinloop.algorithms.trees.kinematics import Motion, body_accelerations, motion, still, world_acceleration
from kinloop.clusters import ClusterTree
from kinloop.linear import join, total
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross, total_inertia


class Carried(NamedTuple):
    """Mass m and first moment h of every body with all it carries, in its frame; `whole`: all h in the world."""

    m: Array
    h: list[Array]
    whole: Array


def carried(top: Topology, T: Sequence[Transform], as_parts: bool) -> Carried:
    """Masses and first moments, inward; as parts of the robot's mass `whole` is the place of its centre of mass."""
    m = list(top.mass)
    for i in reversed(range(len(top))):
        if (parent := top.parent[i]) >= 0:
            m[parent] = m[parent] + m[i]
    unit = sum(x for x, parent in zip(m, top.parent, strict=True) if parent < 0) if as_parts else 1.0
    check_mass(top, unit)
    m, masses = np.array(m) / unit, np.array(top.mass) / unit
    parts = [[x * at] for x, at in zip(masses, top.com, strict=True)]
    h, world = [x[0] for x in parts], [np.zeros(3)]
    for i in reversed(range(len(top))):
        h[i], parent = total(parts[i]), top.parent[i]
        (parts[parent] if parent >= 0 else world).append(T[i].R @ h[i] + m[i] * T[i].p)
    return Carried(m, h, total(world))


def reached(top: Topology, T: Sequence[Transform]) -> list[Transform]:
    """Poses in the world of the frames that `T` places on each other."""
    out: list[Transform] = []
    for i, parent in enumerate(top.parent):
        out.append(T[i] if parent < 0 else out[parent].then(T[i]))
    return out


def independent_columns(tree: ClusterTree, kin: Motion, columns: Sequence[Array], height: int) -> Array:
    """Columns of every joint, put together as the joints of each cluster move together: (height, nv)."""
    blocks = [
        np.concatenate([columns[i] for i in c.bodies], axis=1) @ e.G for c, e in zip(tree, kin.embedding, strict=True)
    ]
    return np.concatenate([np.zeros((height, 0)), *blocks], axis=1)


def center_of_mass_jacobian(tree: ClusterTree, q: Array) -> Array:
    """J (3, nv): velocity of the centre of mass, world axes, per unit of independent velocity. (1)"""
    top, kin = tree.top, still(tree, q)
    all_of = carried(top, kin.T, as_parts=True)
    columns = [
        pose.R @ (m * S[3:] - cross(h, S[:3]))
        for pose, S, m, h in zip(reached(top, kin.T), kin.S, all_of.m, all_of.h, strict=True)
    ]
    return independent_columns(tree, kin, columns, 3)


def centroidal_momentum_matrix(tree: ClusterTree, q: Array) -> Array:
    """A (6, nv): momentum about the centre of mass, world axes, angular first, is A v. (2)"""
    top, kin = tree.top, still(tree, q)
    c = carried(top, kin.T, as_parts=True).whole
    parts = [[I] for I in top.inertia]
    columns = [np.zeros((6, 0))] * len(top)
    poses = reached(top, kin.T)
    for i in reversed(range(len(top))):
        I, parent = total_inertia(parts[i]), top.parent[i]
        columns[i] = Transform(poses[i].R, poses[i].p - c).force(I.apply(kin.S[i]))
        if parent >= 0:
            parts[parent].append(I.seen_from(kin.T[i]))
    return independent_columns(tree, kin, columns, 6)


def centroidal_momentum(tree: ClusterTree, q: Array, v: Array) -> Array:
    """Momentum about the centre of mass, world axes, angular first [N m s, N s]."""
    kin = motion(tree, q, v)
    return _about_center(tree, kin, [I.apply(u) for I, u in zip(tree.top.inertia, kin.v, strict=True)])


def centroidal_momentum_bias(tree: ClusterTree, q: Array, v: Array) -> Array:
    """dA/dt v: the rate of the centroidal momentum at zero independent acceleration [N m, N].

    By Newton and Euler, what all bodies need together for their accelerations: nothing is differentiated.
    """
    top, kin = tree.top, motion(tree, q, v)
    acc = body_accelerations(tree, kin, np.zeros(tree.nv), np.zeros(6))
    p = body_bias(top, kin.v, q, None)
    return _about_center(tree, kin, [I.apply(x) + b for I, x, b in zip(top.inertia, acc, p, strict=True)])


def _about_center(tree: ClusterTree, kin: Motion, of_bodies: list[Array]) -> Array:
    """The sum of momenta, or of wrenches, of all bodies, about the centre of mass in world axes."""
    top = tree.top
    c = carried(top, kin.T, as_parts=True).whole
    inward = joint_wrenches(tree, kin, of_bodies)
    roots = [i for i, parent in enumerate(top.parent) if parent < 0]
    return total([np.zeros(6), *(Transform(kin.T[i].R, kin.T[i].p - c).force(inward[i]) for i in roots)])


def gravity_force(tree: ClusterTree, q: Array) -> Array:
    """The forces tau that hold the robot still against gravity: the gradient of the potential energy. (3)"""
    top, kin = tree.top, still(tree, q)
    all_of = carried(top, kin.T, as_parts=False)
    a: list[Array] = []
    joint: list[Array] = []
    for i, parent in enumerate(top.parent):
        a.append(kin.T[i].R.T @ (a[parent] if parent >= 0 else world_acceleration(top)[3:]))
        joint.append(kin.S[i].T @ np.concatenate([cross(all_of.h[i], a[i]), all_of.m[i] * a[i]]))
    blocks = [e.G.T @ join([joint[i] for i in c.bodies]) for c, e in zip(tree, kin.embedding, strict=True)]
    return join(blocks)
