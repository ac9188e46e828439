"""Derivatives of inverse dynamics along closed motions, by one recursion inward.

A step in the tangent space moves q by G dy: loops stay closed, v and a stay as they are. A change of a cluster's own
coordinate gives its bodies the changes d and e (`cluster_changes`); bodies beyond are carried along. So, with the
composites of `composites`,

    outward   d, e of the bodies of every cluster, along each of its own coordinates
    inward    f = I e + B d            what the bodies of a cluster need for it: columns of the derivative
              x = I S, y = B^T S       what a cluster's joint feels of changes below it: rows of the derivative

and every f, x, y is propagated inward to the world: at each cluster on the way,

    d tau_here = S^T f,    d tau_there = x^T e + y^T d,    M = x^T S.

Derivation: docs/algorithms/derivatives.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.articulated import with_armature
from kinloop.algorithms.trees.body_forces import in_used_frame, less_outside
from kinloop.algorithms.trees.cluster_changes import Change, cluster_change, columns
from kinloop.algorithms.trees.cluster_crba import beyond
from kinloop.algorithms.trees.cluster_rnea import joint_wrenches
from kinloop.algorithms.trees.composites import Composite, moving, total_composite
from kinloop.algorithms.trees.kinematics import Motion, body_accelerations, motion
from kinloop.clusters import Cluster, ClusterTree
from kinloop.linear import gram, join, total
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross_force


class Partials(NamedTuple):
    """d tau/dq, d tau/dv and d tau/da = M, each (nv, nv)."""

    dq: Array
    dv: Array
    M: Array


Algorithm = TypeVar("Algorithm", bound=Callable[..., Any])


def on_symbols(algorithm: Algorithm) -> Algorithm:
    """An algorithm that differentiates a graph, wholly or in part: on numbers it is traced, and the numbers put in."""

    @wraps(algorithm)
    def call(tree: ClusterTree, *given: Any, **options: Any) -> Any:
        arrays = [x for x in (*given, *options.values()) if isinstance(x, np.ndarray)]
        if sc.is_symbolic(*arrays):
            return algorithm(tree, *given, **options)
        known = tuple(map(_known, given)), tuple((name, _known(x)) for name, x in options.items())
        return tree.once(_traced, algorithm, *known)(*(x.reshape(-1) for x in arrays))

    return cast(Algorithm, call)


class _Shape(tuple[int, ...]):
    """The shape of an array whose numbers are put in."""


class _Place(NamedTuple):
    """A constant pose, by its numbers."""

    R: tuple[tuple[float, ...], ...]
    p: tuple[float, ...]


def _known(x: Any) -> Any:
    """What a trace depends on: of an array its shape, of a pose its numbers, all else itself."""
    if isinstance(x, np.ndarray):
        return _Shape(x.shape)
    return _Place(tuple(map(tuple, x.R.tolist())), tuple(x.p.tolist())) if isinstance(x, Transform) else x


def _traced(
    tree: ClusterTree, algorithm: Callable[..., Any], given: tuple[Any, ...], options: tuple[tuple[str, Any], ...]
) -> sc.Function:
    def outputs(*vectors: Array) -> dict[str, Array]:
        left = iter(vectors)

        def real(x: Any) -> Any:
            if isinstance(x, _Place):
                return Transform(np.array(x.R), np.array(x.p))
            return next(left).reshape(x) if isinstance(x, _Shape) else x

        found = algorithm(tree, *map(real, given), **{name: real(x) for name, x in options})
        return {str(k): x for k, x in enumerate(found if isinstance(found, tuple) else (found,))}

    shapes = [x for x in (*given, *(x for _, x in options)) if isinstance(x, _Shape)]
    return sc.trace(outputs, {str(k): math.prod(shape) for k, shape in enumerate(shapes)})


@on_symbols
def inverse_dynamics_derivatives(
    tree: ClusterTree, q: Array, v: Array, a: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array]:
    """d tau/dq, d tau/dv, d tau/da = M, each (nv, nv)."""
    return partials(tree, moving_robot(tree, q, v, f_ext), q, v, a, f_ext)


class Moving(NamedTuple):
    """A robot in motion: kinematics, bias forces p of its bodies, and each body with the clusters it carries."""

    kin: Motion
    p: list[Array]
    C: list[Composite]


def moving_robot(tree: ClusterTree, q: Array, v: Array, f_ext: Array | None) -> Moving:
    """What accelerations do not change."""
    kin = motion(tree, q, v)
    bodies = [moving(I, u) for I, u in zip(tree.top.inertia, kin.v, strict=True)]
    p = less_outside(tree.top, [C.bias(u) for C, u in zip(bodies, kin.v, strict=True)], q, f_ext)
    return Moving(kin, p, beyond(tree, kin, bodies, total_composite))


def transmitted(tree: ClusterTree, now: Moving, a: Array) -> tuple[list[Array], list[Array]]:
    """Accelerations of all bodies, and the wrenches F that their joints transmit for them."""
    acc = body_accelerations(tree, now.kin, a)
    net = [I.apply(x) + b for I, x, b in zip(tree.top.inertia, acc, now.p, strict=True)]
    return acc, joint_wrenches(tree, now.kin, net)


def partials(tree: ClusterTree, now: Moving, q: Array, v: Array, a: Array, f_ext: Array | None) -> Partials:
    """The recursion, on symbols."""
    top, (kin, _, C) = tree.top, now
    acc, F = transmitted(tree, now, a)
    changes = [cluster_change(tree, c, kin, acc, q, v, a) for c in tree]
    out = Partials(*(np.full((tree.nv, tree.nv), 0.0, dtype=object) for _ in range(3)))
    for c in reversed(tree.clusters):
        change = changes[c.index]
        f = {i: _needed(C[i], change, i) for i in c.bodies}
        if f_ext is not None:
            f = {i: x - _left_behind(top, i, q, f_ext[i], change) for i, x in f.items()}
        y = {i: C[i].felt(change.S[i]) for i in c.bodies}
        M = total([gram(change.S[i], f[i][:, : c.m]) for i in c.bodies])
        out.M[c.v, c.v] = with_armature(top, c, kin, M)
        f = _own(tree, kin, c, change, F, a, f, out)
        _couple(tree, kin, c, changes, f, inward(tree, kin, c, y), out)
    return out


def _needed(C: Composite, change: Change, i: int) -> Array:
    """x = I S, f = I e + B d along q and along v, side by side: wrenches on body i, (6, 3 m)."""
    x = C.apply(change.S[i])
    f, f_v = C.change(change.e[i], change.d[i]), C.change(change.e_v[i], change.S[i])
    return np.concatenate([x, f, f_v], axis=1)


def _left_behind(top: Topology, i: int, q: Array, f_ext: Array, change: Change) -> Array:
    """How a wrench from outside turns with a body whose frame does not, as part of `_needed`."""
    m = change.S[i].shape[1]
    out = np.full((6, 3 * m), 0.0, dtype=object)
    if top.spins_unseen[i]:
        out[:, m : 2 * m] = columns([cross_force(s, in_used_frame(top, i, q, f_ext)) for s in change.own[i].T], 6)
    return out


def _own(
    tree: ClusterTree,
    kin: Motion,
    c: Cluster,
    change: Change,
    F: Sequence[Array],
    a: Array,
    f: dict[int, Array],
    out: Partials,
) -> dict[int, Array]:
    """The cluster's own blocks of d tau = G^T d(S^T F) + dG^T S^T F; its wrenches f on the output bodies."""
    top, m, bend = tree.top, c.m, change.bend
    G, _, g = kin.embedding[c.index]
    armature = top.armature[list(c.dofs)]
    along_q: dict[int, Array] = {}
    along_v: dict[int, Array] = {}
    below: dict[int, list[Array]] = {}
    parts = {i: [x] for i, x in f.items()}
    for i in reversed(c.bodies):
        wrench = total(parts[i])
        along_q[i], along_v[i] = kin.S[i].T @ wrench[:, m : 2 * m], kin.S[i].T @ wrench[:, 2 * m :]
        if (dS := change.subspace[i]) is not None:
            along_q[i] = along_q[i] + columns([x.T @ F[i] for x in dS], len(along_q[i]))
        wrench[:, m : 2 * m] = wrench[:, m : 2 * m] + columns([cross_force(s, F[i]) for s in change.turn[i].T], 6)
        parent = top.parent[i]
        (parts if parent in parts else below).setdefault(parent, []).append(kin.T[i].force(wrench))
    tau = join([kin.S[i].T @ F[i] for i in c.bodies]) + armature * (G @ a[c.v] + g)
    joint = np.concatenate([along_q[i] for i in c.bodies]) + armature[:, None] * bend.qdd
    out.dq[c.v, c.v] = G.T @ joint + columns([x.T @ tau for x in bend.G], m)
    joint = np.concatenate([along_v[i] for i in c.bodies]) + armature[:, None] * bend.qdd_v
    out.dv[c.v, c.v] = G.T @ joint
    return {i: total(x) for i, x in below.items()}


