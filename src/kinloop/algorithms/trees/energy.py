"""Energies, momentum and centre of mass, and the gradient of the kinetic energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_changes import columns, jacobian_changes
from kinloop.algorithms.trees.cluster_rnea import joint_wrenches
from kinloop.algorithms.trees.derivatives import on_symbols
from kinloop.algorithms.trees.kinematics import Motion, motion, world_poses
from kinloop.clusters import ClusterTree
from kinloop.errors import ModelError
from kinloop.linear import join
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import cross_motion


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
    whole = sum(top.mass)
    check_mass(top, whole)
    com: Array = moment / whole
    return com


def check_mass(top: Topology, whole: Any) -> None:
    """Refuse a robot without any mass [kg], which has no centre of mass; a mass that was left open may be anything."""
    if not isinstance(whole, sc.Symbol) and not whole > 0.0:
        raise ModelError(
            f"the masses of {top.mechanism.name!r} add up to {whole:g} kg, and without mass there is no centre of it; "
            "give one of its bodies a mass above zero"
        )


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


@on_symbols
def kinetic_energy_gradient(tree: ClusterTree, q: Array, v: Array) -> tuple[Array, Array]:
    """dT/dq along closed motions at constant numbers v, and dT/dv = M v, each (nv,).

    Along q: the momentum F of a body and all it carries, times the change of that body's velocity by its own joint.
    """
    top, kin = tree.top, motion(tree, q, v)
    F = joint_wrenches(tree, kin, [I.apply(u) for I, u in zip(top.inertia, kin.v, strict=True)])
    along_q: list[Array] = []
    along_v: list[Array] = []
    for c in tree:
        G, qd, _ = kin.embedding[c.index]
        armature = top.armature[list(c.dofs)]
        momentum = join([kin.S[i].T @ F[i] for i in c.bodies]) + armature * qd
        along_v.append(G.T @ momentum)
        dG = jacobian_changes(tree, c, G, q)
        found = np.array([(x @ v[c.v]) @ momentum for x in dG])
        row = 0
        for i in c.bodies:
            here = slice(row, row := row + top.types[i].nv)
            moved = _joint_moved(tree, kin, i, q, qd[here], G[here])
            found = found + moved.T @ F[i]
        along_q.append(found)
    return join(along_q), join(along_v)


def _joint_moved(tree: ClusterTree, kin: Motion, i: int, q: Array, qd: Array, G: Array) -> Array:
    """How the velocity of body i changes as its own joint turns by G (columns), at the same qd."""
    top, S, p = tree.top, kin.S[i], tree.top.parent[i]
    out = np.zeros((6, G.shape[1]))
    if p >= 0 and not top.spins_unseen[i]:
        out = cross_motion(kin.T[i].motion(kin.v[p]), S @ G)
    if S.dtype == object:
        at = q[top.q_of[i]]
        out = out + columns([sc.jvp(S, at, top.types[i].rate(at, x)) @ qd for x in G.T], 6)
    return out
