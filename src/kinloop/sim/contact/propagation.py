"""Forces propagated inward through the clusters, and the motion they cause: the backbone of contact.

A force on a body with the Jacobian J pushes every cluster on its way to the world with a generalised force u, all
joints beyond giving way. With the mass matrix factored by the cluster algorithms, M^-1 = L^-T D^-1 L^-1, the u of all
clusters are the columns of L^-1 J^T: [Chignoli2023, (57)-(67)], docs/algorithms/cluster_efpa.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.algorithms.trees.cluster_efpa import cluster_motion, driving, pass_on, propagate
from kinloop.algorithms.trees.kinematics import Motion
from kinloop.clusters import ClusterTree
from kinloop.spatial.transform import Array


class Propagated(NamedTuple):
    """A force propagated inward: u of every cluster on the way to the world, a column per component of the force."""

    tree: ClusterTree
    art: list[Articulated]
    u: dict[int, Array]

    @staticmethod
    def wrench(tree: ClusterTree, kin: Motion, art: list[Articulated], body: int, f: Array) -> Propagated:
        """Wrenches f (6, n) on a body, in its own frame."""
        return Propagated(tree, art, propagate(tree, kin, art, body, f)[1])

    @staticmethod
    def joint(tree: ClusterTree, kin: Motion, art: list[Articulated], dof: int) -> Propagated:
        """A unit force on one spanning coordinate."""
        k = next(c.index for c in tree if dof in c.dofs)
        row = tree.clusters[k].dofs.index(dof)
        u = {k: kin.embedding[k].G[row].reshape(-1, 1)}
        here: dict[int, Array] = {}
        while art[k].cluster.parent >= 0:
            here = pass_on(tree.top, art[k], kin, here, u[k])
            a = art[art[k].cluster.parent]
            k = a.cluster.index
            u[k] = sum((a.S[i].T @ x for i, x in here.items()), start=np.zeros((a.cluster.m, 1)))
        return Propagated(tree, art, u)

    def row(self) -> tuple[Array, list[int]]:
        """z = (D^-1/2 L^-1 u)^T and the independent coordinates it lies on."""
        parts, at = [], []
        for k in sorted(self.u):
            D, c = self.art[k].D, self.art[k].cluster
            parts.append(D.forward(self.u[k]) * _inverse_roots(self.art[k])[:, None])
            at += list(range(c.v.start, c.v.stop))
        return np.concatenate(parts).T, at


def _inverse_roots(a: Articulated) -> Array:
    """D^-1/2 of a cluster, its diagonal."""
    return np.array([sc.sqrt(d) for d in a.D.inverse])


def response(tree: ClusterTree, kin: Motion, art: list[Articulated], w: Array) -> Array:
    """M^-1 J^T lambda = L^-T D^-1/2 w: how impulses lambda change the independent velocities, from w = Z^T lambda.

    The lines of Z are the vectors z of `Propagated.row`, one per component of the impulses.
    """
    top = tree.top
    y: list[Array] = []
    acc: dict[int, Array] = {}
    for k, a in enumerate(art):
        moved = a.D.forward(driving(top, a, kin, np.zeros(a.cluster.m), acc)) * np.array(a.D.inverse)
        y.append(a.D.backward(_inverse_roots(a) * w[a.cluster.v] + moved))
        acc |= cluster_motion(top, a, kin, y[k], acc)
    return np.concatenate(y) if y else np.zeros(0)
