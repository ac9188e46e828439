"""Inverse dynamics of cluster trees: the cluster recursive Newton-Euler algorithm.

Everything is in its own body's frame. Derivation: docs/algorithms/cluster_rnea.md; after [Chignoli2023,
(33)-(35)].
"""

from __future__ import annotations

import numpy as np

from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.kinematics import Motion, body_accelerations, motion, spanning_accelerations
from kinloop.clusters import ClusterTree
from kinloop.linear import join, total
from kinloop.scalar import Array


def cluster_rnea(tree: ClusterTree, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> Array:
    """The forces tau, dual to the independent velocities, that give the accelerations a.

    f_ext (bodies, 6): external wrenches [N m, N], each in its body's frame.
    """
    top = tree.top
    kin = motion(tree, q, v)
    acc = body_accelerations(tree, kin, a)
    p = body_bias(top, kin.v, q, f_ext)
    net = [I.apply(x) + b for I, x, b in zip(top.inertia, acc, p, strict=True)]
    joint = spanning_forces(tree, kin, net)
    if np.any(top.armature != 0):
        joint = joint + top.armature * spanning_accelerations(tree, kin, a)
    return join([e.G.T @ joint[list(c.dofs)] for c, e in zip(tree, kin.embedding, strict=True)])


def joint_wrenches(tree: ClusterTree, kin: Motion, net: list[Array]) -> list[Array]:
    """f_i: what each tree joint must transmit for its subtree, the loops being cut."""
    top = tree.top
    parts: list[list[Array]] = [[f] for f in net]
    out: list[Array] = list(net)
    for i in reversed(range(len(top))):
        out[i] = total(parts[i])
        if top.parent[i] >= 0:
            parts[top.parent[i]].append(kin.T[i].force(out[i]))
    return out


def spanning_forces(tree: ClusterTree, kin: Motion, net: list[Array]) -> Array:
    """S_i^T f_i of every tree joint."""
    return join([S.T @ f for S, f in zip(kin.S, joint_wrenches(tree, kin, net), strict=True)])


def bias_force(tree: ClusterTree, q: Array, v: Array, f_ext: Array | None = None) -> Array:
    """tau at zero acceleration: Coriolis, centrifugal and gravity forces."""
    return cluster_rnea(tree, q, v, np.zeros(tree.nv), f_ext)
