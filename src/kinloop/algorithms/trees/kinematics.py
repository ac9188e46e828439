"""Where everything is and how it moves: poses, velocities, Jacobians and their rates.

Every quantity is in its own body's frame unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree, Embedding
from kinloop.errors import unknown
from kinloop.linear import join
from kinloop.model.frame import WORLD
from kinloop.model.joints import JointType
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross, cross_motion

FrameAt = tuple[int, Transform]
"""A frame: the body it is fixed to, and its pose in that body's frame."""


class Motion(NamedTuple):
    """Per body: pose T in the parent's frame, joint subspace S, velocity v, velocity-product term c."""

    T: list[Transform]
    S: list[Array]
    v: list[Array]
    c: list[Array]
    embedding: list[Embedding]


def joint_pose(top: Topology, i: int, q: Array, turning: Collection[int] = ()) -> Transform:
    """The pose of body i in its parent's frame.

    A body that is symmetric about its own revolute axis and carries nothing (`Topology.spins_unseen`) looks the
    same at every angle: its frame is left where it is at angle zero, so that its inertia and subspace are constant.
    Bodies named in `turning` have their true frames.
    """
    if top.spins_unseen[i] and i not in turning:
        return top.placement[i]
    return top.placement[i].then(top.types[i].pose(q[top.q_of[i]]))


def motion(tree: ClusterTree, q: Array, v: Array, turning: Collection[int] = ()) -> Motion:
    """Outward pass: velocities and velocity-product accelerations `c`, including each cluster's bias g."""
    top = tree.top
    T = [joint_pose(top, i, q, turning) for i in range(len(top))]
    S = [t.subspace(q[a]) for t, a in zip(top.types, top.q_of, strict=True)]
    embedding = [tree.embedding(cluster, q, v) for cluster in tree]
    qd, g = scatter(tree, [e.qd for e in embedding]), scatter(tree, [e.g for e in embedding])
    velocity: list[Array] = []
    c: list[Array] = []
    for i, parent in enumerate(top.parent):
        rates = qd[top.v_of[i]]
        own = S[i] @ rates
        bias = top.types[i].subspace_bias(q[top.q_of[i]], rates) + S[i] @ g[top.v_of[i]]
        if parent < 0:
            velocity.append(own)
            c.append(bias)
        else:
            before = T[i].motion(velocity[parent])
            velocity.append(before + own)
            c.append(cross_motion(before, own) + bias)
    return Motion(T, S, velocity, c, embedding)


def still(tree: ClusterTree, q: Array, turning: Collection[int] = ()) -> Motion:
    """The motion at rest: poses, subspaces and G only."""
    top = tree.top
    zero = np.zeros(6)
    T = [joint_pose(top, i, q, turning) for i in range(len(top))]
    S = [t.subspace(q[a]) for t, a in zip(top.types, top.q_of, strict=True)]
    embedding = []
    for cluster in tree:
        none = np.zeros(len(cluster.dofs))
        embedding.append(Embedding(tree.jacobian(cluster, q), none, none))
    return Motion(T, S, [zero] * len(top), [zero] * len(top), embedding)


def scatter(tree: ClusterTree, parts: Sequence[Array]) -> Array:
    """Per-cluster spanning vectors put in their places in the robot's spanning vector."""
    out = np.zeros(tree.top.n_spanning, dtype=np.result_type(float, *parts) if parts else float)
    for cluster, part in zip(tree, parts, strict=True):
        out[list(cluster.dofs)] = part
    return out


def position_rate(top: Topology, q: Array, qd: Array) -> Array:
    """dq/dt for the spanning velocity qd."""
    return join([t.rate(q[a], qd[b]) for t, a, b in zip(top.types, top.q_of, top.v_of, strict=True)])


def independent_change(tree: ClusterTree, q: Array, dq: Array) -> Array:
    """The step of the independent coordinates along which the numbers q change by dq."""
    return spanning_change(tree.top, q, dq)[tree.independent_dofs]


def spanning_change(top: Topology, q: Array, dq: Array) -> Array:
    """The step of all coordinates along which the numbers q change by dq: the inverse of `position_rate`."""
    parts = [_step_of(t, q[a], dq[a]) for t, a in zip(top.types, top.q_of, strict=True)]
    return np.concatenate(parts or [np.zeros(0)])


def _step_of(kind: JointType, q: Array, dq: Array) -> Array:
    """The velocity of a joint whose numbers change at the rate dq; columns of `rate` are perpendicular."""
    if kind.nq == kind.nv:
        return dq
    columns = [kind.rate(q, e) for e in np.eye(kind.nv)]
    return np.array([(c @ dq) / (c @ c) for c in columns])


def tangent_directions(tree: ClusterTree, q: Array) -> list[Array]:
    """dq/dt for a unit velocity of each independent coordinate, loops kept closed."""
    G = tree.spanning_jacobian(q)
    return [position_rate(tree.top, q, G[:, k]) for k in range(tree.nv)]


def world_acceleration(top: Topology) -> Array:
    """The acceleration of the world, minus gravity: bodies at rest accelerate upward."""
    return np.concatenate([np.zeros(3), -top.mechanism.gravity])


def spanning_accelerations(tree: ClusterTree, kin: Motion, a: Array) -> Array:
    """qdd = G a + g."""
    return scatter(tree, [e.G @ a[c.v] + e.g for c, e in zip(tree, kin.embedding, strict=True)])


