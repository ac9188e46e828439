"""Energies, momentum and centre of mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.algorithms.trees.kinematics import motion, world_poses
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array


def kinetic_energy(tree: ClusterTree, q: Array, v: Array) -> Any:
    """Kinetic energy [J], armature included."""
    kin = motion(tree, q, v)
    total: Any = 0.0
    for I, u in zip(tree.top.inertia, kin.v, strict=True):
        total = total + u @ I.apply(u)
    if np.any(tree.top.armature != 0):
        for c, e in zip(tree, kin.embedding, strict=True):
            total = total + (tree.top.armature[list(c.dofs)] * e.qd) @ e.qd
    return 0.5 * total


def center_of_mass(tree: ClusterTree, q: Array) -> Array:
    """Centre of mass in the world [m]."""
    top = tree.top
    moment = np.zeros(3)
    for mass, at, T in zip(top.mass, top.com, world_poses(top, q), strict=True):
        moment = moment + mass * (T.p + T.R @ at)
    com: Array = moment / sum(top.mass)
    return com


def potential_energy(tree: ClusterTree, q: Array) -> Any:
    """Potential energy in gravity [J], zero at the world's origin."""
    top = tree.top
    total: Any = 0.0
    for mass, at, T in zip(top.mass, top.com, world_poses(top, q), strict=True):
        total = total - mass * (top.mechanism.gravity @ (T.p + T.R @ at))
    return total


def momentum(tree: ClusterTree, q: Array, v: Array) -> Array:
    """Spatial momentum about the world's origin, in world axes [N m s, N s]."""
    top = tree.top
    kin = motion(tree, q, v, turning=range(len(top)))
    total = np.zeros(6)
    for I, u, T in zip(top.inertia, kin.v, world_poses(top, q), strict=True):
        total = total + T.force(I.apply(u))
    return total
