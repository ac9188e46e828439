"""Constrained motion by the sparse factorisation M = L^T L of the joint-space inertia: LTL and LTL-OSIM.

    Y = L^-T J^T,   J M^-1 J^T = Y^T Y,
    (Y^T Y) lambda = k - J' v - Y^T L^-T (tau - c)                                     (1)

M comes from composite inertias, J^T from wrenches propagated rigidly inward. The baseline of [Sathya2023,
section II-C], after [Featherstone2005, Featherstone2010], on the independent coordinates of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches, constrained_bodies, wrenches_of
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.multipliers import RowPlan, solve_rows
from kinloop.algorithms.constrained.passes import Solution
from kinloop.algorithms.trees.articulated import cluster_subspace
from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.branch_factor import velocity_parents
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_rnea import spanning_forces
from kinloop.algorithms.trees.kinematics import Motion, body_accelerations, motion, spanning_accelerations, still
from kinloop.algorithms.witnesses.sparse_ltl import SparseLTL
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram, join
from kinloop.scalar import Array


def ltl(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    plan: RowPlan | None = None,
) -> Solution:
    """Accelerations and multipliers; `plan` says of rows what cannot be looked for on symbols."""
    constraints, J, k, free = joint_space(tree, q, v, tau, placed, f_ext)
    factor = SparseLTL(cluster_crba(tree, q), velocity_parents(tree))
    y = factor.solve_lower(free.reshape(-1, 1))
    if not constraints:
        return Solution(factor.solve_upper(y)[:, 0], np.zeros(0), np.zeros(0))
    Y = factor.solve_lower(J.T)
    dependent, size = (None, _sizes(constraints, factor)) if plan is None else plan
    multipliers, residual, lost = solve_rows(gram(Y, Y), k - (Y.T @ y)[:, 0], dependent, size=size)
    y = y + (Y @ multipliers).reshape(-1, 1)
    return Solution(factor.solve_upper(y)[:, 0], multipliers, residual, lost)


def joint_space(
    tree: ClusterTree, q: Array, v: Array, tau: Array, placed: Sequence[Placed], f_ext: Array | None
) -> tuple[list[ConstraintWrenches], Array, Array, Array]:
    """Constraints, their J (m, nv), k less what they read at a = 0, and tau - c."""
    top, turning = tree.top, constrained_bodies(placed)
    kin = motion(tree, q, v, turning)
    constraints = [wrenches_of(tree, kin, q, p) for p in placed]
    none = np.zeros(tree.nv)
    acc = body_accelerations(tree, kin, none)
    p = body_bias(top, kin.v, q, f_ext, turning)
    forces = spanning_forces(tree, kin, [I.apply(x) + b for I, x, b in zip(top.inertia, acc, p, strict=True)])
    qdd = spanning_accelerations(tree, kin, none)
    if np.any(top.armature != 0):
        forces = forces + top.armature * qdd
    free = [tau[c.v] - e.G.T @ forces[list(c.dofs)] for c, e in zip(tree, kin.embedding, strict=True)]
    k = join([w.k - w.read(acc, qdd) for w in constraints])
    return constraints, constraint_jacobian(tree, kin, constraints), k, join(free)


def constraint_jacobian(tree: ClusterTree, kin: Motion, constraints: Sequence[ConstraintWrenches]) -> Array:
    """J (m, nv): wrenches propagated rigidly to the world, as every cluster's joint feels them."""
    S = {c.index: cluster_subspace(tree.top, c, kin) for c in tree}
    symbolic = any(x.dtype == object for T in kin.T for x in T)
    dtype = object if symbolic else float
    blocks = [_jacobian(tree, kin, S, w, np.full((w.size, tree.nv), 0.0, dtype=dtype)) for w in constraints]
    return np.concatenate(blocks) if blocks else np.zeros((0, tree.nv))


def _jacobian(tree: ClusterTree, kin: Motion, S: dict[int, dict[int, Array]], w: ConstraintWrenches, J: Array) -> Array:
    """J of one constraint, written over zeros."""
    waiting = dict(w.ends)
    for c in reversed(tree.clusters):
        for i in c.bodies:
            if i in waiting:
                J[:, c.v] = J[:, c.v] + waiting[i].T @ S[c.index][i]
        for row, d in enumerate(c.dofs):
            if d in w.joints:
                J[:, c.v] = J[:, c.v] + np.multiply.outer(w.joints[d], kin.embedding[c.index].G[row])
        for i in reversed(c.bodies):
            if i in waiting:
                f, parent = kin.T[i].force(waiting.pop(i)), tree.top.parent[i]
                if parent >= 0:
                    waiting[parent] = waiting[parent] + f if parent in waiting else f
    return J


def _sizes(constraints: Sequence[ConstraintWrenches], factor: SparseLTL) -> Array | float:
    """What the diagonal of J M^-1 J^T could be at least (numbers only)."""
    squares = [w.squares for w in constraints if w.squares is not None]
    if len(squares) < len(constraints) or factor.L.dtype == object or not len(factor.L):
        return 0.0
    return join(squares) / float(np.max(np.diag(factor.L)) ** 2)


def ltl_osim(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T (m, m) of the constraints' rows."""
    kin = still(tree, q, constrained_bodies(placed))
    J = constraint_jacobian(tree, kin, [wrenches_of(tree, kin, q, p) for p in placed])
    if not len(J):
        return np.zeros((0, 0))
    Y = SparseLTL(cluster_crba(tree, q), velocity_parents(tree)).solve_lower(J.T)
    return gram(Y, Y)


def ltl_osim_solve(tree: ClusterTree, q: Array, x: Array, placed: Sequence[Placed]) -> Array:
    """(J M^-1 J^T)^-1 x."""
    return Factor(ltl_osim(tree, q, placed)).solve(np.asarray(x))
