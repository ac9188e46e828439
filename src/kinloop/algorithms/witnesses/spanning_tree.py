"""What the cluster algorithms are measured against: exact methods on the whole spanning tree.

The spanning tree is itself a cluster tree, with every body a cluster of its own and no loops: the
cluster algorithms on it are the classic ones. [Chignoli2023, section II]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_rnea import bias_force, cluster_rnea
from kinloop.algorithms.trees.kinematics import spanning_frame_jacobian, still
from kinloop.clusters import Chart, Cluster, ClusterTree
from kinloop.linear import Factor, gram
from kinloop.scalar import Array
from kinloop.spatial import Transform


@lru_cache(maxsize=64)
def spanning_tree(tree: ClusterTree) -> ClusterTree:
    """The same bodies with every loop cut: one cluster per body, v = all joint velocities."""
    top = tree.top
    clusters = []
    for i, kind in enumerate(top.types):
        dofs = tuple(range(top.v_of[i].start, top.v_of[i].stop))
        chart = Chart(kind.nv, (), (), tuple(range(kind.nv)), ())
        clusters.append(Cluster(i, (i,), top.parent[i], (top.parent[i],), (), dofs, chart, top.v_of[i]))
    return ClusterTree(top, clusters)


def projected_rnea(tree: ClusterTree, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> Array:
    """tau = G^T RNEA(q, G v, G a + g) on the spanning tree."""
    G, qd, g = tree.spanning_motion(q, v)
    return G.T @ cluster_rnea(spanning_tree(tree), q, qd, G @ a + g, f_ext)


def projection(tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """a = (G^T H G)^-1 (tau - G^T (c + H g))."""
    G, qd, g = tree.spanning_motion(q, v)
    cut = spanning_tree(tree)
    H = cluster_crba(cut, q)
    c = bias_force(cut, q, qd, f_ext)
    return Factor(gram(G, H @ G)).solve(tau - G.T @ (c + H @ g))


def lagrange(tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """Multipliers of the loop rows first, by the sparse L^T L factorisation of H, then the motion."""
    _, qd, _ = tree.spanning_motion(q, v)
    cut = spanning_tree(tree)
    ltl = SparseLTL(cluster_crba(cut, q), dof_parents(tree))
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


def dof_parents(tree: ClusterTree) -> list[int]:
    """For every spanning velocity the next one towards the world, -1 at the end. [Featherstone2005]"""
    top = tree.top
    out: list[int] = []
    last: dict[int, int] = {-1: -1}
    for i, parent in enumerate(top.parent):
        before = last[parent]
        for d in range(top.v_of[i].start, top.v_of[i].stop):
            out.append(before)
            before = d
        last[i] = before
    return out


class SparseLTL:
    """H = L^T L with L lower triangular, where only entries on a joint's path to the world are touched."""

    def __init__(self, H: Array, parents: Sequence[int]) -> None:
        L = H.copy()
        self.parents = list(parents)
        for k in reversed(range(len(parents))):
            L[k, k] = sc.sqrt(L[k, k])
            scale = 1.0 / L[k, k]
            i = self.parents[k]
            while i >= 0:
                L[k, i] = L[k, i] * scale
                i = self.parents[i]
            i = self.parents[k]
            while i >= 0:
                j = i
                while j >= 0:
                    L[i, j] = L[i, j] - L[k, i] * L[k, j]
                    j = self.parents[j]
                i = self.parents[i]
        self.L = L

    def solve_lower(self, B: Array) -> Array:
        """L^-T B."""
        X = B.astype(object) if self.L.dtype == object else B.astype(float)
        X = X.copy()
        for k in reversed(range(len(self.parents))):
            X[k] = X[k] * (1.0 / self.L[k, k])
            i = self.parents[k]
            while i >= 0:
                X[i] = X[i] - self.L[k, i] * X[k]
                i = self.parents[i]
        return X

    def solve_upper(self, B: Array) -> Array:
        """L^-1 B."""
        X = B.copy()
        for k in range(len(self.parents)):
            i = self.parents[k]
            while i >= 0:
                X[k] = X[k] - self.L[k, i] * X[i]
                i = self.parents[i]
            X[k] = X[k] * (1.0 / self.L[k, k])
        return X


def projected_osim(tree: ClusterTree, q: Array, frames: Sequence[tuple[int, Transform]]) -> Array:
    """J G (G^T H G)^-1 G^T J^T."""
    G = tree.spanning_jacobian(q)
    H = cluster_crba(spanning_tree(tree), q)
    kin = still(tree, q, turning=[b for b, _ in frames])
    rows = [spanning_frame_jacobian(tree.top, kin.T, kin.S, body, placement) @ G for body, placement in frames]
    if not rows:
        return np.zeros((0, 0))
    JG = np.concatenate(rows)
    return gram(JG.T, Factor(gram(G, H @ G)).solve(JG.T))
