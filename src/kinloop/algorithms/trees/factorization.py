"""The innovations factorisation of the mass matrix and of its inverse, on cluster trees.

    M = L D L^T,   M^-1 = (L^-1)^T D^-1 L^-1,   log det M = sum_k log det D_k        [Jain2009, (5)-(7)]

D is block diagonal with the articulated D_k of the clusters. Column block j of L holds what the gain
K_j of cluster j does to the clusters below it: propagated rigidly for L = 1 + H phi K, and with their
joints giving way for L^-1 = 1 - H psi K. Derivation: docs/algorithms/factorization.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.algorithms.trees.articulated import Articulated, articulate
from kinloop.algorithms.trees.kinematics import still
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array


def innovations(tree: ClusterTree, q: Array) -> tuple[Array, list[Array]]:
    """L (nv, nv), unit upper block triangular, and the blocks D_k, with M = L D L^T."""
    art, out = _start(tree, q)
    for a in art:
        forces, k = a.handles.to_parent(a.K), a.cluster.parent
        while k >= 0:
            b = art[k]
            out[b.cluster.v, a.cluster.v] = b.felt(forces)
            if b.cluster.parent >= 0:
                forces = b.handles.to_parent(b.handles.propagate(forces))
            k = b.cluster.parent
    return out, [a.D.matrix() for a in art]


def inverse_innovations(tree: ClusterTree, q: Array) -> tuple[Array, list[Articulated]]:
    """L^-1 (nv, nv) and the articulated clusters whose D factors M^-1 = (L^-1)^T D^-1 L^-1."""
    art, out = _start(tree, q)
    for a in art:
        forces, k = a.handles.to_parent(a.K), a.cluster.parent
        while k >= 0:
            b = art[k]
            u = b.felt(forces)
            out[b.cluster.v, a.cluster.v] = -u
            if b.cluster.parent >= 0:
                forces = b.pass_on(forces, u)
            k = b.cluster.parent
    return out, art


def inverse_mass_matrix(tree: ClusterTree, q: Array) -> Array:
    """M^-1 (nv, nv) from the factors; no dense matrix is inverted."""
    inverse, art = inverse_innovations(tree, q)
    scaled = np.concatenate([a.D.solve(inverse[a.cluster.v]) for a in art]) if art else inverse
    out: Array = inverse.T @ scaled
    return out


def log_determinant(tree: ClusterTree, q: Array) -> Any:
    """log det M."""
    total: Any = 0.0
    for a in articulate(tree, still(tree, q)):
        total = total + a.D.log_determinant()
    return total


def _start(tree: ClusterTree, q: Array) -> tuple[list[Articulated], Array]:
    unit = np.zeros((tree.nv, tree.nv), dtype=np.result_type(float, q))
    for k in range(tree.nv):
        unit[k, k] = 1.0
    return articulate(tree, still(tree, q)), unit
