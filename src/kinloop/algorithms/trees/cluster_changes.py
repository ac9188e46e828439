"""How the motion of a cluster changes along each of its own coordinates, the bodies it hangs on staying as they are.

Along a unit step of a position, velocities v and accelerations a of the independent coordinates held, and along a unit
step of a velocity. Local to the cluster: its rows are differentiated by the graph, G and g then follow from

    K dG = -dK G,    K dg = dk - dK g,                                                              (1)

solved with the K of G itself. Derivation: docs/algorithms/derivatives.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import Motion, position_rate, world_acceleration
from kinloop.clusters import Cluster, ClusterTree
from kinloop.clusters.charts import Chart
from kinloop.clusters.tangent_frame import TangentFrame
from kinloop.scalar import Array
from kinloop.spatial import cross_motion


class Bend(NamedTuple):
    """Changes of a cluster's spanning motion, (spanning, independent) but for G: one such matrix per direction.

    Along q: of G, qd = G v and qdd = G a + g. Along v: of qd, which is G itself, and of qdd.
    """

    G: list[Array]
    qd: Array
    qdd: Array
    qdd_v: Array


class Change(NamedTuple):
    """Per body of a cluster and direction, (6, m): of its velocity d and acceleration e - v x d, along q and along v.

    `turn` is the displacement of its frame relative to its parent's, along q. `S` (its motion relative to its output
    body) is also the change of its velocity along v. `subspace` is how the joint's own S changes, one matrix per
    direction; None where it is constant.
    """

    own: dict[int, Array]
    turn: dict[int, Array]
    S: dict[int, Array]
    d: dict[int, Array]
    e: dict[int, Array]
    e_v: dict[int, Array]
    subspace: dict[int, list[Array] | None]
    bend: Bend


def columns(parts: Sequence[Array], height: int) -> Array:
    """Vectors side by side; none at all is a matrix without columns."""
    return np.stack(parts, axis=1) if len(parts) else np.zeros((height, 0))


def along(outputs: Array, q: Sequence[Any] | Array, step: Sequence[Any] | Array, qd: Array, change: Array) -> Array:
    """The derivative of `outputs` while q and qd change; a velocity that is a number does not."""
    moving = [(x, d) for x, d in zip(qd, change, strict=True) if isinstance(x, sc.Symbol)]
    return sc.jvp(outputs, [*q, *(x for x, _ in moving)], [*step, *(d for _, d in moving)])


def bend(tree: ClusterTree, cluster: Cluster, kin: Motion, q: Array, v: Array, a: Array) -> Bend:
    """How G, qd and qdd of a cluster change along each of its directions."""
    n, m = len(cluster.dofs), cluster.m
    if not cluster.bends:
        none = np.zeros((n, m))
        return Bend([none] * m, none, none, none)
    change = _of_graph if isinstance(cluster.chart, TangentFrame) else _of_chart
    G, g, g_v = change(tree, cluster, kin, q, v)
    qd = columns([dG @ v[cluster.v] for dG in G], n)
    qdd = columns([dG @ a[cluster.v] + dg for dG, dg in zip(G, g, strict=True)], n)
    return Bend(G, qd, qdd, columns(g_v, n))


Changes = tuple[list[Array], list[Array], list[Array]]
"""Per direction: of G and g along q, of g along v."""


def _of_chart(tree: ClusterTree, cluster: Cluster, kin: Motion, q: Array, v: Array) -> Changes:
    """(1), where a chart names the coordinates that are independent."""
    G, qd, g = kin.embedding[cluster.index]
    everywhere = np.zeros(tree.top.n_spanning, dtype=object)
    everywhere[list(cluster.dofs)] = qd
    rows, chart = tree.rows(cluster, q, everywhere), cluster.chart
    dG: list[Array] = []
    dg: list[Array] = []
    dg_v: list[Array] = []
    for x in G.T:
        step = position_step(tree, cluster, q, x)
        dK = sc.jvp(rows.K, q, step)
        dG.append(solved(chart, rows.K, -(dK @ G)))
        dk = along(rows.k, q, step, qd, dG[-1] @ v[cluster.v])
        dg.append(solved(chart, rows.K, (dk - dK @ g)[:, None])[:, 0])
        dg_v.append(solved(chart, rows.K, along(rows.k, (), (), qd, x)[:, None])[:, 0])
    return dG, dg, dg_v


def _of_graph(tree: ClusterTree, cluster: Cluster, kin: Motion, q: Array, v: Array) -> Changes:
    """The same from G and g themselves, where velocities are independent in another way (`tangent_frame`)."""
    G, _, g = kin.embedding[cluster.index]
    steps = [position_step(tree, cluster, q, x) for x in G.T]
    along_v = [sc.jvp(g, v[cluster.v], e) for e in np.eye(cluster.m)]
    return [sc.jvp(G, q, x) for x in steps], [sc.jvp(g, q, x) for x in steps], along_v


def jacobian_changes(tree: ClusterTree, cluster: Cluster, G: Array, q: Array) -> list[Array]:
    """How G of a cluster changes along each of its directions; `bend` has it too, where g is wanted besides."""
    if not cluster.bends:
        return [np.zeros(G.shape)] * cluster.m
    steps = [position_step(tree, cluster, q, x) for x in G.T]
    if isinstance(cluster.chart, TangentFrame):
        return [sc.jvp(G, q, x) for x in steps]
    return [jacobian_rate(tree, cluster, G, q, x) for x in steps]


def jacobian_rate(tree: ClusterTree, cluster: Cluster, G: Array, q: Array, step: Array) -> Array:
    """How G of a cluster changes as q does, from (1): dG v is g where q changes as the velocity G v lets it.

    Where velocities are independent in another way, by the shortest such change: as the frame itself would, carried
    along parallel to itself.
    """
    K = tree.rows(cluster, q).K
    return solved(cluster.chart, K, -(sc.jvp(K, q, step) @ G))


def position_step(tree: ClusterTree, cluster: Cluster, q: Array, x: Array) -> Array:
    """dq/dt for the spanning velocity x of one cluster."""
    qd = np.zeros(tree.top.n_spanning, dtype=object)
    qd[list(cluster.dofs)] = x
    return position_rate(tree.top, q, qd)


def solved(chart: Chart, K: Array, right: Array) -> Array:
    """The spanning vectors (columns) with K x = right whose independent part is zero."""
    found = [chart.embed(K, k)[1] for k in right.T]
    return columns([x for x in found if x is not None], K.shape[1])


def cluster_change(
    tree: ClusterTree,
    cluster: Cluster,
    kin: Motion,
    acc: Sequence[Array],
    q: Array,
    v: Array,
    a: Array,
    ground: Array | None = None,
    turning: Collection[int] = (),
) -> Change:
    """The changes of all bodies of a cluster, outward; `ground` and `turning` as in `kinematics`.

    With b the velocity and b' the acceleration of the body's place on its parent, w the change of S qd,

        d = X d_p + b x turn + w,    e = X e_p + b' x turn + b x (b x turn) + (b + v) x w + S dqdd + dS qdd + dc.  (2)
    """
    top, found = tree.top, bend(tree, cluster, kin, q, v, a)
    ground = world_acceleration(top) if ground is None else ground
    G, qd, g = kin.embedding[cluster.index]
    qdd = G @ a[cluster.v] + g
    out = Change({}, {}, {}, {}, {}, {}, {}, found)
    row = 0
    for i in cluster.bodies:
        here = slice(row, row := row + top.types[i].nv)
        T, S, p = kin.T[i], kin.S[i], top.parent[i]
        joint = _joint_change(tree, i, S, q, qd[here], qdd[here], G[here], found.qd[here])
        place = T.motion(kin.v[p] if p >= 0 else np.zeros(6))
        place_a = T.motion(acc[p] if p >= 0 else ground)
        own = S @ G[here]
        out.own[i] = own
        out.turn[i] = np.zeros(own.shape) if top.spins_unseen[i] and i not in turning else own
        out.subspace[i] = joint.S
        w, pull = S @ found.qd[here] + joint.w, cross_motion(place, out.turn[i])
        d, both = pull + w, place + kin.v[i]
        e = cross_motion(place_a, out.turn[i]) + cross_motion(place, pull) + cross_motion(both, w)
        e = e + S @ found.qdd[here] + joint.c
        e_v = cross_motion(both, own) + S @ found.qdd_v[here] + joint.c_v
        if p in out.d:
            own, d = own + T.motion(out.S[p]), d + T.motion(out.d[p])
            e, e_v = e + T.motion(out.e[p]), e_v + T.motion(out.e_v[p])
        out.S[i], out.d[i], out.e[i], out.e_v[i] = own, d, e, e_v
    return out


class _JointChange(NamedTuple):
    """What the changes of a joint's own S add: dS per direction, w = dS qd, c = dS qdd + dc along q, c_v along v."""

    S: list[Array] | None
    w: Array
    c: Array
    c_v: Array


def _joint_change(
    tree: ClusterTree, i: int, S: Array, q: Array, qd: Array, qdd: Array, G: Array, dqd: Array
) -> _JointChange:
    kind, here = tree.top.types[i], tree.top.q_of[i]
    bias, none = kind.subspace_bias(q[here], qd), np.zeros((6, G.shape[1]))
    if S.dtype != object and bias.dtype != object:
        return _JointChange(None, none, none, none)
    dS: list[Array] = []
    c: list[Array] = []
    c_v: list[Array] = []
    for x, change in zip(G.T, dqd.T, strict=True):
        step = kind.rate(q[here], x)
        dS.append(sc.jvp(S, q[here], step))
        c.append(dS[-1] @ qdd + along(bias, q[here], step, qd, change))
        c_v.append(along(bias, (), (), qd, x))
    return _JointChange(dS, columns([x @ qd for x in dS], 6), columns(c, 6), columns(c_v, 6))
