"""Exact dynamics of the whole spanning tree with a multiplier for every loop row the charts keep.

    H qdd + c = tau + K^T lambda,    K qdd = k                               [Chignoli2023, section II]

solved for lambda by the sparse factorisation of H. Derivation: docs/algorithms/baselines.md.
"""

from __future__ import annotations

from kinloop.algorithms.trees.branch_factor import velocity_parents
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_rnea import bias_force
from kinloop.algorithms.witnesses.spanning_tree import spanning_tree
from kinloop.algorithms.witnesses.sparse_ltl import SparseLTL
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram
from kinloop.scalar import Array


def lagrange(tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """Multipliers of the loop rows first, by the sparse L^T L factorisation of H, then the motion."""
    _, qd, _ = tree.spanning_motion(q, v)
    cut = spanning_tree(tree)
    ltl = SparseLTL(cluster_crba(cut, q), velocity_parents(cut))
    free = -bias_force(cut, q, qd, f_ext)
    for k, d in enumerate(tree.independent_dofs):
        free[d] = free[d] + tau[k]
    rows = tree.constraint_rows(q, qd)
    y = ltl.solve_lower(free.reshape(-1, 1))
    if len(rows.k):
        Y = ltl.solve_lower(rows.K.T)
        multipliers = Factor(gram(Y, Y)).solve(rows.k - (Y.T @ y)[:, 0])
        y = y + (Y @ multipliers).reshape(-1, 1)
    return ltl.solve_upper(y)[:, 0][tree.independent_dofs]
