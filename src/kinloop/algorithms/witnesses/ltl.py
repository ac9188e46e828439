"""Constrained motion by the sparse factorisation M = L^T L of the joint-space inertia: LTL and LTL-OSIM.

    Y = L^-T J^T,   J M^-1 J^T = Y^T Y,
    (Y^T Y) lambda = k - J' v - Y^T L^-T (tau - c)                                     (1)

M comes from composite inertias, J^T from wrenches carried rigidly inward. The baseline of [Sathya2023,
section II-C], after [Featherstone2005, Featherstone2010], on the independent coordinates of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.constraint_wrenches import Held, hold, placed_bodies
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.multipliers import solve_rows
from kinloop.algorithms.constrained.passes import Solution, force_bias
from kinloop.algorithms.constrained.pv import join
from kinloop.algorithms.trees.articulated import cluster_subspace
from kinloop.algorithms.trees.cluster_aba import body_accelerations
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_rnea import spanning_accelerations, spanning_forces
from kinloop.algorithms.trees.kinematics import Motion, motion, still
from kinloop.algorithms.witnesses.spanning_tree import SparseLTL
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram
from kinloop.scalar import Array


def ltl(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    plan: Sequence[int] | None = None,
) -> Solution:
    """Accelerations and multipliers; `plan` names dependent rows where they cannot be looked for."""
    _kin, held, J, k, free = joint_space(tree, q, v, tau, placed, f_ext)
    factor = SparseLTL(cluster_crba(tree, q), velocity_parents(tree))
    y = factor.solve_lower(free.reshape(-1, 1))
    if not held:
        return Solution(factor.solve_upper(y)[:, 0], np.zeros(0), np.zeros(0))
    Y = factor.solve_lower(J.T)
    multipliers, residual, lost = solve_rows(gram(Y, Y), k - (Y.T @ y)[:, 0], plan, size=_sizes(J, held, factor))
    y = y + (Y @ multipliers).reshape(-1, 1)
    return Solution(factor.solve_upper(y)[:, 0], multipliers, residual, lost)


def joint_space(
    tree: ClusterTree, q: Array, v: Array, tau: Array, placed: Sequence[Placed], f_ext: Array | None
) -> tuple[Motion, list[Held], Array, Array, Array]:
    """Motion, constraints, their J (m, nv), k less what they read at a = 0, and tau - c."""
    top, turning = tree.top, placed_bodies(placed)
    kin = motion(tree, q, v, turning)
    held = [hold(tree, kin, q, p) for p in placed]
    none = np.zeros(tree.nv)
    acc = body_accelerations(tree, kin, none)
    p = force_bias(top, kin, q, f_ext, turning)
    forces = spanning_forces(tree, kin, [I.apply(x) + b for I, x, b in zip(top.inertia, acc, p, strict=True)])
    qdd = spanning_accelerations(tree, kin, none)
    if np.any(top.armature != 0):
        forces = forces + top.armature * qdd
    free = [tau[c.v] - e.G.T @ forces[list(c.dofs)] for c, e in zip(tree, kin.embedding, strict=True)]
    k = join([h.k - _read(h, acc, qdd) for h in held])
    return kin, held, constraint_jacobian(tree, kin, held), k, join(free)


def _read(h: Held, acc: list[Array], qdd: Array) -> Array:
    """A constraint's value for given accelerations of bodies and joints."""
    out = np.zeros(h.size)
    for i, f in h.ends.items():
        out = out + f.T @ acc[i]
    for d, f in h.joints.items():
        out = out + f * qdd[d]
    return out


def constraint_jacobian(tree: ClusterTree, kin: Motion, held: Sequence[Held]) -> Array:
    """J (m, nv): wrenches carried rigidly to the world, as every cluster's joint feels them."""
    top = tree.top
    S = {c.index: cluster_subspace(top, c, kin) for c in tree}
    symbolic = any(x.dtype == object for T in kin.T for x in T)
    blocks = []
    for h in held:
        J = np.full((h.size, tree.nv), 0.0, dtype=object if symbolic else float)
        waiting = dict(h.ends)
        for c in reversed(tree.clusters):
            for i in c.bodies:
                if i in waiting:
                    J[:, c.v] = J[:, c.v] + waiting[i].T @ S[c.index][i]
            for row, d in enumerate(c.dofs):
                if d in h.joints:
                    J[:, c.v] = J[:, c.v] + np.multiply.outer(h.joints[d], kin.embedding[c.index].G[row])
            for i in reversed(c.bodies):
                if i in waiting:
                    f, parent = kin.T[i].force(waiting.pop(i)), top.parent[i]
                    if parent >= 0:
                        waiting[parent] = waiting[parent] + f if parent in waiting else f
        blocks.append(J)
    return np.concatenate(blocks) if blocks else np.zeros((0, tree.nv))


def velocity_parents(tree: ClusterTree) -> list[int]:
    """For every independent velocity the next one towards the world, -1 at the end."""
    out: list[int] = []
    last: dict[int, int] = {-1: -1}
    for c in tree:
        before = last[c.parent]
        for d in range(c.v.start, c.v.stop):
            out.append(before)
            before = d
        last[c.index] = before
    return out


def _sizes(J: Array, held: Sequence[Held], factor: SparseLTL) -> Array | float:
    """What the diagonal of J M^-1 J^T could be at least (numbers only)."""
    if J.dtype == object or factor.L.dtype == object or not len(factor.L):
        return 0.0
    parts = [sum(((f * f).sum(axis=0) for f in h.ends.values()), start=np.zeros(h.size)) for h in held]
    parts = [
        p + sum((f * f for f in h.joints.values()), start=np.zeros(h.size)) for p, h in zip(parts, held, strict=True)
    ]
    return join(parts) / float(np.max(np.diag(factor.L)) ** 2)


def ltl_osim(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T (m, m) of the constraints' rows."""
    kin = still(tree, q, placed_bodies(placed))
    J = constraint_jacobian(tree, kin, [hold(tree, kin, q, p) for p in placed])
    if not len(J):
        return np.zeros((0, 0))
    Y = SparseLTL(cluster_crba(tree, q), velocity_parents(tree)).solve_lower(J.T)
    return gram(Y, Y)


def ltl_osim_solve(tree: ClusterTree, q: Array, x: Array, placed: Sequence[Placed]) -> Array:
    """(J M^-1 J^T)^-1 x."""
    return Factor(ltl_osim(tree, q, placed)).solve(np.asarray(x))
