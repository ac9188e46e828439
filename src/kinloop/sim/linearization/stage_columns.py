"""How inverse dynamics of a place where a step meets the dynamics changes along local directions, by one recursion.

The residual R = G^T (S^T F + armature qdd - f) is zero there. A local direction moves a cluster's positions, rates,
accelerations, G and forces, as `loop_slopes` says; bodies beyond are carried along. The recursion is that of
`trees.derivatives`, for directions that need not be closed motions: a stage of a step may lie off the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop.algorithms.trees.cluster_changes import columns
from kinloop.algorithms.trees.derivatives import Moving, inward, transmitted
from kinloop.algorithms.trees.kinematics import world_acceleration
from kinloop.clusters import Cluster, ClusterTree
from kinloop.linear import join, total
from kinloop.scalar import Array
from kinloop.sim.linearization.joint_slopes import joint_slope
from kinloop.sim.linearization.loop_slopes import LocalStage
from kinloop.spatial import cross_force, cross_motion


class Carried(NamedTuple):
    """Per body of a cluster: its motion S relative to its output body, and what directions (columns) change.

    `turn` is the displacement of its frame relative to its parent's, d the change of its velocity, e - v x d that of
    its acceleration. `subspace` is how its joint's own S changes, a matrix per direction, None where that is constant.
    """

    S: dict[int, Array]
    turn: dict[int, Array]
    d: dict[int, Array]
    e: dict[int, Array]
    subspace: dict[int, list[Array] | None]


def residual_columns(
    tree: ClusterTree, now: Moving, q: Array, a: Array, local: LocalStage, kinds: Sequence[str]
) -> dict[str, Array]:
    """Slopes (nv, nv) of the residual along the directions of every kind."""
    acc, F = transmitted(tree, now, a)
    changes = [_carried(tree, c, now, acc, q, local) for c in tree]
    out = {c.index: np.full((tree.nv, len(kinds) * c.m), 0.0, dtype=object) for c in tree}
    for c in reversed(tree.clusters):
        change = changes[c.index]
        x = {i: now.C[i].apply(change.S[i]) for i in c.bodies}
        f = {i: now.C[i].change(change.e[i], change.d[i]) for i in c.bodies}
        felt = {i: now.C[i].felt(change.S[i]) for i in c.bodies}
        f = _own(tree, now, c, change, F, local, f, out[c.index])
        _couple(tree, now, c, changes, f, inward(tree, now.kin, c, x), inward(tree, now.kin, c, felt), out)
    return {
        kind: np.concatenate([out[c.index][:, k * c.m : (k + 1) * c.m] for c in tree], axis=1)
        for k, kind in enumerate(kinds)
    }


def _carried(tree: ClusterTree, c: Cluster, now: Moving, acc: Sequence[Array], q: Array, local: LocalStage) -> Carried:
    """Changes of all bodies of a cluster, outward: (2) of `cluster_changes`."""
    top, kin, ground = tree.top, now.kin, world_acceleration(tree.top)
    out = Carried({}, {}, {}, {}, {})
    G, row = kin.embedding[c.index].G, 0
    for i in c.bodies:
        here = slice(row, row := row + top.types[i].nv)
        own = list(c.dofs[here])
        T, S, p, at = kin.T[i], kin.S[i], top.parent[i], top.q_of[i]
        qd, qdd = local.qd.value[own], local.qdd.value[own]
        dq, dqd, dqdd = (x.of(own, c.m) for x in (local.q, local.qd, local.qdd))
        place, place_a = (T.motion(x) for x in ((kin.v[p], acc[p]) if p >= 0 else (np.zeros(6), ground)))
        out.turn[i] = np.zeros((6, dq.shape[1])) if top.spins_unseen[i] else S @ dq
        w, more = S @ dqd, S @ dqdd
        slopes = [joint_slope(top.types[i], q[at], qd, qdd, x, y) for x, y in zip(dq.T, dqd.T, strict=True)]
        changing = [x for x in slopes if x is not None]
        out.subspace[i] = [x.S for x in changing] or None
        if changing:
            w, more = w + columns([x.w for x in changing], 6), more + columns([x.c for x in changing], 6)
        pull = cross_motion(place, out.turn[i])
        d = pull + w
        e = cross_motion(place_a, out.turn[i]) + cross_motion(place, pull) + cross_motion(place + kin.v[i], w) + more
        moved = S @ G[here]
        if p in out.d:
            moved, d, e = moved + T.motion(out.S[p]), d + T.motion(out.d[p]), e + T.motion(out.e[p])
        out.S[i], out.d[i], out.e[i] = moved, d, e
    return out


def _own(
    tree: ClusterTree, now: Moving, c: Cluster, change: Carried, F: Sequence[Array], local: LocalStage,
    f: dict[int, Array], out: Array,
) -> dict[int, Array]:  # fmt: skip
    """The cluster's own block of the residual's slopes; its wrenches f on the output bodies."""
    top, kin, dofs = tree.top, now.kin, list(c.dofs)
    parts, below, joint = {i: [x] for i, x in f.items()}, dict[int, list[Array]](), dict[int, Array]()
    for i in reversed(c.bodies):
        wrench = total(parts[i])
        joint[i] = kin.S[i].T @ wrench
        if (dS := change.subspace[i]) is not None:
            joint[i] = joint[i] + columns([x.T @ F[i] for x in dS], len(joint[i]))
        wrench = wrench + columns([cross_force(s, F[i]) for s in change.turn[i].T], 6)
        parent = top.parent[i]
        (parts if parent in parts else below).setdefault(parent, []).append(kin.T[i].force(wrench))
    armature, G = top.armature[dofs], kin.embedding[c.index].G
    felt = np.concatenate([joint[i] for i in c.bodies]) + armature[:, None] * local.qdd.of(dofs, c.m)
    out[c.v] = out[c.v] + G.T @ (felt - local.f.of(dofs, c.m))
    if c.bends:
        tau = join([kin.S[i].T @ F[i] for i in c.bodies]) + armature * local.qdd.value[dofs] - local.f.value[dofs]
        out[c.v] = out[c.v] + columns([x.reshape(G.shape).T @ tau for x in _of_G(tree, c, local).T], c.m)
    return {i: total(x) for i, x in below.items()}


def _of_G(tree: ClusterTree, c: Cluster, local: LocalStage) -> Array:
    """Slopes of the numbers of a cluster's G, row by row."""
    size = len(c.dofs) * c.m
    start = sum(len(x.dofs) * x.m for x in tree if x.bends and x.index < c.index)
    return local.G.of(range(start, start + size), c.m)


def _couple(
    tree: ClusterTree, now: Moving, c: Cluster, changes: Sequence[Carried], f: dict[int, Array], x: dict[int, Array],
    felt: dict[int, Array], out: dict[int, Array],
) -> None:  # fmt: skip
    """Blocks between a cluster and those below it, from wrenches f, x and `felt` on its output bodies."""
    here = c
    while here.parent >= 0:
        here = tree.clusters[here.parent]
        change = changes[here.index]
        for i, wrench in f.items():
            out[c.index][here.v] += change.S[i].T @ wrench
            out[here.index][c.v] += x[i].T @ change.e[i] + felt[i].T @ change.d[i][:3]
        f, x, felt = (inward(tree, now.kin, here, y) for y in (f, x, felt))
