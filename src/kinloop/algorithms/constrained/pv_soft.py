"""Soft constraints on cluster trees in O(n + m): Gauss' principle with penalties, as MuJoCo has it.

    minimise  ... + (K a - k)^T R^-1 (K a - k) / 2,    lambda = R^-1 (k - K a)                (1)

A row on one body is one more inertia and one more force on it, and the motion is that of `cluster_aba`:

    I_i += K^T R^-1 K,    f_i += K^T R^-1 k                                                    (2)

Rows between bodies keep their multipliers, (L + R) lambda = k - l. R is `compliance` times one. Derivation:
docs/algorithms/pv_soft.md, after [Sathya2023, (50)-(52); (52) there lacks a transpose].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches, constrained_bodies, wrenches_of
from kinloop.algorithms.constrained.delassus import delassus, places, with_multipliers
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import Solution, Unconstrained, accelerations, missing, propagate_all
from kinloop.algorithms.trees.articulated import articulate
from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.cluster_aba import inward
from kinloop.algorithms.trees.kinematics import body_accelerations, motion
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, join, symmetric_product
from kinloop.scalar import Array
from kinloop.spatial import Inertia

COMPLIANCE = 1e-8
"""How much rows yield by default [m/s^2 per N]: far below what a robot's own inertia yields, far above rounding."""


def pv_soft(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    compliance: float = COMPLIANCE,
) -> Solution:
    """Accelerations and multipliers of constraints that yield by `compliance` [m/s^2 per N] in every row."""
    turning = constrained_bodies(placed)
    kin = motion(tree, q, v, turning)
    constraints = [wrenches_of(tree, kin, q, p) for p in placed]
    inertia, p = list(tree.top.inertia), body_bias(tree.top, kin.v, q, f_ext, turning)
    for w in constraints:
        if is_local(w):
            ((i, f),) = w.ends.items()
            inertia[i] = stiffened(inertia[i], f, 1.0 / compliance)
            p[i] = p[i] - f @ (w.k * (1.0 / compliance))
    art = articulate(tree, kin, inertia)
    others = [w for w in constraints if not is_local(w)]
    s = Unconstrained(kin, art, others, inward(tree, kin, art, p, tau))
    propagated, at = propagate_all(tree, kin, art, others), places(others)
    found = np.zeros(0)
    if others:
        r = missing(tree, s)
        L = delassus(art, propagated, at, range(len(art)))
        found = Factor(L + compliance * np.eye(len(r))).solve(r)
    a = accelerations(tree, kin, art, with_multipliers(s.u, propagated, at, found))
    multipliers = _all_multipliers(constraints, body_accelerations(tree, kin, a), found, at, compliance)
    return Solution(a, multipliers, np.zeros(len(multipliers)))


def _all_multipliers(
    constraints: Sequence[ConstraintWrenches],
    acc: Sequence[Array],
    found: Array,
    at: Sequence[slice],
    compliance: float,
) -> Array:
    """Multipliers in the order of the constraints: of those on one body by (1), of the others as found."""
    rows = iter(at)
    parts = []
    for w in constraints:
        if is_local(w):
            ((i, f),) = w.ends.items()
            parts.append((w.k - f.T @ acc[i]) * (1.0 / compliance))
        else:
            parts.append(found[next(rows)])
    return join(parts)


def is_local(w: ConstraintWrenches) -> bool:
    """Whether all rows of a constraint are on one body."""
    return len(w.ends) == 1 and not w.joints


def stiffened(I: Inertia, f: Array, stiffness: float) -> Inertia:
    """I + f f^T stiffness."""
    n, l = f[:3], f[3:]
    return Inertia(
        I.A + stiffness * symmetric_product(n, n),
        I.H + stiffness * (n @ l.T),
        I.M + stiffness * symmetric_product(l, l),
    )
