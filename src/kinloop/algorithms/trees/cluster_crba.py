"""Joint-space inertia of cluster trees: composite inertias, cluster by cluster.

Derivation: docs/algorithms/cluster_crba.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from kinloop.algorithms.trees.articulated import cluster_subspace, with_armature
from kinloop.algorithms.trees.kinematics import Motion, still
from kinloop.clusters import ClusterTree
from kinloop.linear import gram, total
from kinloop.scalar import Array
from kinloop.spatial import Transform, total_inertia


class Carried(Protocol):
    """The inertia of a body, which adds up over the bodies it carries."""

    def apply(self, m: Array, /) -> Array: ...

    def seen_from(self, T: Transform, /) -> Any: ...


T = TypeVar("T", bound=Carried)


def cluster_crba(tree: ClusterTree, q: Array) -> Array:
    """The mass matrix M (nv, nv) of the independent coordinates."""
    kin = still(tree, q)
    carried = beyond(tree, kin, tree.top.inertia, total_inertia)
    return mass_matrix(tree, kin, carried, np.result_type(float, q))


def mass_matrix(tree: ClusterTree, kin: Motion, carried: Sequence[Carried], dtype: np.dtype[Any]) -> Array:
    """M from the inertias of `beyond`."""
    top = tree.top
    M = np.zeros((tree.nv, tree.nv), dtype=dtype)
    for k in reversed(range(len(tree))):
        cluster = tree.clusters[k]
        S = cluster_subspace(top, cluster, kin)
        F = {i: carried[i].apply(S[i]) for i in cluster.bodies}
        block = total([gram(S[i], F[i]) for i in cluster.bodies])
        M[cluster.v, cluster.v] = with_armature(top, cluster, kin, block)
        _couple(tree, kin, k, F, M)
    return M


def beyond(tree: ClusterTree, kin: Motion, own: Sequence[T], total_of: Callable[[Sequence[T]], T]) -> list[T]:
    """Each body's own inertia with those of the clusters that hang on it, joints of those locked."""
    top = tree.top
    parts: list[list[T]] = [[I] for I in own]
    out = list(own)
    for cluster in reversed(tree.clusters):
        inside: dict[int, list[T]] = {}
        for i in reversed(cluster.bodies):
            out[i] = total_of(parts[i])
            whole = total_of([out[i], *inside.get(i, [])])
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
