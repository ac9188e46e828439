"""Articulated inertias of clusters: the inward pass that forward dynamics and inverse OSIM share.

A cluster of bodies i with motion subspaces S_i (its independent velocities' effect on each body) moves
against the inertias I_i of its bodies, which already carry everything beyond:

    U_i = sum_j I_ij S_j,    D = sum_i S_i^T U_i                                        (1)

Its bodies' inertias and U are carried inward along the joints inside the cluster, to its roots, and
assembled at `seats`: the root itself where the cluster has only one, else the roots' output bodies.
There the cluster's own freedom is taken out, with W the carried U:

    K_s = W_s D^-1,    I_a(s, t) = I(s, t) - K_s W_t^T                                  (2)

Blocks I(s, t) with s != t exist only where a cluster hangs on several bodies of its parent cluster.
Derivation: docs/algorithms/cluster_aba.md, after [Chignoli2023, (52)-(56)].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop.algorithms.trees.kinematics import Motion, still
from kinloop.clusters import Cluster, ClusterTree
from kinloop.errors import ModelError
from kinloop.linear import Factor, gram, total
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Inertia, total_inertia


@dataclass(frozen=True)
class Articulated:
    """What the inward pass leaves at a cluster.

    `I`, `B` are its bodies' inertias and the cross blocks between them, before its own joint is freed;
    `S`, `U` per body; `W`, `K` per seat; `I_a`, `B_a` what remains at and between the seats. A cluster
    on the world has no seats: nobody feels it.
    """

    cluster: Cluster
    lone: bool
    I: dict[int, Inertia]
    B: dict[tuple[int, int], Array]
    S: dict[int, Array]
    U: dict[int, Array]
    D: Factor
    W: dict[int, Array]
    K: dict[int, Array]
    I_a: dict[int, Inertia]
    B_a: dict[tuple[int, int], Array]

    def seat(self, top: Topology, root: int) -> int:
        return root if self.lone else top.parent[root]


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


def roots(top: Topology, cluster: Cluster) -> list[int]:
    """Bodies of a cluster whose parents are outside it."""
    return [i for i in cluster.bodies if top.parent[i] not in cluster.bodies]


def articulate(tree: ClusterTree, kin: Motion, inertia: list[Inertia] | None = None) -> list[Articulated]:
    """Inward pass over all clusters; the list is in cluster order."""
    top = tree.top
    rigid = inertia if inertia is not None else top.inertia
    waiting: list[list[Inertia]] = [[I] for I in rigid]
    cross: dict[tuple[int, int], Array] = {}
    out: list[Articulated] = []
    for cluster in reversed(tree.clusters):
        I = {i: total_inertia(waiting[i]) for i in cluster.bodies}
        B = {pair: cross.pop(pair) for pair in list(cross) if pair[0] in I}
        art = _free(tree, cluster, kin, I, B)
        out.append(art)
        _hand_over(top, art, kin, waiting, cross)
    return out[::-1]


def _free(tree: ClusterTree, cluster: Cluster, kin: Motion, I: dict[int, Inertia], B: dict) -> Articulated:
    """Equations (1) and (2) at one cluster."""
    top = tree.top
    S = cluster_subspace(top, cluster, kin)
    U = {i: I[i].apply(S[i]) for i in cluster.bodies}
    for (i, j), block in B.items():
        U[i] = U[i] + block @ S[j]
        U[j] = U[j] + block.T @ S[i]
    D = total([gram(S[i], U[i]) for i in cluster.bodies])
    armature = top.armature[list(cluster.dofs)]
    if np.any(armature != 0):
        G = kin.embedding[cluster.index].G
        D = D + gram(G, armature[:, None] * G)
    factor = Factor(D)
    lone = len(roots(top, cluster)) == 1
    empty = Articulated(cluster, lone, I, B, S, U, factor, {}, {}, {}, {})
    if cluster.parent < 0:
        return empty
    W = carry_forces(top, empty, kin, U)
    K = {s: factor.solve(w.T).T for s, w in W.items()}
    carried, off = _carry_inertia(top, empty, kin)
    I_a = {s: carried[s].minus_product(K[s], W[s]) for s in carried}
    seats = sorted(W)
    for a, s in enumerate(seats):
        for t in seats[a + 1 :]:
            product = K[s] @ W[t].T
            off[s, t] = off[s, t] - product if (s, t) in off else -product
    return Articulated(cluster, lone, I, B, S, U, factor, W, K, I_a, off)


def carry_forces(top: Topology, art: Articulated, kin: Motion, forces: dict[int, Any]) -> dict[int, Array]:
    """Forces on the cluster's bodies, carried inward and summed at the seats."""
    parts: dict[int, list[Array]] = {i: [f] for i, f in forces.items()}
    seats: dict[int, list[Array]] = {}
    for i in reversed(art.cluster.bodies):
        if i not in parts:
            continue
        f = total(parts[i])
        parent = top.parent[i]
        if parent in art.cluster.bodies:
            parts.setdefault(parent, []).append(kin.T[i].force(f))
        else:
            seats.setdefault(art.seat(top, i), []).append(f if art.lone else kin.T[i].force(f))
    return {s: total(fs) for s, fs in seats.items()}