def _couple(
    tree: ClusterTree,
    kin: Motion,
    c: Cluster,
    changes: Sequence[Change],
    f: dict[int, Array],
    y: dict[int, Array],
    out: Partials,
) -> None:
    """Blocks between a cluster and those below it, from its wrenches f and its y on its output bodies."""
    here, m = c, c.m
    while here.parent >= 0:
        here = tree.clusters[here.parent]
        change = changes[here.index]
        for i, wrench in f.items():
            x, S = wrench[:, :m].T, change.S[i]
            felt = S.T @ wrench
            out.M[here.v, c.v] += felt[:, :m]
            out.dq[here.v, c.v] += felt[:, m : 2 * m]
            out.dv[here.v, c.v] += felt[:, 2 * m :]
            out.dq[c.v, here.v] += x @ change.e[i] + y[i].T @ change.d[i][:3]
            out.dv[c.v, here.v] += x @ change.e_v[i] + y[i].T @ S[:3]
        out.M[c.v, here.v] = out.M[here.v, c.v].T
        f = inward(tree, kin, here, f)
        y = inward(tree, kin, here, y)


def inward(tree: ClusterTree, kin: Motion, c: Cluster, at: dict[int, Array]) -> dict[int, Array]:
    """Wrenches, or turning parts of them alone, on bodies of a cluster: propagated to its output bodies."""
    parts = {i: [x] for i, x in at.items()}
    below: dict[int, list[Array]] = {}
    for i in reversed(c.bodies):
        if i in parts:
            x, parent = total(parts[i]), tree.top.parent[i]
            x = kin.T[i].force(x) if len(x) == 6 else kin.T[i].R @ x
            (parts if parent in c.bodies else below).setdefault(parent, []).append(x)
    return {i: total(x) for i, x in below.items()}
