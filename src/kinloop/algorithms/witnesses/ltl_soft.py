"""Soft constraints by the sparse factorisation of the joint-space inertia: LTL-soft.

    (M + J^T R^-1 J) a = tau - c + J^T R^-1 (k - J' v)                                 (1)

Rows on one body keep the sparsity of M (they fill only its path to the world); rows between bodies go
through the inversion lemma, (J M^-1 J^T + R) lambda = ... The baseline of [Sathya2023, Table II].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.delassus import places
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import Solution
from kinloop.algorithms.constrained.pv_soft import COMPLIANCE, is_local
from kinloop.algorithms.trees.branch_factor import velocity_parents
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.witnesses.ltl import joint_space
from kinloop.algorithms.witnesses.sparse_ltl import SparseLTL
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram
from kinloop.scalar import Array


def ltl_soft(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    compliance: float = COMPLIANCE,
) -> Solution:
    """Accelerations and multipliers of constraints that yield by `compliance` in every row."""
    constraints, J, k, free = joint_space(tree, q, v, tau, placed, f_ext)
    at = places(constraints)
    local = [j for w, rows in zip(constraints, at, strict=True) if is_local(w) for j in range(rows.start, rows.stop)]
    others = [j for j in range(len(k)) if j not in local]
    stiffness = 1.0 / compliance
    M = cluster_crba(tree, q)
    if local:
        M = M + gram(J[local], stiffness * J[local])
        free = free + J[local].T @ (stiffness * k[local])
    factor = SparseLTL(M, velocity_parents(tree))
    y = factor.solve_lower(free.reshape(-1, 1))
    multipliers = np.full(len(k), 0.0, dtype=np.result_type(float, k, J))
    if others:
        Y = factor.solve_lower(J[others].T)
        found = Factor(gram(Y, Y) + compliance * np.eye(len(others))).solve(k[others] - (Y.T @ y)[:, 0])
        multipliers[others] = found
        y = y + (Y @ found).reshape(-1, 1)
    a = factor.solve_upper(y)[:, 0]
    if local:
        multipliers[local] = stiffness * (k[local] - J[local] @ a)
    return Solution(a, multipliers, np.zeros(len(k)))