def _carry_inertia(top: Topology, art: Articulated, kin: Motion) -> tuple[dict[int, Inertia], dict]:
    """Inertias and cross blocks of the cluster's bodies, carried inward and summed at the seats."""
    parts = {i: [I] for i, I in art.I.items()}
    seats: dict[int, list[Inertia]] = {}
    cross = dict(art.B)
    inside = set(art.cluster.bodies)
    for i in reversed(art.cluster.bodies):
        I, T, parent = total_inertia(parts[i]), kin.T[i], top.parent[i]
        if parent not in inside and art.lone:
            seats.setdefault(i, []).append(I)
            continue
        target = parts if parent in inside else seats
        target.setdefault(parent, []).append(I.seen_from(T))
        for pair in [p for p in cross if i in p]:
            block = cross.pop(pair)
            other = pair[1] if pair[0] == i else pair[0]
            block = T.force(block if pair[0] == i else block.T)  # rows now at the parent, columns at `other`
            _place(cross, target, parent, other, block)
    return {s: total_inertia(I) for s, I in seats.items()}, cross


def _place(cross: dict, inertias: dict[int, list[Inertia]], i: int, j: int, block: Array) -> None:
    """Add a cross block between bodies i and j; one body with itself becomes part of its inertia."""
    if i == j:
        both = block + block.T
        inertias.setdefault(i, []).append(Inertia(both[:3, :3], both[:3, 3:], both[3:, 3:]))
        return
    pair, block = ((i, j), block) if i < j else ((j, i), block.T)
    cross[pair] = cross[pair] + block if pair in cross else block


def _hand_over(top: Topology, art: Articulated, kin: Motion, waiting: list, cross: dict) -> None:
    """Give what remains at the seats to the output bodies."""
    for s, I in art.I_a.items():
        if art.lone:
            waiting[top.parent[s]].append(I.seen_from(kin.T[s]))
        else:
            waiting[s].append(I)
    for (s, t), block in art.B_a.items():
        _place(cross, {}, s, t, block)


def check_regular(tree: ClusterTree, q: Array) -> None:
    """Raise a `ModelError` if a cluster could be moved by no force at all: nothing it carries has inertia."""
    top = tree.top
    if all(m > 0 for m in top.mass):
        return
    for a in reversed(articulate(tree, still(tree, q))):
        largest = max((abs(float(d)) for d in a.D.d), default=1.0)
        for k, d in enumerate(a.D.d):
            if not float(d) > 1e-14 * largest:
                dof = a.cluster.dofs[a.cluster.chart.independent[k]]
                body = top.bodies[top.body_of[dof]].name
                raise ModelError(
                    f"coordinate {top.coordinates[dof]!r} moves no inertia: body {body!r} and what it carries are "
                    "massless there; give one of them mass and inertia, or the joint an armature"
                )
