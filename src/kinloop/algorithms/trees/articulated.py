"""Articulated inertias of clusters: the inward pass that all recursive algorithms share.

A cluster of bodies i with motion subspaces S_i (its independent velocities' effect on each body) moves
against the inertias I_i of its bodies, which already contain everything beyond:

    U_i = sum_j I_ij S_j,    D = sum_i S_i^T U_i                                        (1)

Its bodies' inertias and U are propagated inward to its handles (see `handles`). There the cluster's own
freedom is taken out, with W the propagated U:

    K_s = W_s D^-1,    I_a(s, t) = I(s, t) - K_s W_t^T                                  (2)

Blocks I(s, t) with s != t exist only where a cluster hangs on several bodies of its parent cluster.
Derivation: docs/algorithms/cluster_aba.md, after [Chignoli2023, (52)-(56)].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kinloop.algorithms.trees.handles import Blocks, Handles, add_block
from kinloop.algorithms.trees.kinematics import Motion, still
from kinloop.clusters import Cluster, ClusterTree
from kinloop.errors import ModelError
from kinloop.linear import Factor, gram, total
from kinloop.model.body import Body
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Inertia, total_inertia

MASSLESS = 1e-14
"""A pivot of D below this part of the largest belongs to a coordinate that moves no inertia: rounding leaves 1e-16."""

CANCELLED = 1e-13
"""What is left of an inertia, as part of what went into it, where it cancels: a point mass on its own axis."""


@dataclass(frozen=True)
class Articulated:
    """What the inward pass leaves at a cluster.

    `I`, `B` are its bodies' inertias and the blocks between them, before its own joint is freed; `S`, `U`
    per body; `W`, `K` per handle; `I_a`, `B_a` what remains at and between the handles. A cluster on the
    world has none of the last four: nobody feels it.
    """

    cluster: Cluster
    handles: Handles
    I: dict[int, Inertia]
    B: Blocks
    S: dict[int, Array]
    U: dict[int, Array]
    D: Factor
    W: dict[int, Array]
    K: dict[int, Array]
    I_a: dict[int, Inertia]
    B_a: Blocks

    def felt(self, forces: Mapping[int, Array]) -> Array:
        """sum_i S_i^T f_i: what the cluster's joint feels of forces on its bodies, of which there is one at least."""
        parts = [self.S[i].T @ f for i, f in forces.items()]
        return sum(parts[1:], parts[0])

    def transmitted(self, forces: Mapping[int, Array], u: Array) -> dict[int, Array]:
        """What the handles feel of forces on the bodies, of which the joint feels u and gives way."""
        at = self.handles.propagate(forces)
        return {s: at[s] - K @ u if s in at else -(K @ u) for s, K in self.K.items()}

    def pass_on(self, forces: Mapping[int, Array], u: Array) -> dict[int, Array]:
        """What the output bodies feel of forces on the bodies, of which the joint feels u and gives way."""
        return self.handles.to_parent(self.transmitted(forces, u))

    def left(self, u: Array, motions: Mapping[int, Array]) -> Array:
        """u less what the motions of the handles already ask of the joint: D times the joint's acceleration."""
        for s, W in self.W.items():
            if s in motions:
                u = u - W.T @ motions[s]
        return u


def cluster_subspace(top: Topology, cluster: Cluster, kin: Motion) -> dict[int, Array]:
    """S_i (6, m) per body: its motion relative to its output body, per unit of independent velocity."""
    G = kin.embedding[cluster.index].G
    S: dict[int, Array] = {}
    row = 0
    for i in cluster.bodies:
        n = top.types[i].nv
        own = kin.S[i] @ G[row : row + n]
        row += n
        S[i] = own + kin.T[i].motion(S[top.parent[i]]) if top.parent[i] in S else own
    return S


def with_armature(top: Topology, cluster: Cluster, kin: Motion, D: Array) -> Array:
    """D + G^T A G, with A the armatures of the cluster's spanning joints."""
    armature = top.armature[list(cluster.dofs)]
    if not np.any(armature != 0):
        return D
    G = kin.embedding[cluster.index].G
    return D + gram(G, armature[:, None] * G)