def body_accelerations(tree: ClusterTree, kin: Motion, a: Array, ground: Array | None = None) -> list[Array]:
    """Spatial accelerations of all bodies. The world accelerates by `ground`, upward for gravity if none is given."""
    top = tree.top
    ground = world_acceleration(top) if ground is None else ground
    qdd = scatter(tree, [e.G @ a[c.v] for c, e in zip(tree, kin.embedding, strict=True)])
    acc: list[Array] = []
    for i, parent in enumerate(top.parent):
        before = ground if parent < 0 else acc[parent]
        acc.append(kin.T[i].motion(before) + kin.c[i] + kin.S[i] @ qdd[top.v_of[i]])
    return acc


def world_poses(top: Topology, q: Array) -> list[Transform]:
    """Poses of all bodies in the world, true also for bodies that spin unseen."""
    out: list[Transform] = []
    for i, parent in enumerate(top.parent):
        T = joint_pose(top, i, q, turning=(i,))
        out.append(T if parent < 0 else out[parent].then(T))
    return out


def find_frame(top: Topology, name: str) -> FrameAt:
    """Body and placement of a named frame; the name of a body stands for the body's own frame."""
    if name in top.body_index and name != WORLD:
        return top.body_index[name], Transform.identity()
    for f in top.mechanism.frames:
        if f.name == name:
            return top.body_index[f.body], f.placement
    raise unknown("frame", name, [*(b.name for b in top.bodies), *(f.name for f in top.mechanism.frames)])


def frame_pose(tree: ClusterTree, q: Array, body: int, placement: Transform) -> Transform:
    """The pose of a frame in the world."""
    T = Transform.identity()
    for i in tree.top.support(body):
        T = T.then(joint_pose(tree.top, i, q, turning=(i,)))
    return T.then(placement)


def spanning_frame_jacobian(top: Topology, kin: Motion, body: int, placement: Transform) -> Array:
    """J (6, n_spanning): twist of a frame, in its own axes, per unit of spanning velocity."""
    columns: dict[int, Array] = {}
    reach = placement
    i = body
    while i >= 0:
        columns[i] = reach.motion(kin.S[i])
        reach = kin.T[i].then(reach)
        i = top.parent[i]
    blocks = [columns.get(i, np.zeros((6, t.nv))) for i, t in enumerate(top.types)]
    return np.concatenate(blocks, axis=1)


def frame_jacobian(tree: ClusterTree, q: Array, body: int, placement: Transform, axes: str = "body") -> Array:
    """J (6, nv): twist of a frame, angular first, per unit of independent velocity."""
    kin = still(tree, q, turning=(body,))
    J = spanning_frame_jacobian(tree.top, kin, body, placement)
    J = np.concatenate([J[:, list(c.dofs)] @ e.G for c, e in zip(tree, kin.embedding, strict=True)], axis=1)
    return J if axes == "body" else in_world(tree, q, body, placement, J)


def in_world(tree: ClusterTree, q: Array, body: int, placement: Transform, x: Array) -> Array:
    """Twists of a frame (columns), its own axes, in world axes; linear velocities stay those of its origin."""
    R = frame_pose(tree, q, body, placement).R
    return np.concatenate([R @ x[:3], R @ x[3:]])


def frame_velocity(
    tree: ClusterTree, q: Array, v: Array, body: int, placement: Transform, axes: str = "body"
) -> Array:  # fmt: skip
    """The twist of a frame [rad/s, m/s]."""
    twist = placement.motion(motion(tree, q, v, turning=(body,)).v[body])
    return twist if axes == "body" else in_world(tree, q, body, placement, twist)


def frame_bias_acceleration(
    tree: ClusterTree, q: Array, v: Array, body: int, placement: Transform, axes: str = "body"
) -> Array:
    """dJ/dt v: the acceleration of a frame at zero independent acceleration."""
    kin = motion(tree, q, v, turning=(body,))
    a = np.zeros(6)
    for i in tree.top.support(body):
        a = kin.T[i].motion(a) + kin.c[i]
    return _rate_of_twist(tree, q, body, placement, placement.motion(kin.v[body]), placement.motion(a), axes)


def frame_acceleration(
    tree: ClusterTree, q: Array, v: Array, a: Array, body: int, placement: Transform, axes: str = "body"
) -> Array:
    """The rate of the numbers of a frame's twist, J a + dJ/dt v [rad/s^2, m/s^2].

    In the frame's own axes it is the spatial acceleration, in world axes the angular acceleration and the rate of the
    origin's velocity.
    """
    kin = motion(tree, q, v, turning=(body,))
    acc = body_accelerations(tree, kin, a, np.zeros(6))[body]
    return _rate_of_twist(tree, q, body, placement, placement.motion(kin.v[body]), placement.motion(acc), axes)


def _rate_of_twist(
    tree: ClusterTree, q: Array, body: int, placement: Transform, twist: Array, acc: Array, axes: str
) -> Array:
    """A spatial acceleration in own axes, or the rate of the twist's numbers in world axes."""
    return acc if axes == "body" else in_world(tree, q, body, placement, acc + turned_along(twist[:3], twist))


def turned_along(w: Array, x: Array) -> Array:
    """How the numbers of twists (columns) change in fixed axes while their own axes turn with w: both halves alike."""
    return np.concatenate([cross(w, x[:3]), cross(w, x[3:])])


def frame_jacobian_rate(
    tree: ClusterTree, q: Array, v: Array, body: int, placement: Transform, axes: str = "body"
) -> Array:
    """dJ/dt (6, nv) along the motion v, from the graph's own derivative of J."""
    top = tree.top
    if not sc.is_symbolic(q, v):
        sizes = {"q": top.nq, "v": tree.nv}
        traced = sc.trace(lambda q, v: frame_jacobian_rate(tree, q, v, body, placement, axes), sizes)
        rate: Array = traced(q, v)
        return rate
    qd = scatter(tree, [tree.embedding(c, q, v).qd for c in tree])
    return sc.jvp(frame_jacobian(tree, q, body, placement, axes), q, position_rate(top, q, qd))
