"""Constrained motion the slow and obvious way: dense Jacobians, one linear system; the oracle of the solvers.

Rows come from world Jacobians and accelerations in world axes, sharing nothing with the recursive passes.
Redundant rows stay in; the multipliers are the shortest that explain the motion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import Closure, Placed, Point, Rows, Weld
from kinloop.algorithms.constrained.passes import Solution
from kinloop.algorithms.trees.kinematics import FrameAt, world_poses
from kinloop.algorithms.witnesses.dense_kkt import (
    RANK,
    dense_jacobian,
    loop_rows,
    solve_constrained,
    spanning_dynamics,
    world_jacobians,
)
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross_motion

ROUNDING = 1e-13
"""Entries of J G below this part of what they are made of are rounding."""


def dense_kkt(
    tree: ClusterTree, q: Array, v: Array, tau: Array, placed: Sequence[Placed], f_ext: Array | None = None
) -> Solution:
    """Accelerations, multipliers and unmet targets of M a + c = tau + J^T lambda, J a = k."""
    G, g, H, c = projected(tree, q, v, f_ext)
    qd = G @ v
    rows = [dense_rows(tree, q, qd, p) for p in placed]
    J = np.concatenate([r[0] for r in rows]) if rows else np.zeros((0, len(H)))
    k = np.concatenate([r[1] for r in rows]) if rows else np.zeros(0)
    size = np.outer(np.max(_sizes(tree, q, qd, placed), axis=1, initial=0.0), np.max(np.abs(G), axis=0, initial=0.0))
    JG = np.where(np.abs(J @ G) > ROUNDING * size, J @ G, 0.0)  # rows of rounding are rows of zeros
    a, multipliers = solve_constrained(G.T @ H @ G, tau - G.T @ (c + H @ g), JG, k - J @ g)
    return Solution(a, multipliers, k - J @ (G @ a + g))


def _sizes(tree: ClusterTree, q: Array, qd: Array, placed: Sequence[Placed]) -> Array:
    """How large the rows of each constraint are before two ends cancel."""
    out = [np.zeros((0, tree.top.n_spanning))]
    for p in placed:
        J = np.abs(dense_rows(tree, q, qd, p)[0])
        if p.frame is not None and p.other is not None:
            ends = (p.frame, p.other)
            J = J + sum(np.max(np.abs(_twist(tree, q, qd, f)[1]), axis=0, keepdims=True) for f in ends)
        out.append(J)
    return np.concatenate(out)


def dense_delassus(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T of the rows."""
    G, _, H, _ = projected(tree, q, np.zeros(tree.nv), None)
    n = len(H)
    rows = [dense_rows(tree, q, np.zeros(n), p)[0] @ G for p in placed]
    J = np.concatenate(rows) if rows else np.zeros((0, G.shape[1]))
    return J @ np.linalg.solve(G.T @ H @ G, J.T)


def projected(tree: ClusterTree, q: Array, v: Array, f_ext: Array | None) -> tuple[Array, Array, Array, Array]:
    """G, g, H, c: qdd = G a + g, spanning inertia and bias force."""
    G = dense_jacobian(tree, q)
    H, c = spanning_dynamics(tree, q, G @ v, f_ext)
    K, k = loop_rows(tree, q, G @ v)
    free = np.linalg.lstsq(K, k, rcond=RANK)[0] if K.size else np.zeros(len(H))
    return G, free - G @ free[tree.independent_dofs], H, c


def dense_rows(tree: ClusterTree, q: Array, qd: Array, placed: Placed) -> tuple[Array, Array]:
    """J (r, n_spanning) and k of J qdd = k."""
    c, top = placed.constraint, tree.top
    if isinstance(c, Closure):
        loop = next(p for p in top.mechanism.loops if p.name == c.frame)
        rows = loop.rows(top, q, qd)
        J = np.zeros((len(rows.k), top.n_spanning))
        for column, d in enumerate(rows.dofs):
            J[:, d] += rows.K[:, column]
        pull = 2.0 / c.period * (J @ qd) + rows.phi / c.period**2 if c.stabilize else 0.0
        return J, rows.k - pull
    assert placed.frame is not None
    if isinstance(c, Point):
        return _point(tree, q, qd, placed)
    T, J, bias = _twist(tree, q, qd, placed.frame)
    if placed.other is not None:
        T_o, J_o, bias_o = _twist(tree, q, qd, placed.other)
        X = T.matrix() @ np.linalg.inv(T_o.matrix())
        V = J @ qd - X @ (J_o @ qd)
        bias = bias - X @ bias_o + cross_motion(V, J @ qd)
        J = J - X @ J_o
        T = T_o.inverse().then(T)
    K = c.K if isinstance(c, Rows) else np.eye(6)
    k = (np.zeros(len(K)) if c.wanted is None else c.wanted) - K @ bias
    if c.stabilize:
        k = k - 2.0 / c.period * (K @ (J @ qd))
        if isinstance(c, Weld) and c.at is not None:
            at = np.asarray(c.at)
            R = at[:3, :3].T @ T.R
            turn = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
            k = k - np.concatenate([turn, T.R.T @ (T.p - at[:3, 3])]) / c.period**2
    return K @ J, k


def _twist(tree: ClusterTree, q: Array, qd: Array, frame: FrameAt) -> tuple[Transform, Array, Array]:
    """Pose, Jacobian and velocity-product acceleration of a frame's twist, in its own axes."""
    top, poses, J = tree.top, world_poses(tree.top, q), world_jacobians(tree.top, q)
    bias = np.zeros(6)
    for i in top.support(frame[0]):
        own = poses[i].motion_back(top.types[i].subspace(q[top.q_of[i]])) @ qd[top.v_of[i]]
        turning = poses[i].motion_back(top.types[i].subspace_bias(q[top.q_of[i]], qd[top.v_of[i]]))
        bias = bias + cross_motion(J[i] @ qd, own) + turning
    T = poses[frame[0]].then(frame[1])
    return T, T.motion(J[frame[0]]), T.motion(bias)


def _point(tree: ClusterTree, q: Array, qd: Array, placed: Placed) -> tuple[Array, Array]:
    """Rows on the classical acceleration of an origin, computed in world axes and turned into the frame's."""
    c = placed.constraint
    assert isinstance(c, Point) and placed.frame is not None
    T, J, k = _origin(tree, q, qd, placed.frame)
    error = None if c.at is None else T.p - np.asarray(c.at)
    if placed.other is not None:
        T_o, J_o, k_o = _origin(tree, q, qd, placed.other)
        J, k, error = J - J_o, k - k_o, T.p - T_o.p
    k = -k
    if c.stabilize:
        k = k - 2.0 / c.period * (J @ qd) - (0.0 if error is None else error / c.period**2)
    return T.R.T @ J, T.R.T @ k + (np.zeros(3) if c.wanted is None else c.wanted)


def _origin(tree: ClusterTree, q: Array, qd: Array, frame: FrameAt) -> tuple[Transform, Array, Array]:
    """Pose, world-axes Jacobian and velocity-product acceleration of the origin of a frame."""
    T, J, bias = _twist(tree, q, qd, frame)
    V = J @ qd
    return T, T.R @ J[3:], T.R @ (bias[3:] + np.cross(V[:3], V[3:]))
