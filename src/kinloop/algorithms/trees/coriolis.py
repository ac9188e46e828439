"""The Coriolis matrix C(q, v) of cluster trees: C v + gravity is the bias force, and C + C^T the rate of M.

With J the Jacobian of a body and J' its rate as that of motion vectors (of its numbers in the body's frame, and v x J
more), M = sum J^T I J and

    C = sum J^T (I J' + B J / 2),    B d = v x* I d - I (v x d) + d x* I v.                          (1)

I and B of a body with all it carries are in `composites`. J' is propagated rigidly outward as J is: of the bodies of a
cluster only the rate S' of their subspace is needed. So the recursion of M serves: at each cluster on the way inward

    C_here = S^T f, f = I S' + B S / 2 from above;    C_above = x^T S' + y^T S, x = I S, y = B^T S / 2 from above.

Derivation: docs/algorithms/momentum_and_frames.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_changes import jacobian_rate, position_step
from kinloop.algorithms.trees.cluster_crba import beyond
from kinloop.algorithms.trees.composites import Composite, moving, total_composite
from kinloop.algorithms.trees.derivatives import inward, on_symbols
from kinloop.algorithms.trees.kinematics import Motion, motion
from kinloop.clusters import Cluster, ClusterTree
from kinloop.linear import total
from kinloop.scalar import Array
from kinloop.spatial import Inertia, cross_motion


@on_symbols
def coriolis_matrix(tree: ClusterTree, q: Array, v: Array) -> Array:
    """C (nv, nv), on symbols."""
    top, kin = tree.top, motion(tree, q, v)
    bodies = [_half_pushed(I, u) for I, u in zip(top.inertia, kin.v, strict=True)]
    composites = beyond(tree, kin, bodies, total_composite)
    rates = [_rate(tree, c, kin, q) for c in tree]
    C = np.full((tree.nv, tree.nv), 0.0, dtype=object)
    for c in reversed(tree.clusters):
        G, S, S_rate = kin.embedding[c.index].G, rates[c.index].S, rates[c.index].S_rate
        f = {i: composites[i].change(S_rate[i], S[i]) for i in c.bodies}
        own = total([S[i].T @ f[i] for i in c.bodies])
        armature = top.armature[list(c.dofs)]
        C[c.v, c.v] = own + G.T @ (armature[:, None] * rates[c.index].G_rate) if np.any(armature != 0) else own
        x = {i: np.concatenate([composites[i].apply(S[i]), f[i]], axis=1) for i in c.bodies}
        _couple(tree, kin, c, rates, x, {i: composites[i].felt(S[i]) for i in c.bodies}, C)
    return C


def _half_pushed(I: Inertia, v: Array) -> Composite:
    """A rigid body that moves with v, with half its B: the halves fold with its constants."""
    half = moving(Inertia(0.5 * I.A, 0.5 * I.H, 0.5 * I.M), v)
    return moving(I, v)._replace(l=half.l, N=half.N)


class Rate(NamedTuple):
    """How a cluster's G and S change along the motion, with S itself; of S as of motion vectors."""

    G_rate: Array
    S: dict[int, Array]
    S_rate: dict[int, Array]


def _rate(tree: ClusterTree, c: Cluster, kin: Motion, q: Array) -> Rate:
    """S' of the bodies of a cluster relative to the bodies it hangs on, outward."""
    top, (G, qd, _) = tree.top, kin.embedding[c.index]
    G_rate = jacobian_rate(tree, c, G, q, position_step(tree, c, q, qd)) if c.bends else np.zeros(G.shape)
    out = Rate(G_rate, {}, {})
    row = 0
    for i in c.bodies:
        here = slice(row, row := row + top.types[i].nv)
        S, p, at = kin.S[i], top.parent[i], q[top.q_of[i]]
        own = S @ G[here]
        change = S @ G_rate[here] + cross_motion(kin.v[i], own)
        if S.dtype == object:
            change = change + sc.jvp(S, at, top.types[i].rate(at, qd[here])) @ G[here]
        if p in out.S:
            own, change = own + kin.T[i].motion(out.S[p]), change + kin.T[i].motion(out.S_rate[p])
        out.S[i], out.S_rate[i] = own, change
    return out


def _couple(
    tree: ClusterTree, kin: Motion, c: Cluster, rates: list[Rate], x: dict[int, Array], y: dict[int, Array], C: Array
) -> None:
    """Blocks between a cluster and those below it, from its wrenches I S and f side by side in x, and from y."""
    here = c
    while here.parent >= 0:
        x, y = inward(tree, kin, here, x), inward(tree, kin, here, y)
        here = tree.clusters[here.parent]
        S, S_rate = rates[here.index].S, rates[here.index].S_rate
        for i, wrench in x.items():
            C[here.v, c.v] += S[i].T @ wrench[:, c.m :]
            C[c.v, here.v] += wrench[:, : c.m].T @ S_rate[i] + y[i].T @ S[i][:3]
