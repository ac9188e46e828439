"""What all solvers of constrained motion share: constraints as wrenches, and the passes over the tree.

A constraint of r rows is known by what its unit multipliers do: wrenches on bodies (6, r), or forces on
spanning joints (r). Carried inward through joints that give way, they meet every cluster with

    u_c = sum_i S_i^T chi(i) + G^T K^T,    chi -> chi - K_s u_c at the seats                     (1)

and with l what its rows read of the motion without constraints, at the ends themselves,

    l = K a_free,                                                                                (2)
    K a = l + L lambda,    L = sum_k u_c^T D^-1 u_c.                                             (3)

Accelerations contain the world's own, minus gravity, so targets of constraints to the world shift by
what that does (III-B.2). Derivation: docs/algorithms/pv.md, after [Sathya2023, (42)].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.constrained.constraint_wrenches import Held, hold, placed_bodies
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.trees.articulated import Articulated, articulate, carry_forces
from kinloop.algorithms.trees.cluster_aba import _inward, _outward, body_bias, outside
from kinloop.algorithms.trees.kinematics import Motion, motion, scatter
from kinloop.clusters import ClusterTree
from kinloop.model.topology import Topology
from kinloop.scalar import Array


class Solution(NamedTuple):
    """Independent accelerations, multipliers of all rows, what no multiplier can reach, and lost rows.

    `residual` is the part of k - K a that conflicting constraints leave, zero where they agree;
    `deficient` counts rows that turned out to depend on others at this state only.
    """

    a: Array
    multipliers: Array
    residual: Array
    deficient: Any = 0.0


class Start(NamedTuple):
    """The robot before its constraints act: motion, articulated clusters, driving forces u, biases C."""

    kin: Motion
    art: list[Articulated]
    u: list[Array]
    C: list[dict[int, Array]]
    held: list[Held]


class Pushed(NamedTuple):
    """A constraint's wrenches on the bodies of every cluster it reaches, and u_c."""

    chi: dict[int, dict[int, Array]]
    u: dict[int, Array]


def world_acceleration(top: Topology) -> Array:
    return np.concatenate([np.zeros(3), -top.mechanism.gravity])


def force_bias(top: Topology, kin: Motion, q: Array, f_ext: Array | None, turning: Sequence[int]) -> list[Array]:
    """Bias forces of the bodies less external wrenches, where bodies in `turning` keep their true frames."""
    p = body_bias(top, kin.v, q, None)
    if f_ext is None:
        return p
    return [x - (f_ext[i] if i in turning else outside(top, i, q, f_ext[i])) for i, x in enumerate(p)]


def start(
    tree: ClusterTree, q: Array, v: Array, tau: Array, placed: Sequence[Placed], f_ext: Array | None = None
) -> Start:
    """Outward and inward pass without constraints, and the constraints' own wrenches and targets."""
    turning = placed_bodies(placed)
    kin = motion(tree, q, v, turning)
    art = articulate(tree, kin)
    u, C = drive(tree, kin, art, force_bias(tree.top, kin, q, f_ext, turning), tau)
    return Start(kin, art, u, C, [hold(tree, kin, q, p) for p in placed])


def drive(
    tree: ClusterTree, kin: Motion, art: list[Articulated], p: list[Array], tau: Array
) -> tuple[list[Array], list[dict[int, Array]]]:
    """u and C of every cluster; clusters on the world already feel its acceleration."""
    top = tree.top
    p_A: list[list[Array]] = [[x] for x in p]
    u: list[Array] = []
    C: list[dict[int, Array]] = []
    for a in reversed(art):
        u_k, C_k = _inward(top, a, kin, p_A, tau)
        if a.cluster.parent < 0:
            u_k, C_k = grounded(top, a, kin, u_k, C_k)
        u.append(u_k)
        C.append(C_k)
    return u[::-1], C[::-1]


def grounded(top: Topology, a: Articulated, kin: Motion, u: Array, C: dict[int, Array]) -> tuple[Array, dict]:
    """The world's acceleration taken into u and C of a cluster on the world."""
    seen: dict[int, Array] = {}
    for i in a.cluster.bodies:
        parent = top.parent[i]
        seen[i] = kin.T[i].motion(seen[parent] if parent >= 0 else world_acceleration(top))
        if parent < 0 and a.lone:
            seen[i] = seen[i] + kin.c[i]
        u = u - a.U[i].T @ seen[i]
    return u, {i: C[i] + seen[i] for i in C}


