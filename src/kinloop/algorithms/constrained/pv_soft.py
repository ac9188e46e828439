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

from kinloop.algorithms.constrained.constraint_wrenches import Held, hold, placed_bodies
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import Solution, Start, drive, force_bias, free_values, push, roll_out
from kinloop.algorithms.constrained.pv import delassus, join, offsets, with_multipliers
from kinloop.algorithms.trees.articulated import articulate
from kinloop.algorithms.trees.cluster_aba import body_accelerations
from kinloop.algorithms.trees.kinematics import motion
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, symmetric_product
from kinloop.scalar import Array
from kinloop.spatial import Inertia

COMPLIANCE = 1e-8


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
    turning = placed_bodies(placed)
    kin = motion(tree, q, v, turning)
    held = [hold(tree, kin, q, p) for p in placed]
    soft = [h for h in held if is_local(h)]
    others = [h for h in held if not is_local(h)]
    inertia, p = list(tree.top.inertia), force_bias(tree.top, kin, q, f_ext, turning)
    for h in soft:
        ((i, f),) = h.ends.items()
        inertia[i] = stiffened(inertia[i], f, 1.0 / compliance)
        p[i] = p[i] - f @ (h.k * (1.0 / compliance))
    art = articulate(tree, kin, inertia)
    u, C = drive(tree, kin, art, p, tau)
    s = Start(kin, art, u, C, others)
    pushed, at = [push(tree, kin, art, h) for h in others], offsets(others)
    found = np.zeros(0)
    if others:
        r = join([h.k - x for h, x in zip(others, free_values(tree, s), strict=True)])
        L = delassus(art, pushed, at, range(len(art)))
        found = Factor(L + compliance * np.eye(len(r))).solve(r)
    a = roll_out(tree, kin, art, with_multipliers(u, pushed, at, found))
    acc = body_accelerations(tree, kin, a)
    rows = iter(at)
    parts = []
    for h in held:
        if is_local(h):
            ((i, f),) = h.ends.items()
            parts.append((h.k - f.T @ acc[i]) * (1.0 / compliance))
        else:
            parts.append(found[next(rows)])
    multipliers = join(parts)
    return Solution(a, multipliers, np.zeros(len(multipliers)))


def is_local(h: Held) -> bool:
    """Whether all rows of a constraint are on one body."""
    return len(h.ends) == 1 and not h.joints


def stiffened(I: Inertia, f: Array, stiffness: float) -> Inertia:
    """I + f f^T stiffness."""
    n, l = f[:3], f[3:]
    return Inertia(
        I.A + stiffness * symmetric_product(n, n),
        I.H + stiffness * (n @ l.T),
        I.M + stiffness * symmetric_product(l, l),
    )
