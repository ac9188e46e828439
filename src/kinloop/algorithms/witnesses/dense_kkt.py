"""The slow and obvious oracle: dense Jacobians in the world frame, one linear system for everything.

    H = sum_i J_i^T I_i J_i,   c = sum_i J_i^T (I_i dJ_i qd + v_i x* I_i v_i),
    [H K^T; K 0] [qdd; -lambda] = [tau - c; k]

Nothing here is shared with the recursive algorithms but the mechanism's own parameters and the loop rows
(phi, K, k), which are tested against geometry. Redundant rows stay in: the motion comes from the null
space of K, the multipliers are the shortest that explain it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.trees.kinematics import world_acceleration, world_poses
from kinloop.clusters import ClusterTree
from kinloop.model import stacked_rows
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross_force, cross_motion


def world_jacobians(top: Topology, q: Array) -> list[Array]:
    """J_i (6, n_spanning) of every body: its twist about the world's origin, in world axes."""
    poses = world_poses(top, q)
    out: list[Array] = []
    for i, parent in enumerate(top.parent):
        J = np.zeros((6, top.n_spanning)) if parent < 0 else out[parent].copy()
        J[:, top.v_of[i]] = poses[i].motion_back(top.types[i].subspace(q[top.q_of[i]]))
        out.append(J)
    return out


def spanning_dynamics(tree: ClusterTree, q: Array, qd: Array, f_ext: Array | None = None) -> tuple[Array, Array]:
    """H and c of the spanning tree, loops cut."""
    top = tree.top
    poses, J = world_poses(top, q), world_jacobians(top, q)
    H, c = np.diag(top.armature.astype(float)), np.zeros(top.n_spanning)
    bias: list[Array] = []
    ground = world_acceleration(top)
    for i, parent in enumerate(top.parent):
        T = poses[i]
        X = T.matrix()
        I = X.T @ top.inertia[i].matrix() @ X
        v = J[i] @ qd
        own = T.motion_back(top.types[i].subspace(q[top.q_of[i]])) @ qd[top.v_of[i]]
        turning = T.motion_back(top.types[i].subspace_bias(q[top.q_of[i]], qd[top.v_of[i]]))
        bias.append((ground if parent < 0 else bias[parent]) + cross_motion(v, own) + turning)
        f = I @ bias[i] + cross_force(v, I @ v)
        if f_ext is not None:
            f = f - T.force(f_ext[i])
        H += J[i].T @ I @ J[i]
        c += J[i].T @ f
    return H, c


RANK = 1e-9
"""Singular values of all rows below this part of the largest are zero, where the rank is not known beforehand."""


def loop_rows(tree: ClusterTree, q: Array, qd: Array) -> tuple[Array, Array]:
    """K and k of all embedded loops and couplings: every row, weighted so that sizes compare."""
    parts = [p for cluster in tree for p in cluster.parts]
    rows = stacked_rows(tree.top, parts, range(tree.top.n_spanning), q, qd)
    weights = np.concatenate([c.equations.weights for c in tree if c.equations is not None] or [np.zeros(0)])
    return rows.K * weights[:, None], rows.k * weights


def solve_constrained(H: Array, right: Array, K: Array, k: Array, rank: int | None = None) -> tuple[Array, Array]:
    """qdd and lambda of H qdd = right + K^T lambda, K qdd = k, for any rows K, of known rank or as numbers say."""
    U, s, Vt = np.linalg.svd(K) if K.size else (np.zeros((0, 0)), np.zeros(0), np.eye(len(H)))
    if rank is None:
        rank = int(np.sum(s > RANK * max(s[0], 1e-300))) if len(s) else 0
    particular = Vt[:rank].T @ ((U[:, :rank].T @ k) / s[:rank]) if rank else np.zeros(len(H))
    N = Vt[rank:].T
    z = np.linalg.solve(N.T @ H @ N, N.T @ (right - H @ particular)) if N.shape[1] else np.zeros(0)
    qdd = particular + N @ z
    missing = H @ qdd - right
    multipliers = U[:, :rank] @ ((Vt[:rank] @ missing) / s[:rank]) if rank else np.zeros(len(K))
    return qdd, multipliers


def dense_kkt(tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """Accelerations of the independent coordinates."""
    qdd, _ = dense_kkt_spanning(tree, q, v, tau, f_ext)
    return qdd[tree.independent_dofs]


def dense_kkt_spanning(
    tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None
) -> tuple[Array, Array]:
    """Spanning accelerations and multipliers of the weighted rows."""
    qd = dense_jacobian(tree, q) @ v
    H, c = spanning_dynamics(tree, q, qd, f_ext)
    K, k = loop_rows(tree, q, qd)
    applied = np.zeros(tree.top.n_spanning)
    applied[tree.independent_dofs] = tau
    return solve_constrained(H, applied - c, K, k, tree.top.n_spanning - tree.nv)


def dense_jacobian(tree: ClusterTree, q: Array) -> Array:
    """G (n_spanning, nv) from the null space of all rows: unit independent velocities."""
    n = tree.top.n_spanning
    K, _ = loop_rows(tree, q, np.zeros(n))
    Vt = np.linalg.svd(K)[2] if K.size else np.eye(n)
    N = Vt[n - tree.nv :].T
    return np.linalg.solve(N[tree.independent_dofs].T, N.T).T if N.shape[1] else np.zeros((n, 0))


def dense_inverse_dynamics(tree: ClusterTree, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> Array:
    """tau = G^T (H qdd + c), with qdd the closed acceleration whose independent part is a."""
    G = dense_jacobian(tree, q)
    H, c = spanning_dynamics(tree, q, G @ v, f_ext)
    K, k = loop_rows(tree, q, G @ v)
    free, _ = solve_constrained(np.eye(len(H)), np.zeros(len(H)), K, k, len(H) - tree.nv)
    qdd = free + G @ (a - free[tree.independent_dofs])
    tau: Array = G.T @ (H @ qdd + c)
    return tau


def dense_mass_matrix(tree: ClusterTree, q: Array) -> Array:
    """M = G^T H G."""
    G = dense_jacobian(tree, q)
    H, _ = spanning_dynamics(tree, q, np.zeros(len(G)))
    return G.T @ H @ G


def dense_osim(tree: ClusterTree, q: Array, frames: Sequence[tuple[int, Transform]]) -> Array:
    """J M^-1 J^T in the frames' own axes."""
    top = tree.top
    poses, J = world_poses(top, q), world_jacobians(top, q)
    G = dense_jacobian(tree, q)
    rows = [poses[body].then(placement).motion(J[body]) @ G for body, placement in frames]
    stacked = np.concatenate(rows) if rows else np.zeros((0, G.shape[1]))
    return stacked @ np.linalg.solve(dense_mass_matrix(tree, q), stacked.T)