def push(tree: ClusterTree, kin: Motion, art: list[Articulated], held: Held) -> Pushed:
    """Equation (1) from a constraint's ends to the world."""
    top = tree.top
    waiting: dict[int, dict[int, Array]] = {}
    for body, f in held.ends.items():
        waiting.setdefault(tree.cluster_of[body], {})[body] = f
    out = Pushed({}, {})
    for k in reversed(range(len(tree))):
        here, u = waiting.get(k, {}), felt(art[k], kin, waiting.get(k, {}), held)
        if u is None:
            continue
        out.chi[k], out.u[k] = here, u
        if art[k].cluster.parent >= 0:
            below = waiting.setdefault(art[k].cluster.parent, {})
            for body, f in below_seats(top, art[k], kin, leave(top, art[k], kin, here, u)).items():
                below[body] = below[body] + f if body in below else f
    return out


def felt(a: Articulated, kin: Motion, here: dict[int, Array], held: Held) -> Array | None:
    """u_c of one cluster; None where the constraint does not reach it."""
    u = [a.S[i].T @ f for i, f in here.items()]
    mine = [d for d in a.cluster.dofs if d in held.joints]
    if mine:
        G = kin.embedding[a.cluster.index].G[[a.cluster.dofs.index(d) for d in mine]]
        u.append(G.T @ np.array([held.joints[d] for d in mine]))
    return sum(u[1:], u[0]) if u else None


def leave(top: Topology, a: Articulated, kin: Motion, forces: dict[int, Array], u: Array) -> dict[int, Array]:
    """What the seats of a cluster feel of forces on its bodies, its own joint giving way."""
    carried = carry_forces(top, a, kin, forces)
    return {s: carried[s] - K @ u if s in carried else -(K @ u) for s, K in a.K.items()}


def below_seats(top: Topology, a: Articulated, kin: Motion, left: dict[int, Array]) -> dict[int, Array]:
    """Forces at the seats as forces on the parent cluster's bodies."""
    return {top.parent[s]: kin.T[s].force(f) for s, f in left.items()} if a.lone else left


def free_values(tree: ClusterTree, s: Start) -> list[Array]:
    """l of all constraints: what they read of the unconstrained motion, (2)."""
    y, acc = motion_under(tree, s.kin, s.art, s.u)
    qdd = scatter(tree, [e.G @ x + e.g for e, x in zip(s.kin.embedding, y, strict=True)])
    out = []
    for h in s.held:
        value: Any = np.zeros(h.size)
        for i, f in h.ends.items():
            value = value + f.T @ acc[i]
        for d, f in h.joints.items():
            value = value + f * qdd[d]
        out.append(value)
    return out


def roll_out(tree: ClusterTree, kin: Motion, art: list[Articulated], u: list[Array]) -> Array:
    """Accelerations of all independent coordinates, outward, for the forces u left to each cluster's joint."""
    y, _ = motion_under(tree, kin, art, u)
    return np.concatenate(y) if y else np.zeros(0)


def motion_under(
    tree: ClusterTree, kin: Motion, art: list[Articulated], u: list[Array]
) -> tuple[list[Array], list[Array]]:
    """Independent accelerations per cluster and accelerations of all bodies, outward."""
    top = tree.top
    ground = world_acceleration(top)
    acc: list[Array] = [ground] * len(top)
    y: list[Array] = []
    for k, a in enumerate(art):
        if a.cluster.parent < 0:
            y.append(a.D.solve(u[k]))
        else:
            y.append(_outward(top, a, kin, u[k], {}, acc, ground))
        qdd = kin.embedding[k].G @ y[k]
        row = 0
        for i in a.cluster.bodies:
            n = top.types[i].nv
            before = ground if top.parent[i] < 0 else acc[top.parent[i]]
            acc[i] = kin.T[i].motion(before) + kin.c[i] + kin.S[i] @ qdd[row : row + n]
            row += n
    return y, acc
