"""Joint-space inertia of cluster trees: composite inertias, cluster by cluster.

Derivation: docs/algorithms/cluster_crba.md.
"""

from __future__ import annotations

import numpy as np

from kinloop.algorithms.trees.articulated import cluster_subspace, with_armature
from kinloop.algorithms.trees.kinematics import Motion, still
from kinloop.clusters import ClusterTree
from kinloop.linear import gram, total
from kinloop.scalar import Array
from kinloop.spatial import Inertia, total_inertia


def cluster_crba(tree: ClusterTree, q: Array) -> Array:
    """The mass matrix M (nv, nv) of the independent coordinates."""
    top = tree.top
    kin = still(tree, q)
    beyond = _beyond(tree, kin)
    M = np.zeros((tree.nv, tree.nv), dtype=np.result_type(float, q))
    for k in reversed(range(len(tree))):
        cluster = tree.clusters[k]
        S = cluster_subspace(top, cluster, kin)
        F = {i: beyond[i].apply(S[i]) for i in cluster.bodies}
        block = total([gram(S[i], F[i]) for i in cluster.bodies])
        M[cluster.v, cluster.v] = with_armature(top, cluster, kin, block)
        _couple(tree, kin, k, F, M)
    return M


def _beyond(tree: ClusterTree, kin: Motion) -> list[Inertia]:
    """Inertia of each body with the clusters that hang on it, joints of those locked."""
    top = tree.top
    parts: list[list[Inertia]] = [[I] for I in top.inertia]
    out = list(top.inertia)
    for cluster in reversed(tree.clusters):
        inside: dict[int, list[Inertia]] = {}
        for i in reversed(cluster.bodies):
            out[i] = total_inertia(parts[i])
            whole = total_inertia([out[i], *inside.get(i, [])])
            parent = top.parent[i]
            if parent in cluster.bodies:
                inside.setdefault(parent, []).append(whole.seen_from(kin.T[i]))
            elif parent >= 0:
                parts[parent].append(whole.seen_from(kin.T[i]))
    return out


def _couple(tree: ClusterTree, kin: Motion, k: int, F: dict[int, Array], M: Array) -> None:
    """Blocks of M between cluster k and those below: what their joints feel of its forces F, propagated inward."""
    top = tree.top
    here = tree.clusters[k]
    forces = {i: [f] for i, f in F.items()}
    cluster = here
    while True:
        below: dict[int, list[Array]] = {}
        for i in reversed(cluster.bodies):
            if i not in forces:
                continue
            f = kin.T[i].force(total(forces[i]))
            parent = top.parent[i]
            (forces if parent in cluster.bodies else below).setdefault(parent, []).append(f)
        if cluster.parent < 0:
            return
        cluster = tree.clusters[cluster.parent]
        forces = below
        S = cluster_subspace(top, cluster, kin)
        block = total([S[i].T @ total(forces[i]) for i in cluster.bodies if i in forces])
        M[cluster.v, here.v] = block
        M[here.v, cluster.v] = block.T
