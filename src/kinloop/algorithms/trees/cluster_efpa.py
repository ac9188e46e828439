"""Inverse operational-space inertia of cluster trees: the cluster extended-force-propagator algorithm.

A force on frame e reaches cluster k through the propagator chi_e: the wrench its bodies feel while all
joints beyond give way. Inward, with u_e the part that moves the cluster's own joint,

    u_e = sum_i S_i^T chi_e(i),    chi_e -> chi_e - K u_e, propagated to the output bodies     (1)

Outward, Omega_e is the acceleration of a cluster's bodies per unit force on e, for clusters that
support e; two frames meet at their deepest common cluster:

    y_e = D^-1 (u_e - sum_s W_s^T Omega_e(s)),    Omega_e(i) = X Omega_e(output) + S_i y_e     (2)
    Omega(e1, e2) = sum_i chi_e1(i)^T Omega_e2(i)   at the deepest common cluster              (3)

Derivation: docs/algorithms/cluster_efpa.md, after [Chignoli2023, (57)-(67)] and [Wensing2012].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinloop.algorithms.trees.articulated import Articulated, articulate
from kinloop.algorithms.trees.kinematics import Motion, still
from kinloop.clusters import ClusterTree
from kinloop.linear import join
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform

FrameAt = tuple[int, Transform]
Propagator = dict[int, dict[int, Array]]


def cluster_efpa(tree: ClusterTree, q: Array, frames: Sequence[FrameAt]) -> Array:
    """J H^-1 J^T (6 m, 6 m) for frames given as (body, placement), each block in its frame's own axes."""
    kin = still(tree, q, turning=[b for b, _ in frames])
    art = articulate(tree, kin)
    inward = [propagate(tree, art, body, placement.force(np.eye(6))) for body, placement in frames]
    outward = [respond(tree, kin, art, u)[0] for _, u in inward]
    m = len(frames)
    blocks: list[list[Array]] = [[np.zeros((6, 6)) for _ in range(m)] for _ in range(m)]
    for a in range(m):
        for b in range(a, m):
            common = [k for k in inward[a][0] if k in inward[b][0]]
            if not common:
                continue
            chi, omega = inward[a][0][max(common)], outward[b][max(common)]
            block = sum((chi[i].T @ omega[i] for i in chi), start=np.zeros((6, 6)))
            blocks[a][b], blocks[b][a] = block, block.T
    return np.block(blocks) if m else np.zeros((0, 0))


def propagate(
    tree: ClusterTree, art: Sequence[Articulated], body: int, f: Array
) -> tuple[Propagator, dict[int, Array]]:
    """Equation (1) from a body to the world, for wrench columns f on it: chi per cluster, u per cluster."""
    chi: Propagator = {}
    u: dict[int, Array] = {}
    k = tree.cluster_of[body]
    here = {body: f}
    while k >= 0:
        a = art[k]
        chi[k] = here
        u[k] = a.felt(here)
        k = a.cluster.parent
        if k >= 0:
            here = a.pass_on(here, u[a.cluster.index])
    return chi, u


def respond(
    tree: ClusterTree, kin: Motion, art: Sequence[Articulated], u: Mapping[int, Array]
) -> tuple[dict[int, dict[int, Array]], dict[int, Array]]:
    """Equation (2) for each cluster that supports the frame: Omega of its bodies, and y."""
    omega: dict[int, dict[int, Array]] = {}
    y: dict[int, Array] = {}
    for k in sorted(u):
        a = art[k]
        above = omega.get(a.cluster.parent, {})
        y[k] = a.D.solve(a.left(u[k], a.handles.from_parent(above)))
        omega[k] = response(tree.top, kin, a, y[k], above)
    return omega, y


def response(top: Topology, kin: Motion, a: Articulated, y: Array, above: Mapping[int, Array]) -> dict[int, Array]:
    """Motion of a cluster's bodies for its independent motion y, on top of the motion of bodies above that have one.

    Linear in both: the outward step of `cluster_aba` without velocity products and gravity.
    """
    qdd = kin.embedding[a.cluster.index].G @ y
    out: dict[int, Array] = {}
    row = 0
    for i in a.cluster.bodies:
        n, parent = top.types[i].nv, top.parent[i]
        own = kin.S[i] @ qdd[row : row + n]
        row += n
        before = out.get(parent, above.get(parent))
        out[i] = own if before is None else kin.T[i].motion(before) + own
    return out


def force_response(tree: ClusterTree, q: Array, body: int, placement: Transform, f: Array) -> tuple[Array, Any]:
    """What a test force f on a frame does: H^-1 J^T f and f^T J H^-1 J^T f, in one inward and outward pass."""
    kin = still(tree, q, turning=[body])
    art = articulate(tree, kin)
    _, u = propagate(tree, art, body, placement.force(f))
    gain = sum((x @ art[k].D.solve(x) for k, x in u.items()), start=0.0)
    y: list[Array] = []
    acc: dict[int, Array] = {}
    for k, a in enumerate(art):
        y.append(a.D.solve(a.left(u.get(k, np.zeros(a.cluster.m)), a.handles.from_parent(acc))))
        acc |= response(tree.top, kin, a, y[k], acc)
    return join(y), gain
