"""Inverse operational-space inertia by the recursion of Kreutz-Delgado, Jain and Rodriguez (KJR).

With Psi the propagator of forces from a cluster's bodies to its output bodies, its joint giving way, the
compliance of the bodies of a cluster follows outward,

    Upsilon_k = Psi^T Upsilon_parent Psi + S D^-1 S^T                                  (1)

and that between two frames from their deepest common cluster, one propagator after the other:

    Omega(e1, e2) = Psi_1^T ... Upsilon_common ... Psi_2                               (2)

A baseline of [Sathya2023, section VII-C], after [KreutzDelgado1992]. Holds frames, not closures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches
from kinloop.algorithms.constrained.delassus import places
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import at_rest
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError
from kinloop.linear import gram
from kinloop.scalar import Array


def kjr(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T (m, m) of the constraints' rows."""
    r = at_rest(tree, q, placed)
    return kjr_delassus(tree, r.art, r.constraints)


def kjr_delassus(tree: ClusterTree, art: Sequence[Articulated], constraints: Sequence[ConstraintWrenches]) -> Array:
    """J M^-1 J^T of constraints whose wrenches are known."""
    if any(w.joints for w in constraints):
        raise MethodError("method 'kjr' holds frames only; use 'pv_osim' for closures of loops")
    bodies = _bodies(tree, sorted({i for w in constraints for i in w.ends}))
    psi = {k: _propagator(art[k], mine, bodies) for k, mine in bodies.items()}
    upsilon: dict[int, Array] = {}
    for k in sorted(bodies):
        a, above = art[k], upsilon.get(tree.clusters[k].parent)
        S = np.concatenate([a.S[i] for i in bodies[k]])
        own = gram(S.T, a.D.solve(S.T)) if a.cluster.m else np.zeros((len(S), len(S)))
        upsilon[k] = own if above is None else own + gram(psi[k], above @ psi[k])
    at = places(constraints)
    m = at[-1].stop if at else 0
    L = np.full((m, m), 0.0, dtype=np.result_type(float, *upsilon.values()) if upsilon else float)
    ends = [(c, i, f) for c, w in enumerate(constraints) for i, f in w.ends.items()]
    for n, (c, i, f) in enumerate(ends):
        for d, j, g in ends[n:]:
            block = f.T @ _between(tree, bodies, psi, upsilon, i, j) @ g
            L[at[c], at[d]] = L[at[c], at[d]] + block
            if (c, i) != (d, j):
                L[at[d], at[c]] = L[at[d], at[c]] + block.T
    return L


def _bodies(tree: ClusterTree, ends: Sequence[int]) -> dict[int, list[int]]:
    """Of every cluster that supports a frame: the bodies that do."""
    out: dict[int, set[int]] = {}
    for i in ends:
        out.setdefault(tree.cluster_of[i], set()).add(i)
    for c in reversed(tree.clusters):
        if c.index in out and c.parent >= 0:
            out.setdefault(c.parent, set()).update(c.outputs)
    return {k: sorted(b) for k, b in out.items()}


def _propagator(a: Articulated, mine: list[int], bodies: dict[int, list[int]]) -> Array:
    """Psi: forces on the cluster's bodies as forces on the parent cluster's."""
    if a.cluster.parent < 0:
        return np.zeros((0, 6 * len(mine)))
    below = bodies[a.cluster.parent]
    columns = []
    for i in mine:
        there = a.pass_on({i: np.eye(6)}, a.S[i].T)
        columns.append(np.concatenate([there.get(j, np.zeros((6, 6))) for j in below]))
    return np.concatenate(columns, axis=1)


def _between(
    tree: ClusterTree, bodies: dict[int, list[int]], psi: dict[int, Array], upsilon: dict[int, Array], i: int, j: int
) -> Array:
    """(2) for two bodies, propagated along both paths."""
    paths = []
    for body in (i, j):
        path = [tree.cluster_of[body]]
        while tree.clusters[path[-1]].parent >= 0:
            path.append(tree.clusters[path[-1]].parent)
        paths.append(path)
    common = [k for k in paths[0] if k in paths[1]]
    if not common:
        return np.zeros((6, 6))
    x = upsilon[common[0]]
    for path, body, left in ((paths[0], i, True), (paths[1], j, False)):
        for k in reversed(path[: path.index(common[0])]):
            x = psi[k].T @ x if left else x @ psi[k]
        n = 6 * bodies[path[0]].index(body)
        x = x[n : n + 6] if left else x[:, n : n + 6]
    return x
