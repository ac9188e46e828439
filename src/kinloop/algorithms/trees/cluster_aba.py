"""Forward dynamics of cluster trees: the cluster articulated-body algorithm.

Four passes, of which the first two belong to other modules:

    outward   poses, velocities v_i and velocity-product accelerations c_i             `kinematics.motion`
    inward    U = I S,  D = S^T U,  K = W D^-1,  I_a = I - K W^T           (1), (2)    `articulated.articulate`
    inward    u = tau - S^T p - U^T C,  p_a = p + I C + K u                (3), (5)    `inward`
    outward   y = D^-1 (u - W^T a_s),  a_i = X a_parent + c_i + S_i y      (4)         `outward`

Everything is in its own body's frame. Derivation: docs/algorithms/cluster_aba.md; after [Chignoli2023,
Algorithm 1], with cluster quantities kept per body and propagated along neighbouring joints only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kinloop.algorithms.trees.articulated import Articulated, articulate
from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.kinematics import Motion, motion, world_acceleration
from kinloop.clusters import ClusterTree
from kinloop.linear import join, total
from kinloop.model.topology import Topology
from kinloop.scalar import Array


def cluster_aba(tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """Accelerations of the independent coordinates, for the forces tau dual to them.

    f_ext (bodies, 6): external wrenches [N m, N], each in its body's frame.
    """
    kin = motion(tree, q, v)
    art = articulate(tree, kin)
    u = inward(tree, kin, art, body_bias(tree.top, kin.v, q, f_ext), tau)
    y, _ = outward(tree, kin, art, u)
    return join(y)


def inward(tree: ClusterTree, kin: Motion, art: Sequence[Articulated], p: Sequence[Array], tau: Array) -> list[Array]:
    """u of every cluster: the force left to move its joint, for bias forces p on the bodies."""
    top = tree.top
    p_A: list[list[Array]] = [[x] for x in p]
    u: list[Array] = []
    for a in reversed(art):
        p_k = {i: total(p_A[i]) for i in a.cluster.bodies}
        u_k, C = joint_force(top, kin, a, p_k, tau)
        if a.cluster.parent < 0:
            u_k, _ = moved_by_world(top, a, u_k)
        else:
            for i, f in bias_to_parent(a, p_k, C, u_k).items():
                p_A[i].append(f)
        u.append(u_k)
    return u[::-1]


def joint_force(
    top: Topology, kin: Motion, a: Articulated, p: Mapping[int, Array], tau: Array
) -> tuple[Array, dict[int, Array]]:
    """(3): u of one cluster, and the velocity-product accelerations C of its bodies relative to its handles."""
    C = a.handles.relative_bias()
    u = tau[a.cluster.v]
    for i in a.cluster.bodies:
        u = u - a.S[i].T @ p[i] - a.U[i].T @ C[i]
    e = kin.embedding[a.cluster.index]
    return u - e.G.T @ (top.armature[list(a.cluster.dofs)] * e.g), C


def bias_to_parent(a: Articulated, p: Mapping[int, Array], C: Mapping[int, Array], u: Array) -> dict[int, Array]:
    """(5): the bias forces p_a that a cluster adds to those of its output bodies."""
    f = {i: p[i] + a.I[i].apply(C[i]) for i in a.cluster.bodies}
    for (i, j), block in a.B.items():
        f[i] = f[i] + block @ C[j]
        f[j] = f[j] + block.T @ C[i]
    p_a = {s: x + a.K[s] @ u for s, x in a.handles.propagate(f).items()}
    for s, c in a.handles.bias().items():
        p_a[s] = p_a[s] + a.I_a[s].apply(c)
    return a.handles.to_parent(p_a)


def moved_by_world(top: Topology, a: Articulated, u: Array) -> tuple[Array, dict[int, Array]]:
    """u of a cluster on the world less what the world's acceleration asks of it; and what that gives its bodies."""
    moved = a.handles.moved_by_world(world_acceleration(top))
    for i, x in moved.items():
        u = u - a.U[i].T @ x
    return u, moved


def outward(
    tree: ClusterTree, kin: Motion, art: Sequence[Articulated], u: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Independent accelerations per cluster, and the spatial acceleration of every body."""
    acc = {-1: world_acceleration(tree.top)}
    y: list[Array] = []
    for a, u_k in zip(art, u, strict=True):
        y_k, bodies = accelerate(tree.top, kin, a, u_k, acc)
        y.append(y_k)
        acc |= bodies
    return y, [acc[i] for i in range(len(tree.top))]


def accelerate(
    top: Topology, kin: Motion, a: Articulated, u: Array, acc: Mapping[int, Array]
) -> tuple[Array, dict[int, Array]]:
    """(4): independent accelerations y of one cluster and accelerations of its bodies, from those it hangs on."""
    y = a.D.solve(a.left(u, a.handles.accelerations(acc)))
    qdd = kin.embedding[a.cluster.index].G @ y
    out: dict[int, Array] = {}
    row = 0
    for i in a.cluster.bodies:
        n, parent = top.types[i].nv, top.parent[i]
        before = out[parent] if parent in out else acc[parent]
        out[i] = kin.T[i].motion(before) + kin.c[i] + kin.S[i] @ qdd[row : row + n]
        row += n
    return y, out
