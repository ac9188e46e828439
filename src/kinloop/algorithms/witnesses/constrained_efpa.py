"""Constrained motion with L from another algorithm than PV's own: extended force propagators, or KJR.

The passes are those of `pv`; only L = J M^-1 J^T is made as `efpa` and `kjr` make it. Baselines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.delassus import delassus, places, row_sizes, with_multipliers
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.multipliers import ROUNDING_OF_DIFFERENCES, RowPlan, solve_rows
from kinloop.algorithms.constrained.passes import (
    Solution,
    Unconstrained,
    accelerations,
    missing,
    propagate_all,
    unconstrained,
)
from kinloop.algorithms.witnesses.efpa import efpa_delassus, split
from kinloop.algorithms.witnesses.kjr import kjr_delassus
from kinloop.clusters import ClusterTree
from kinloop.linear import join
from kinloop.scalar import Array

DEPENDENT = 1e-10
"""A pivot below this part of its diagonal entry is dependent: ends that cancel leave more rounding than PV does."""


def constrained_efpa(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    plan: RowPlan | None = None,
    by: str = "efpa",
) -> Solution:
    """Accelerations and multipliers; `by` is "efpa" or "kjr"."""
    s = unconstrained(tree, q, v, tau, placed, f_ext)
    propagated, at = propagate_all(tree, s.kin, s.art, s.constraints), places(s.constraints)
    r = missing(tree, s)
    if by == "efpa":
        L = efpa_delassus(tree, s.kin, s.art, s.constraints)
    else:
        L = kjr_delassus(tree, s.art, s.constraints)
    dependent, size = (None, row_sizes(s.art, s.constraints) + _ends(tree, s)) if plan is None else plan
    multipliers, residual, lost = solve_rows(
        L, r, dependent, size=size, tolerance=DEPENDENT, rounding=ROUNDING_OF_DIFFERENCES
    )
    a = accelerations(tree, s.kin, s.art, with_multipliers(s.u, propagated, at, multipliers))
    return Solution(a, multipliers, residual, lost)


def _ends(tree: ClusterTree, s: Unconstrained) -> Array:
    """The diagonal of L for every end alone, summed (numbers only): what cancels where two ends meet."""
    parts = []
    for w in s.constraints:
        ends = split(tree, w)
        alone = [
            delassus(s.art, [p], places([e]), range(len(tree)))
            for e, p in zip(ends, propagate_all(tree, s.kin, s.art, ends), strict=True)
        ]
        parts.append(sum((np.diag(x) for x in alone), start=np.zeros(w.size)))
    return join(parts)
