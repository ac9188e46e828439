"""The innovations factorisation of the mass matrix and of its inverse, on cluster trees.

    M = L D L^T,   M^-1 = (L^-1)^T D^-1 L^-1,   log det M = sum_k log det D_k        [Jain2009, (5)-(7)]

D is block diagonal with the articulated D_k of the clusters. Column block j of L holds what the gain
K_j of cluster j does to the clusters below it: carried rigidly for L = 1 + H phi K, and with their
joints giving way for L^-1 = 1 - H psi K. Derivation: docs/algorithms/factorization.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.algorithms.trees.articulated import Articulated, articulate, carry_forces
from kinloop.algorithms.trees.cluster_efpa import pass_on
from kinloop.algorithms.trees.kinematics import Motion, still
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array


def innovations(tree: ClusterTree, q: Array) -> tuple[Array, list[Array]]:
    """L (nv, nv), unit upper block triangular, and the blocks D_k, with M = L D L^T."""
    kin, art, out = _start(tree, q)
    for a in art:
        forces, k = _at_outputs(tree, a, kin), a.cluster.parent
        while k >= 0:
            b = art[k]
            out[b.cluster.v, a.cluster.v] = _felt(b, forces)
            if b.cluster.parent >= 0:
                forces = _rigidly(tree, b, kin, forces)
            k = b.cluster.parent
    return out, [a.D.matrix() for a in art]


def inverse_innovations(tree: ClusterTree, q: Array) -> tuple[Array, list[Articulated]]:
    """L^-1 (nv, nv) and the articulated clusters whose D factors M^-1 = (L^-1)^T D^-1 L^-1."""
    kin, art, out = _start(tree, q)
    for a in art:
        forces, k = _at_outputs(tree, a, kin), a.cluster.parent
        while k >= 0:
            b = art[k]
            u = _felt(b, forces)
            out[b.cluster.v, a.cluster.v] = -u
            if b.cluster.parent >= 0:
                forces = pass_on(tree.top, b, kin, forces, u)
            k = b.cluster.parent
    return out, art


def inverse_mass_matrix(tree: ClusterTree, q: Array) -> Array:
    """M^-1 (nv, nv) from the factors; no dense matrix is inverted."""
    inverse, art = inverse_innovations(tree, q)
    scaled = np.concatenate([a.D.solve(inverse[a.cluster.v]) for a in art]) if art else inverse
    return inverse.T @ scaled


def log_determinant(tree: ClusterTree, q: Array) -> Any:
    """log det M."""
    total: Any = 0.0
    for a in articulate(tree, still(tree, q)):
        total = total + a.D.log_determinant()
    return total


def aggregate_operators(tree: ClusterTree, q: Array, k: int) -> tuple[Array, Array, Array]:
    """Of cluster k, dense over its bodies: P, Omega = S D^-1 S^T and P+ = P - P Omega P.  [Jain2009, (14)-(16)]"""
    a = articulate(tree, still(tree, q))[k]
    place = {i: 6 * n for n, i in enumerate(a.cluster.bodies)}
    P = np.zeros((6 * len(place), 6 * len(place)), dtype=np.result_type(float, q))
    for i, I in a.I.items():
        P[place[i] : place[i] + 6, place[i] : place[i] + 6] = I.matrix()
    for (i, j), block in a.B.items():
        P[place[i] : place[i] + 6, place[j] : place[j] + 6] = block
        P[place[j] : place[j] + 6, place[i] : place[i] + 6] = block.T
    S = np.concatenate([a.S[i] for i in a.cluster.bodies])
    omega = S @ a.D.solve(S.T)
    return P, omega, P - P @ omega @ P


def _start(tree: ClusterTree, q: Array) -> tuple[Motion, list[Articulated], Array]:
    kin = still(tree, q)
    unit = np.zeros((tree.nv, tree.nv), dtype=np.result_type(float, q))
    for k in range(tree.nv):
        unit[k, k] = 1.0
    return kin, articulate(tree, kin), unit


def _at_outputs(tree: ClusterTree, a: Articulated, kin: Motion) -> dict[int, Array]:
    """The gain K of a cluster as forces on its output bodies."""
    if not a.lone:
        return dict(a.K)
    return {tree.top.parent[s]: kin.T[s].force(K) for s, K in a.K.items()}


def _felt(b: Articulated, forces: dict[int, Array]) -> Array:
    parts = [b.S[i].T @ f for i, f in forces.items()]
    return sum(parts[1:], parts[0])


def _rigidly(tree: ClusterTree, b: Articulated, kin: Motion, forces: dict[int, Array]) -> dict[int, Array]:
    carried = carry_forces(tree.top, b, kin, forces)
    if not b.lone:
        return carried
    return {tree.top.parent[s]: kin.T[s].force(f) for s, f in carried.items()}
