"""Forces propagated inward through the clusters, and the motion they cause: the backbone of contact.

A force on a body with the Jacobian J pushes every cluster on its way to the world with a generalised force u, all
joints beyond giving way. With the mass matrix factored by the cluster algorithms, M^-1 = L^-T D^-1 L^-1, the u of all
clusters are the columns of L^-1 J^T: [Chignoli2023, (57)-(67)], docs/algorithms/cluster_efpa.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees import cluster_efpa
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.algorithms.trees.kinematics import Motion
from kinloop.clusters import ClusterTree
from kinloop.linear import join
from kinloop.scalar import Array


class Propagated(NamedTuple):
    """A force propagated inward: u of every cluster on the way to the world, a column per component of the force."""

    tree: ClusterTree
    art: list[Articulated]
    u: dict[int, Array]

    @staticmethod
    def wrench(tree: ClusterTree, kin: Motion, art: list[Articulated], body: int, f: Array) -> Propagated:
        """Wrenches f (6, n) on a body, in its own frame."""
        return Propagated(tree, art, cluster_efpa.propagate(tree, art, body, f)[1])

    @staticmethod
    def joint(tree: ClusterTree, kin: Motion, art: list[Articulated], dof: int) -> Propagated:
        """A unit force on one spanning coordinate."""
        k = next(c.index for c in tree if dof in c.dofs)
        row = tree.clusters[k].dofs.index(dof)
        return Propagated._inward(tree, art, k, kin.embedding[k].G[row].reshape(-1, 1))

    @staticmethod
    def line(tree: ClusterTree, kin: Motion, art: list[Articulated], arms: Mapping[int, Any]) -> Propagated:
        """A unit force along a length with moment arms on spanning coordinates."""
        u: dict[int, Array] = {}
        for dof, arm in arms.items():
            for k, x in Propagated.joint(tree, kin, art, dof).u.items():
                u[k] = u[k] + arm * x if k in u else arm * x
        return Propagated(tree, art, u)

    @staticmethod
    def coordinate(tree: ClusterTree, kin: Motion, art: list[Articulated], k: int, within: int) -> Propagated:
        """A unit force on one independent coordinate of cluster k."""
        return Propagated._inward(tree, art, k, np.eye(tree.clusters[k].m)[:, within : within + 1])

    @staticmethod
    def _inward(tree: ClusterTree, art: list[Articulated], k: int, force: Array) -> Propagated:
        """A generalised force on cluster k."""
        u, here = {k: force}, dict[int, Array]()
        while art[k].cluster.parent >= 0:
            here = art[k].pass_on(here, u[k])
            a = art[art[k].cluster.parent]
            k = a.cluster.index
            u[k] = a.felt(here)
        return Propagated(tree, art, u)

    def row(self) -> tuple[Array, list[int]]:
        """z = (D^-1/2 L^-1 u)^T and the independent coordinates it lies on."""
        parts, at = [], []
        for k in sorted(self.u):
            D, c = self.art[k].D, self.art[k].cluster
            parts.append(D.forward(self.u[k]) * _inverse_roots(self.art[k])[:, None])
            at += list(range(c.v.start, c.v.stop))
        return np.concatenate(parts).T, at


class Soft(NamedTuple):
    """A spring or damper that is taken implicitly: what it adds to the inertia along its coordinate.

    Along z (dense), as in `Propagated.row`, other rows and responses are multiplied by I - part z z^T. With the square
    of the coordinate's mobility s = z . z and e the inverse of what is added, that factor is the root of
    I - z z^T / (e + s), which makes M^-1 the inverse of the larger inertia.
    """

    z: Array
    at: list[int]
    part: Any

    @staticmethod
    def of(z: Array, at: list[int], nv: int, e: Any) -> Soft:
        """Of a row z over the coordinates `at` that adds 1 / e to the inertia."""
        dense = np.zeros(nv, dtype=np.result_type(float, z))
        dense[at] = z
        total = e + z @ z
        return Soft(dense, at, 1.0 / (total + sc.sqrt(e * total)))

    def on(self, x: Array) -> Array:
        """(I - part z z^T) x for a vector x (nv,)."""
        out = np.array(x, dtype=np.result_type(x, self.z))
        out[self.at] = out[self.at] - (self.part * (self.z[self.at] @ out[self.at])) * self.z[self.at]
        return out


def softened(soft: Sequence[Soft], nv: int, z: Array, at: list[int]) -> tuple[Array, list[int]]:
    """A row (z, at) of `Propagated.row` (n, len(at)) among springs and dampers that are taken implicitly."""
    if not soft:
        return z, at
    rows = np.zeros((len(z), nv), dtype=np.result_type(float, z, *(x.z for x in soft)))
    rows[:, at] = z
    for x in soft:
        rows = np.stack([x.on(row) for row in rows])
    on = sorted(set(at).union(*(x.at for x in soft)))
    return rows[:, on], on


def _inverse_roots(a: Articulated) -> Array:
    """D^-1/2 of a cluster, its diagonal."""
    return np.array([sc.sqrt(d) for d in a.D.inverse])


def response(tree: ClusterTree, kin: Motion, art: list[Articulated], w: Array, soft: Sequence[Soft] = ()) -> Array:
    """M^-1 J^T lambda = L^-T D^-1/2 w: how impulses lambda change the independent velocities, from w = Z^T lambda.

    The lines of Z are the vectors z of `Propagated.row`, one per component of the impulses, `softened` if need be.
    """
    for x in reversed(soft):
        w = x.on(w)
    y: list[Array] = []
    acc: dict[int, Array] = {}
    for k, a in enumerate(art):
        left = a.left(np.zeros(a.cluster.m), a.handles.from_parent(acc))
        passed = a.D.forward(left) * np.array(a.D.inverse)
        y.append(a.D.backward(_inverse_roots(a) * w[a.cluster.v] + passed))
        acc |= cluster_efpa.response(tree.top, kin, a, y[k], acc)
    return join(y)
