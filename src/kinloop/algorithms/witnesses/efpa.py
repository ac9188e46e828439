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

from kinloop.algorithms.constrained.constraint_wrenches import Held
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import Pushed, push
from kinloop.algorithms.constrained.pv import offsets
from kinloop.algorithms.constrained.pv_osim import at_rest
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.algorithms.trees.cluster_efpa import driving
from kinloop.algorithms.trees.kinematics import Motion
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram
from kinloop.scalar import Array


class End(NamedTuple):
    """One end of a constraint: its wrenches inward, its accelerations outward, its first cluster."""

    constraint: int
    held: Held
    pushed: Pushed
    omega: dict[int, dict[int, Array]]
    y: dict[int, Array]


def efpa(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T (m, m) of the constraints' rows."""
    r = at_rest(tree, q, placed)
    return efpa_delassus(tree, r.kin, r.art, r.held)


def efpa_solve(tree: ClusterTree, q: Array, x: Array, placed: Sequence[Placed]) -> Array:
    """(J M^-1 J^T)^-1 x."""
    return Factor(efpa(tree, q, placed)).solve(np.asarray(x))


def efpa_delassus(tree: ClusterTree, kin: Motion, art: list[Articulated], held: Sequence[Held]) -> Array:
    at = offsets(held)
    ends = [_end(tree, kin, art, c, one) for c, h in enumerate(held) for one in split(tree, h)]
    L = np.full((at[-1].stop if at else 0,) * 2, 0.0, dtype=object if any(_symbolic(e) for e in ends) else float)
    for n, a in enumerate(ends):
        for b in ends[n:]:
            common = [k for k in a.pushed.u if k in b.pushed.u]
            if not common:
                continue
            block = _meet(tree, kin, a, b, max(common))
            rows, columns = at[a.constraint], at[b.constraint]
            L[rows, columns] = L[rows, columns] + block
            if a is not b:
                L[columns, rows] = L[columns, rows] + block.T
    return L


def _symbolic(e: End) -> bool:
    return any(u.dtype == object for u in e.pushed.u.values())


def split(tree: ClusterTree, h: Held) -> list[Held]:
    """A constraint as ends with one path to the world each."""
    out = [h._replace(ends={i: f}, joints={}) for i, f in h.ends.items()]
    for c in tree:
        mine = {d: h.joints[d] for d in c.dofs if d in h.joints}
        if mine:
            out.append(h._replace(ends={}, joints=mine))
    return out


def _end(tree: ClusterTree, kin: Motion, art: list[Articulated], constraint: int, h: Held) -> End:
    """Inward and outward pass of one end."""
    pushed = push(tree, kin, art, h)
    omega: dict[int, dict[int, Array]] = {}
    rates: dict[int, Array] = {}
    for k in sorted(pushed.u):
        a = art[k]
        above = omega.get(a.cluster.parent, {})
        rates[k] = a.D.solve(driving(tree.top, a, kin, pushed.u[k], above))
        qdd = kin.embedding[k].G @ rates[k]
        motion: dict[int, Array] = {}
        row = 0
        for i in a.cluster.bodies:
            n, parent = tree.top.types[i].nv, tree.top.parent[i]
            own = kin.S[i] @ qdd[row : row + n]
            row += n
            before = motion.get(parent, above.get(parent))
            motion[i] = own if before is None else kin.T[i].motion(before) + own
        omega[k] = motion
    return End(constraint, h, pushed, omega, rates)


def _meet(tree: ClusterTree, kin: Motion, a: End, b: End, k: int) -> Array:
    """(1) at cluster k, with the joint forces of an end that starts there."""
    chi = a.pushed.chi[k]
    block = np.zeros((a.held.size, b.held.size))
    for i, f in chi.items():
        block = block + (gram(f, b.omega[k][i]) if a is b and len(chi) == 1 else f.T @ b.omega[k][i])
    cluster = tree.clusters[k]
    for row, d in enumerate(cluster.dofs):
        if d in a.held.joints:
            block = block + np.multiply.outer(a.held.joints[d], kin.embedding[k].G[row] @ b.y[k])
    return block
