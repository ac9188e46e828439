"""Contacts body by body: how the motion of a touching body changes with the state, and its contacts with that motion.

All that the equations of a contact need of the robot are six-vectors of its body: the displacement of its frame, and

    X  its twist at the end (velocities y),   X0  at the start (`here`),   V  at the middle (v),
    Y  its acceleration at the middle with a = -(w x v): what its velocity at the end has beyond X, over h.

The changes of these along the robot's coordinates come from `cluster_changes`, carried outward; those of the contact's
velocities e (less the bound on the normal one) and of its wrench are found by the graph, contact by contact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_changes import Change, cluster_change
from kinloop.algorithms.trees.kinematics import Motion, body_accelerations, motion
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import Candidate
from kinloop.sim.contact.ground import Ground
from kinloop.sim.contact.touch import gravity_of, lowest_rate, touch
from kinloop.sim.turning_axes import transport
from kinloop.spatial import Transform, cross_motion
from kinloop.spatial.transform import cross


class Moves(NamedTuple):
    """A touching body: its pose T, its six-vectors X, X0, V, Y, and their changes (6, nv) along q and v.

    `J` is the change of every twist along its own velocities.
    """

    T: Transform
    J: Array
    X: Array
    X0: Array
    V: Array
    Y: Array
    X_q: Array
    X0_q: Array
    V_q: Array
    Y_q: Array
    Y_v: Array


def poses(tree: ClusterTree, kin: Motion, bodies: Sequence[int]) -> dict[int, Transform]:
    """Poses in the world of some bodies."""
    out: dict[int, Transform] = {}
    for b in bodies:
        T = Transform.identity()
        for i in tree.top.support(b):
            T = T.then(kin.T[i])
        out[b] = T
    return out


def body_jacobian(tree: ClusterTree, kin: Motion, body: int) -> Array:
    """J (6, nv) of a body: its twist in its own frame per unit of independent velocity."""
    top, out = tree.top, np.full((6, tree.nv), 0.0, dtype=object)
    for i in top.support(body):
        out = moved(kin.T[i], out)
        c = tree.clusters[tree.cluster_of[i]]
        rows = [c.dofs.index(d) for d in range(top.v_of[i].start, top.v_of[i].stop)]
        out[:, c.v] = out[:, c.v] + kin.S[i] @ kin.embedding[c.index].G[rows]
    return out


def moves(tree: ClusterTree, q: Array, v: Array, here: Array, y: Array, bodies: Sequence[int]) -> dict[int, Moves]:
    """How touching bodies move at the middle q of a step from `here` to y."""
    apart = transport(tree, v)
    fields = [motion(tree, q, x) for x in (v, here, y)]
    kin, kin_here, kin_y = fields
    acc = body_accelerations(tree, kin, -apart)
    wanted = {tree.cluster_of[i] for b in bodies for i in tree.top.support(b)}
    changes = [
        {k: cluster_change(tree, tree.clusters[k], field, acc, q, x, -apart) for k in wanted}
        for field, x in zip(fields, (v, here, y), strict=True)
    ]
    turning = _along(tree, v)
    out = {}
    for b, T in poses(tree, kin, bodies).items():
        J, V_q, e, e_v = (_carried(tree, kin, changes[0], b, pick) for pick in (_S, _d, _e, _e_v))
        X0_q, X_q = (_carried(tree, kin, found, b, _d) for found in changes[1:])
        V = kin.v[b]
        Y_v = e_v - cross_motion(V, J) - J @ turning
        out[b] = Moves(
            T, J, kin_y.v[b], kin_here.v[b], V, acc[b], X_q, X0_q, V_q, e - cross_motion(V, V_q), Y_v
        )  # fmt: skip
    return out


def _along(tree: ClusterTree, v: Array) -> Array:
    """Slopes (nv, nv) of w x v of free joints."""
    graph = sc.Graph()
    x = graph.inputs("v", tree.nv)
    slopes = sc.jacobian(transport(tree, x).astype(object), x, "forward")
    out: Array = sc.Function({"v": tree.nv}, {"slopes": slopes}, graph)(v)
    return out


def _S(change: Change, i: int) -> Array:
    return change.S[i]


def _d(change: Change, i: int) -> Array:
    return change.d[i]


def _e(change: Change, i: int) -> Array:
    return change.e[i]


def _e_v(change: Change, i: int) -> Array:
    return change.e_v[i]


def _carried(
    tree: ClusterTree, kin: Motion, changes: dict[int, Change], body: int, pick: Callable[[Change, int], Array]
) -> Array:
    """Changes (6, nv) of a body: those that each cluster on the way gives to it, carried outward."""
    out, path = np.full((6, tree.nv), 0.0, dtype=object), tree.top.support(body)
    for i, after in zip(path, [*path[1:], -1], strict=True):
        out, k = moved(kin.T[i], out), tree.cluster_of[i]
        if after < 0 or tree.cluster_of[after] != k:
            out[:, tree.clusters[k].v] = pick(changes[k], i)
    return out


def moved(T: Transform, x: Array) -> Array:
    """Motions (columns) of the parent as the child sees them; columns that are zero stay so."""
    out = np.full(x.shape, 0.0, dtype=object)
    there = [k for k in range(x.shape[1]) if any(isinstance(a, sc.Symbol) or a != 0 for a in x[:, k])]
    out[:, there] = T.motion(x[:, there])
    return out


class Contacted(NamedTuple):
    """A contact: e (3,), the wrenches (6, 3) of its axes, and slopes of e and of its whole wrench along six-vectors."""

    e: Array
    wrench: Array
    e_pose: Array
    e_X0: Array
    e_V: Array
    e_Y: Array
    wrench_pose: Array


def contact_function(ground: Ground, candidate: Candidate, tree: ClusterTree) -> sc.Function:
    """(R, p, X, X0, V, Y, impulse, h) -> a `Contacted`."""
    g, pull = gravity_of(tree.top), tree.top.mechanism.gravity

    def call(R: Array, p: Array, X: Array, X0: Array, V: Array, Y: Array, impulse: Array, h: Array) -> dict[str, Array]:
        T, w = Transform(R.reshape(3, 3), p), V[:3]
        t = touch(ground, candidate, T)
        swing = t.wrench[3:].T @ cross(w, V[3:] + cross(w, candidate.at))
        bend = h[0] * (t.wrench.T @ Y + swing + t.axes.T @ pull)
        gap = t.gap - (0.5 * h[0]) * (t.wrench[:, 0] @ X0) - (0.375 * h[0]) * bend[0]
        e = t.wrench.T @ X + 0.5 * bend - np.array([lowest_rate(g, gap, h[0]), 0.0, 0.0])
        force = t.wrench @ impulse
        turns = [np.concatenate([_turned(T.R, d[:3]), T.R @ d[3:]]) for d in np.eye(6)]
        pose = np.stack([sc.jvp(np.concatenate([e, force]), [*R, *p], d) for d in turns], axis=1)
        e_X0, e_V, e_Y = (sc.jacobian(e, x, "forward") for x in (X0, V, Y))
        return Contacted(e, t.wrench, pose[:3], e_X0, e_V, e_Y, pose[3:])._asdict()

    return sc.trace(call, {"R": 9, "p": 3, "X": 6, "X0": 6, "V": 6, "Y": 6, "impulse": 3, "h": 1})


def _turned(R: Array, w: Array) -> Array:
    """The change of R, row by row, as the body turns by w in its own axes."""
    return np.stack([cross(row, w) for row in R]).reshape(-1)


class Six(Protocol):
    """A body's pose and six-vectors, which a contact depends on."""

    @property
    def T(self) -> Transform: ...

    @property
    def X(self) -> Array: ...

    @property
    def X0(self) -> Array: ...

    @property
    def V(self) -> Array: ...

    @property
    def Y(self) -> Array: ...


def contacted(function: sc.Function, m: Six, impulse: Any, h: Any) -> Contacted:
    """A contact of a body that moves so, with an impulse."""
    return Contacted(*function(m.T.R.reshape(-1), m.T.p, m.X, m.X0, m.V, m.Y, impulse, [h]))
