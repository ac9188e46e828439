"""Forward dynamics of cluster trees: the cluster articulated-body algorithm.

Everything is in its own body's frame. Derivation: docs/algorithms/cluster_aba.md; after [Chignoli2023,
Algorithm 1], with cluster quantities kept per body and carried along neighbouring joints only.
"""

from __future__ import annotations

import numpy as np

from kinloop.algorithms.trees.articulated import Articulated, articulate, carry_forces, roots
from kinloop.algorithms.trees.kinematics import Motion, motion, scatter
from kinloop.clusters import ClusterTree
from kinloop.linear import total
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial.inertia import rigid_bias


def cluster_aba(tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """Accelerations of the independent coordinates, for the forces tau dual to them.

    f_ext (bodies, 6): external wrenches [N m, N], each in its body's frame.
    """
    kin = motion(tree, q, v)
    art = articulate(tree, kin)
    p = body_bias(tree.top, kin.v, q, f_ext)
    y, _ = accelerations(tree, kin, art, p, tau)
    return np.concatenate(y) if y else np.zeros(0)


def body_bias(top: Topology, v: list[Array], q: Array, f_ext: Array | None) -> list[Array]:
    """The force each body needs to keep its velocity, less what acts on it from outside."""
    p = [rigid_bias(I, u) for I, u in zip(top.inertia, v, strict=True)]
    if f_ext is not None:
        p = [a - outside(top, i, q, f_ext[i]) for i, a in enumerate(p)]
    return p


def outside(top: Topology, i: int, q: Array, f: Array) -> Array:
    """An external wrench in the frame the algorithms use for body i (which may not spin with it)."""
    if not top.spins_unseen[i]:
        return f
    R = top.types[i].pose(q[top.q_of[i]]).R
    return np.concatenate([R @ f[:3], R @ f[3:]])


def accelerations(
    tree: ClusterTree, kin: Motion, art: list[Articulated], p: list[Array], tau: Array, base: Array | None = None
) -> tuple[list[Array], list[Array]]:
    """Independent accelerations per cluster, and the spatial acceleration of every body.

    `base` is the acceleration of the world frame; gravity enters as its negative.
    """
    top = tree.top
    p_A: list[list[Array]] = [[x] for x in p]
    u: list[Array] = []
    C: list[dict[int, Array]] = []
    for a in reversed(art):
        u_k, C_k = _inward(top, a, kin, p_A, tau)
        u.append(u_k)
        C.append(C_k)
    u, C = u[::-1], C[::-1]

    ground = np.concatenate([np.zeros(3), -top.mechanism.gravity]) if base is None else base
    y: list[Array] = []
    acc: list[Array] = [ground] * len(top)
    for k, a in enumerate(art):
        y.append(_outward(top, a, kin, u[k], C[k], acc, ground))
        qdd = kin.embedding[k].G @ y[k]
        row = 0
        for i in a.cluster.bodies:
            n = top.types[i].nv
            before = ground if top.parent[i] < 0 else acc[top.parent[i]]
            acc[i] = kin.T[i].motion(before) + kin.c[i] + kin.S[i] @ qdd[row : row + n]
            row += n
    return y, acc


def relative_bias(top: Topology, a: Articulated, kin: Motion) -> dict[int, Array]:
    """Velocity-product acceleration of each body relative to the seats."""
    C: dict[int, Array] = {}
    for i in a.cluster.bodies:
        if top.parent[i] in C:
            C[i] = kin.T[i].motion(C[top.parent[i]]) + kin.c[i]
        else:
            C[i] = np.zeros(6) if a.lone else kin.c[i]
    return C


def _inward(top: Topology, a: Articulated, kin: Motion, p_A: list, tau: Array) -> tuple[Array, dict]:
    """u = tau - S^T p less what the bias needs; hands the bias force on to the output bodies."""
    bodies = a.cluster.bodies
    p = {i: total(p_A[i]) for i in bodies}
    C = relative_bias(top, a, kin)
    u = tau[a.cluster.v]
    for i in bodies:
        u = u - a.S[i].T @ p[i] - a.U[i].T @ C[i]
    e = kin.embedding[a.cluster.index]
    u = u - e.G.T @ (top.armature[list(a.cluster.dofs)] * e.g)
    if a.cluster.parent < 0:
        return u, C
    f = {i: p[i] + a.I[i].apply(C[i]) for i in bodies}
    for (i, j), block in a.B.items():
        f[i] = f[i] + block @ C[j]
        f[j] = f[j] + block.T @ C[i]
    for s, carried in carry_forces(top, a, kin, f).items():
        p_a = carried + a.K[s] @ u
        if a.lone:
            p_A[top.parent[s]].append(kin.T[s].force(p_a + a.I_a[s].apply(kin.c[s])))
        else:
            p_A[s].append(p_a)
    return u, C


def _outward(top: Topology, a: Articulated, kin: Motion, u: Array, C: dict, acc: list, ground: Array) -> Array:
    """Independent accelerations of one cluster, from the acceleration of what it hangs on."""
    if a.cluster.parent >= 0:
        for s, W in a.W.items():
            u = u - W.T @ (kin.T[s].motion(acc[top.parent[s]]) + kin.c[s] if a.lone else acc[s])
        return a.D.solve(u)
    for i in roots(top, a.cluster):
        C_root = kin.c[i] if a.lone else np.zeros(6)
        seen = {i: kin.T[i].motion(ground) + C_root}
        for j in a.cluster.bodies:
            if top.parent[j] in seen:
                seen[j] = kin.T[j].motion(seen[top.parent[j]])
        for j, x in seen.items():
            u = u - a.U[j].T @ x
    return a.D.solve(u)


def body_accelerations(tree: ClusterTree, kin: Motion, a: Array, base: Array | None = None) -> list[Array]:
    """Spatial accelerations of all bodies for given independent accelerations."""
    top = tree.top
    ground = np.concatenate([np.zeros(3), -top.mechanism.gravity]) if base is None else base
    qdd = scatter(tree, [e.G @ a[c.v] for c, e in zip(tree, kin.embedding, strict=True)])
    acc: list[Array] = []
    for i, parent in enumerate(top.parent):
        before = ground if parent < 0 else acc[parent]
        acc.append(kin.T[i].motion(before) + kin.c[i] + kin.S[i] @ qdd[top.v_of[i]])
    return acc
