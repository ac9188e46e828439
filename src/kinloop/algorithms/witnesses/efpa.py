"""Inverse operational-space inertia of constraints by extended force propagators, rows chosen by K.

The baseline of [Sathya2023, section VII-C]: every end of a constraint sends its wrenches to the world
(inward), the accelerations they cause come back along the same path (outward), and two ends meet at their
deepest common cluster:

    L(e1, e2) = sum_i chi_1(i)^T Omega_2(i)                                            (1)

As `cluster_efpa`, with K^T in place of the six unit wrenches. Derivation: docs/algorithms/cluster_efpa.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches
from kinloop.algorithms.constrained.delassus import places
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import Propagated, at_rest, propagate_rows
from kinloop.algorithms.trees import cluster_efpa
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.algorithms.trees.kinematics import Motion
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram
from kinloop.scalar import Array


class End(NamedTuple):
    """One end of a constraint: its wrenches inward, its accelerations outward, its first cluster."""

    constraint: int
    rows: ConstraintWrenches
    inward: Propagated
    omega: dict[int, dict[int, Array]]
    y: dict[int, Array]


def efpa(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T (m, m) of the constraints' rows."""
    r = at_rest(tree, q, placed)
    return efpa_delassus(tree, *r)


def efpa_solve(tree: ClusterTree, q: Array, x: Array, placed: Sequence[Placed]) -> Array:
    """(J M^-1 J^T)^-1 x."""
    return Factor(efpa(tree, q, placed)).solve(np.asarray(x))


def efpa_delassus(
    tree: ClusterTree, kin: Motion, art: Sequence[Articulated], constraints: Sequence[ConstraintWrenches]
) -> Array:
    """J M^-1 J^T of constraints whose wrenches are known."""
    at = places(constraints)
    ends = [_end(tree, kin, art, c, one) for c, w in enumerate(constraints) for one in split(tree, w)]
    blocks: list[tuple[slice, slice, Array]] = []
    for n, a in enumerate(ends):
        for b in ends[n:]:
            common = [k for k in a.inward.u if k in b.inward.u]
            if not common:
                continue
            block = _meet(tree, kin, a, b, max(common))
            rows, columns = at[a.constraint], at[b.constraint]
            blocks += [(rows, columns, block)] + ([(columns, rows, block.T)] if a is not b else [])
    symbolic = sc.is_symbolic(*(block for _, _, block in blocks))
    L = np.full((at[-1].stop if at else 0,) * 2, 0.0, dtype=object if symbolic else float)
    for rows, columns, block in blocks:
        L[rows, columns] = L[rows, columns] + block
    return L


def split(tree: ClusterTree, w: ConstraintWrenches) -> list[ConstraintWrenches]:
    """A constraint as ends with one path to the world each."""
    out = [w._replace(ends={i: f}, joints={}) for i, f in w.ends.items()]
    for c in tree:
        mine = {d: w.joints[d] for d in c.dofs if d in w.joints}
        if mine:
            out.append(w._replace(ends={}, joints=mine))
    return out


def _end(tree: ClusterTree, kin: Motion, art: Sequence[Articulated], constraint: int, rows: ConstraintWrenches) -> End:
    """Inward and outward pass of one end."""
    inward = propagate_rows(tree, kin, art, rows)
    omega, y = cluster_efpa.respond(tree, kin, art, inward.u)
    return End(constraint, rows, inward, omega, y)


def _meet(tree: ClusterTree, kin: Motion, a: End, b: End, k: int) -> Array:
    """(1) at cluster k, with the joint forces of an end that starts there."""
    chi = a.inward.chi[k]
    block = np.zeros((a.rows.size, b.rows.size))
    for i, f in chi.items():
        block = block + (gram(f, b.omega[k][i]) if a is b and len(chi) == 1 else f.T @ b.omega[k][i])
    cluster = tree.clusters[k]
    for row, d in enumerate(cluster.dofs):
        if d in a.rows.joints:
            block = block + np.multiply.outer(a.rows.joints[d], kin.embedding[k].G[row] @ b.y[k])
    return block