class Arriving:
    """Inertias that have arrived at every body on the way inward, its own among them, and blocks between bodies."""

    def __init__(self, rigid: Sequence[Inertia]) -> None:
        self.inertias: list[list[Inertia]] = [[I] for I in rigid]
        self.blocks: Blocks = {}

    def take(self, cluster: Cluster) -> tuple[dict[int, Inertia], Blocks]:
        """Everything that a cluster's bodies carry: inertias, and blocks between its bodies."""
        I = {i: total_inertia(self.inertias[i]) for i in cluster.bodies}
        return I, {pair: self.blocks.pop(pair) for pair in list(self.blocks) if pair[0] in I}

    def add(self, art: Articulated) -> None:
        """Give what remains of a cluster to its output bodies."""
        for i, I in art.handles.inertia_to_parent(art.I_a).items():
            self.inertias[i].append(I)
        for (s, t), block in art.B_a.items():
            add_block(self.blocks, s, t, block)


def articulate(tree: ClusterTree, kin: Motion, inertia: Sequence[Inertia] | None = None) -> list[Articulated]:
    """Inward pass over all clusters; the list is in cluster order."""
    arriving = Arriving(tree.top.inertia if inertia is None else inertia)
    out: list[Articulated] = []
    for cluster in reversed(tree.clusters):
        out.append(articulate_cluster(tree.top, cluster, kin, *arriving.take(cluster)))
        arriving.add(out[-1])
    return out[::-1]


def articulate_cluster(top: Topology, cluster: Cluster, kin: Motion, I: dict[int, Inertia], B: Blocks) -> Articulated:
    """Equations (1) and (2) at one cluster."""
    S = cluster_subspace(top, cluster, kin)
    U = {i: I[i].apply(S[i]) for i in cluster.bodies}
    for (i, j), block in B.items():
        U[i] = U[i] + block @ S[j]
        U[j] = U[j] + block.T @ S[i]
    D = Factor(with_armature(top, cluster, kin, total([gram(S[i], U[i]) for i in cluster.bodies])))
    handles = Handles(top, cluster, kin)
    if cluster.parent < 0:
        return Articulated(cluster, handles, I, B, S, U, D, {}, {}, {}, {})
    W = handles.propagate(U)
    K = {s: D.solve(w.T).T for s, w in W.items()}
    whole, B_a = handles.propagate_inertia(I, B)
    I_a = {s: whole[s].minus_product(K[s], W[s]) for s in whole}
    at = sorted(W)
    for n, s in enumerate(at):
        for t in at[n + 1 :]:
            product = K[s] @ W[t].T
            B_a[s, t] = B_a[s, t] - product if (s, t) in B_a else -product
    return Articulated(cluster, handles, I, B, S, U, D, W, K, I_a, B_a)


def check_regular(tree: ClusterTree, q: Array) -> None:
    """Raise a `ModelError` if a cluster could be moved by no force at all: nothing it carries has inertia."""
    top = tree.top
    with np.errstate(divide="ignore", invalid="ignore"):  # what divides by an inertia of zero is found below
        articulated = articulate(tree, still(tree, q))
    for a in reversed(articulated):
        largest = max((abs(float(d)) for d in a.D.d), default=1.0)
        for k, d in enumerate(a.D.d):
            if not float(d) > max(MASSLESS * largest, CANCELLED * _could_be(a, k)):
                dof = a.cluster.dofs[a.cluster.chart.independent[k]]
                body = top.bodies[top.body_of[dof]].name
                raise ModelError(
                    f"coordinate {top.coordinates[dof]!r} moves no inertia: body {body!r} and what it carries are "
                    "massless there, or points and thin rods on the joint's own axis; give one of them mass and "
                    "inertia, or the joint an armature"
                )


def _could_be(a: Articulated, k: int) -> float:
    """What the inertia that a coordinate moves could be, did nothing in it cancel."""
    return sum(float(np.sum(a.S[i][:, k] ** 2) * np.max(np.abs(I.matrix()))) for i, I in a.I.items())


def is_solid(body: Body) -> bool:
    """Whether it has inertia about every axis, so that nothing it hangs on can move without inertia."""
    moments = np.linalg.eigvalsh(body.inertia)
    return bool(body.mass > 0 and moments[0] > CANCELLED * moments[2])
