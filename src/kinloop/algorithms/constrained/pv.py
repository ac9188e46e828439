"""Constrained motion of cluster trees: the solver of Popov and Vereshchagin.

Inward, constraint wrenches travel beside the articulated inertias and gather L and l (`passes`); then

    L lambda = k - l                                                          (1), [Sathya2023, (43), (47)]

or, where L without the clusters on the world, L_b, can be inverted (its blocks are the branches'),

    (D + U_b L_b^-1 U_b^T) y = u + U_b L_b^-1 (k - l_b),
    L_b lambda = k - l_b - U_b^T y                                            (2), [Sathya2023, (46), (49)]

with U_b the wrenches as they reach the base's own joint (`branches`). Outward the motion follows. Derivation:
docs/algorithms/pv.md, after [Sathya2023, Algorithm 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.branches import branches_pay, solve_branches
from kinloop.algorithms.constrained.delassus import delassus, places, row_sizes, with_multipliers
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.multipliers import RowPlan, solve_rows
from kinloop.algorithms.constrained.passes import Solution, accelerations, missing, propagate_all, unconstrained
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array


def pv(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    base: str = "auto",
    rows: RowPlan | None = None,
    least_squares: bool = False,
    pivots: Sequence[float] | None = None,
) -> Solution:
    """Accelerations and multipliers; `base` chooses between (1) "joint" and (2) "branches".

    "auto" takes (2) where it pays: several branches, each able to follow its own constraints. On symbols
    what is known of the `rows` and the usual sizes of (2)'s `pivots` must be given.
    """
    s = unconstrained(tree, q, v, tau, placed, f_ext)
    propagated, at = propagate_all(tree, s.kin, s.art, s.constraints), places(s.constraints)
    r = missing(tree, s)
    by_branches = base == "branches" or (base == "auto" and branches_pay(s.art, propagated, at))
    lost: Any = 1.0
    if by_branches and not (rows and rows.dependent) and not least_squares:
        multipliers, lost, _ = solve_branches(s, propagated, at, r, pivots)
        residual = np.zeros(len(r))
    if not sc.is_symbolic(lost) and lost:  # a branch cannot follow its constraints without the base
        L = delassus(s.art, propagated, at, range(len(s.art)))
        dependent, size = (None, row_sizes(s.art, s.constraints)) if rows is None else rows
        multipliers, residual, lost = solve_rows(L, r, dependent, least_squares, size)
    a = accelerations(tree, s.kin, s.art, with_multipliers(s.u, propagated, at, multipliers))
    return Solution(a, multipliers, residual, lost)
