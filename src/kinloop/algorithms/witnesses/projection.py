"""Exact dynamics projected from the whole spanning tree onto the independent coordinates.

    qdd = G a + g,    G^T (H qdd + c) = tau                                  [Chignoli2023, section II]

with H, c those of the spanning tree, all loops cut. Derivation: docs/algorithms/baselines.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_rnea import bias_force, cluster_rnea
from kinloop.algorithms.trees.kinematics import spanning_frame_jacobian, still
from kinloop.algorithms.witnesses.spanning_tree import spanning_tree
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram
from kinloop.scalar import Array
from kinloop.spatial import Transform


def projected_rnea(tree: ClusterTree, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> Array:
    """tau = G^T RNEA(q, G v, G a + g) on the spanning tree."""
    G, qd, g = tree.spanning_motion(q, v)
    tau: Array = G.T @ cluster_rnea(spanning_tree(tree), q, qd, G @ a + g, f_ext)
    return tau


def projection(tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """a = (G^T H G)^-1 (tau - G^T (c + H g))."""
    G, qd, g = tree.spanning_motion(q, v)
    cut = spanning_tree(tree)
    H = cluster_crba(cut, q)
    c = bias_force(cut, q, qd, f_ext)
    return Factor(gram(G, H @ G)).solve(tau - G.T @ (c + H @ g))


def projected_osim(tree: ClusterTree, q: Array, frames: Sequence[tuple[int, Transform]]) -> Array:
    """J G (G^T H G)^-1 G^T J^T."""
    G = tree.spanning_jacobian(q)
    H = cluster_crba(spanning_tree(tree), q)
    kin = still(tree, q, turning=[b for b, _ in frames])
    rows = [spanning_frame_jacobian(tree.top, kin, body, placement) @ G for body, placement in frames]
    if not rows:
        return np.zeros((0, 0))
    JG = np.concatenate(rows)
    return gram(JG.T, Factor(gram(G, H @ G)).solve(JG.T))
