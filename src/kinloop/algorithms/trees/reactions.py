"""Bearing loads: the wrench that every tree joint and every loop joint transmits.

With the motion known, the spanning tree with its loops cut would need the joint forces H qdd + c. What
the actuators do not give, the loops must: K^T lambda = H qdd + c - tau_spanning. Redundant rows leave
lambda open; the shortest one is taken. Each row is a unit wrench between the loop's two bodies; with
these on, Newton's law from the leaves inward gives what each tree joint transmits.
[Chignoli2023, (22)-(31)]; derivation: docs/algorithms/reactions.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.cluster_rnea import joint_wrenches
from kinloop.algorithms.trees.kinematics import body_accelerations, motion, spanning_accelerations, world_poses
from kinloop.clusters import ClusterTree
from kinloop.model import stacked_rows
from kinloop.scalar import Array


class Reactions(NamedTuple):
    """Wrenches [N m, N] by name.

    `joints`: on the child, through its tree joint, in the child's frame. `loops`: on the successor,
    through the loop, in the successor's frame (its predecessor feels the opposite). `transmissions`:
    for couplings and loop functions, the generalised forces they put on the joints they name.
    """

    joints: dict[str, Array]
    loops: dict[str, Array]
    transmissions: dict[str, dict[str, Array]]


def reactions(tree: ClusterTree, q: Array, v: Array, a: Array, tau: Array, f_ext: Array | None = None) -> Reactions:
    """Wrenches of all joints and loops in the motion (q, v, a) under tau at the independent joints."""
    top = tree.top
    kin = motion(tree, q, v, turning=range(len(top)))
    acc = body_accelerations(tree, kin, a)
    p = body_bias(top, kin.v, q, None)
    net = [I.apply(x) + b for I, x, b in zip(top.inertia, acc, p, strict=True)]
    if f_ext is not None:
        net = [f - x for f, x in zip(net, f_ext, strict=True)]
    cut = joint_wrenches(tree, kin, net)
    missing = np.concatenate([kin.S[i].T @ f for i, f in enumerate(cut)])
    missing = missing + top.armature * spanning_accelerations(tree, kin, a)
    missing[tree.independent_dofs] -= tau
    loops: dict[str, Array] = {}
    transmissions: dict[str, dict[str, Array]] = {}
    for name, multipliers in _multipliers(tree, q, missing).items():
        part = next(x for x in top.mechanism.closures if x.name == name)
        rows = part.rows(top, q)
        basis = part.wrench_basis(top, q)
        if part.ends is not None and basis is not None:
            loops[name], given = _loop_wrench(tree, q, part.ends, basis, multipliers)
            net = [f - given[i] if i in given else f for i, f in enumerate(net)]
        else:
            force = rows.K.T @ multipliers
            names = [top.coordinates[d] for d in rows.dofs]
            transmissions[name] = {n: np.asarray(f) for n, f in zip(names, force, strict=True)}
    wrenches = joint_wrenches(tree, kin, net)
    return Reactions({j.name: f for j, f in zip(top.joints, wrenches, strict=True)}, loops, transmissions)


def _multipliers(tree: ClusterTree, q: Array, missing: Array) -> dict[str, Array]:
    """The shortest multipliers of each constraint that explain the missing joint forces."""
    out: dict[str, Array] = {}
    for c in tree:
        if not c.parts:
            continue
        K = stacked_rows(tree.top, c.parts, c.dofs, q).K
        U, s, Vt = np.linalg.svd(K, full_matrices=False)
        r = len(c.chart.rows)
        multipliers = U[:, :r] @ ((Vt[:r] @ missing[list(c.dofs)]) / s[:r])
        at = 0
        for part in c.parts:
            n = len(part.rows(tree.top, q).phi)
            out[part.name] = multipliers[at : at + n]
            at += n
    return out


def _loop_wrench(
    tree: ClusterTree, q: Array, ends: tuple[str, str], basis: Array, multipliers: Array
) -> tuple[Array, dict[int, Array]]:
    """The wrench of a loop on its successor, and what it gives each of its bodies, by number; the world left out."""
    top = tree.top
    poses = world_poses(top, q)
    i, j = (top.body_index[end] for end in ends)
    nca, _, _ = top.paths(i, j)
    W = (poses[nca].force(basis) if nca >= 0 else basis) @ multipliers  # about the world's origin, world axes
    given: dict[int, Array] = {}
    if j >= 0:
        given[j] = poses[j].force_back(W)
    if i >= 0:
        given[i] = -poses[i].force_back(W)
    return given.get(j, W), given
