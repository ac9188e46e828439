"""Derivatives of a frame's velocity, acceleration and Jacobian along closed motions.

A change of a cluster's coordinate gives its bodies the changes d and e (`cluster_changes`), and a frame beyond them the
same d and e, transformed to it: its twist V changes by d, its spatial acceleration A by e - V x d. A column J_j of its
Jacobian changes by J_j x J_k along a coordinate k of a cluster nearer to the frame, not at all along one farther from
it, and along those of its own cluster as the cluster's subspace does.

In world axes all numbers turn with the frame besides. Derivation: docs/algorithms/momentum_and_frames.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_changes import cluster_change, columns, jacobian_changes
from kinloop.algorithms.trees.derivatives import on_symbols
from kinloop.algorithms.trees.kinematics import (
    Motion,
    body_accelerations,
    frame_pose,
    motion,
    still,
    turned_along,
)
from kinloop.clusters import Cluster, ClusterTree
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross, cross_motion


class FrameChange(NamedTuple):
    """Twist V and acceleration A of a frame in its own axes, its Jacobian J, and d, e along q, e along v: (6, nv)."""

    V: Array
    A: Array
    J: Array
    d: Array
    e: Array
    e_v: Array


def _clusters_inward(
    tree: ClusterTree, kin: Motion, body: int, placement: Transform
) -> Iterator[tuple[Cluster, int, Transform]]:
    """Clusters that move a frame, nearest first, each with its body on the way and the frame's pose in that body."""
    nearest, reach, i = -1, placement, body
    while i >= 0:
        if (k := tree.cluster_of[i]) != nearest:
            nearest = k
            yield tree.clusters[k], i, reach
        reach, i = kin.T[i].then(reach), tree.top.parent[i]


def _frame_change(tree: ClusterTree, q: Array, v: Array, a: Array, body: int, placement: Transform) -> FrameChange:
    kin, ground = motion(tree, q, v, turning=(body,)), np.zeros(6)
    acc = body_accelerations(tree, kin, a, ground)
    J, d, e, e_v = (np.full((6, tree.nv), 0.0, dtype=object) for _ in range(4))
    for c, i, reach in _clusters_inward(tree, kin, body, placement):
        change = cluster_change(tree, c, kin, acc, q, v, a, ground, turning=(body,))
        J[:, c.v], d[:, c.v] = reach.motion(change.S[i]), reach.motion(change.d[i])
        e[:, c.v], e_v[:, c.v] = reach.motion(change.e[i]), reach.motion(change.e_v[i])
    return FrameChange(placement.motion(kin.v[body]), placement.motion(acc[body]), J, d, e, e_v)


@on_symbols
def frame_velocity_derivatives(
    tree: ClusterTree, q: Array, v: Array, body: int, placement: Transform, axes: str = "body"
) -> tuple[Array, Array]:
    """dV/dq and dV/dv = J of a frame, each (6, nv)."""
    now = _frame_change(tree, q, v, np.zeros(tree.nv), body, placement)
    if axes == "body":
        return now.d, now.J
    R = frame_pose(tree, q, body, placement).R
    return _turned(R, _with_axes(now.d, now.J, now.V)), _turned(R, now.J)


@on_symbols
def frame_acceleration_derivatives(
    tree: ClusterTree, q: Array, v: Array, a: Array, body: int, placement: Transform, axes: str = "body"
) -> tuple[Array, Array, Array]:
    """dA/dq, dA/dv and dA/da = J of a frame, each (6, nv)."""
    now = _frame_change(tree, q, v, a, body, placement)
    V, A, J = now.V, now.A, now.J
    along_q, along_v = now.e - cross_motion(V, now.d), now.e_v - cross_motion(V, J)
    if axes == "body":
        return along_q, along_v, J
    R = frame_pose(tree, q, body, placement).R
    along_q, along_v = along_q + _swept(V, now.d), along_v + _swept(V, J)
    return _turned(R, _with_axes(along_q, J, A + turned_along(V[:3], V))), _turned(R, along_v), _turned(R, J)


def _swept(V: Array, d: Array) -> Array:
    """The change of w x V, both halves, for changes d (columns) of V = (w, u): w x w is zero."""
    return np.concatenate([np.zeros((3, d.shape[1])), cross(V[:3], d[3:]) - cross(V[3:], d[:3])])


def _with_axes(change: Array, J: Array, x: Array) -> Array:
    """Changes (columns) of a vector x of the frame, and what its axes add, which turn with J."""
    return change + columns([turned_along(w, x) for w in J[:3].T], 6)


def _turned(R: Array, x: Array) -> Array:
    """Both halves of columns in world axes."""
    return np.concatenate([R @ x[:3], R @ x[3:]])


@on_symbols
def frame_hessian(tree: ClusterTree, q: Array, body: int, placement: Transform, axes: str = "body") -> Array:
    """H (6, nv, nv): H[:, j, k] is the change of column j of the frame's Jacobian along coordinate k."""
    kin = still(tree, q, turning=(body,))
    J, H = np.full((6, tree.nv), 0.0, dtype=object), np.full((6, tree.nv, tree.nv), 0.0, dtype=object)
    nearer: list[int] = []
    for c, i, reach in _clusters_inward(tree, kin, body, placement):
        S, changes = _subspace_changes(tree, c, kin, q, body)
        J[:, c.v] = reach.motion(S[i])
        for k in nearer:
            H[:, c.v, k] = -cross_motion(J[:, k], J[:, c.v])
        for k, change in enumerate(changes[i]):
            H[:, c.v, c.v.start + k] = reach.motion(change)
        nearer += range(c.v.start, c.v.stop)
    if axes == "body":
        return H
    R = frame_pose(tree, q, body, placement).R
    for k in range(tree.nv):
        H[:, :, k] = _turned(R, H[:, :, k] + turned_along(J[:3, k], J))
    return H


def _subspace_changes(
    tree: ClusterTree, c: Cluster, kin: Motion, q: Array, body: int
) -> tuple[dict[int, Array], dict[int, list[Array]]]:
    """S of the bodies of a cluster (6, m), and its change along each of the cluster's coordinates, outward."""
    top, G = tree.top, kin.embedding[c.index].G
    dG = jacobian_changes(tree, c, G, q)
    S: dict[int, Array] = {}
    changes: dict[int, list[Array]] = {}
    row = 0
    for i in c.bodies:
        here = slice(row, row := row + top.types[i].nv)
        own, at, p = kin.S[i] @ G[here], q[top.q_of[i]], top.parent[i]
        found = [kin.S[i] @ x[here] for x in dG]
        if kin.S[i].dtype == object:
            steps = [top.types[i].rate(at, x) for x in G[here].T]
            found = [x + sc.jvp(kin.S[i], at, step) @ G[here] for x, step in zip(found, steps, strict=True)]
        if p in S:
            before = kin.T[i].motion(S[p])
            found = [x + kin.T[i].motion(y) for x, y in zip(found, changes[p], strict=True)]
            if not top.spins_unseen[i] or i == body:
                found = [x - cross_motion(turn, before) for x, turn in zip(found, own.T, strict=True)]
            S[i] = own + before
        else:
            S[i] = own
        changes[i] = found
    return S, changes
