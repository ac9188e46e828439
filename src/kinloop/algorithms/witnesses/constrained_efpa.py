"""Constrained motion with L from another algorithm than PV's own: extended force propagators, or KJR.

The passes are those of `pv`; only L = J M^-1 J^T is made as `efpa_rows` and `kjr` make it. Baselines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.multipliers import solve_rows
from kinloop.algorithms.constrained.passes import Solution, Start, free_values, push, roll_out, start
from kinloop.algorithms.constrained.pv import delassus, join, offsets, row_sizes, with_multipliers
from kinloop.algorithms.witnesses.efpa import efpa_delassus, split
from kinloop.algorithms.witnesses.kjr import kjr_delassus
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array


def constrained_efpa(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    plan: Sequence[int] | None = None,
    by: str = "efpa",
) -> Solution:
    """Accelerations and multipliers; `by` is "efpa" or "kjr"."""
    s = start(tree, q, v, tau, placed, f_ext)
    pushed, at = [push(tree, s.kin, s.art, h) for h in s.held], offsets(s.held)
    r = join([h.k - x for h, x in zip(s.held, free_values(tree, s), strict=True)])
    L = (efpa_delassus if by == "efpa" else kjr_delassus)(tree, s.kin, s.art, s.held)
    # differences of ends leave rounding of the size of each end's own L
    size = 0.0 if L.dtype == object else 1e7 * row_sizes(s) + 1e7 * _ends(tree, s)
    multipliers, residual, lost = solve_rows(L, r, plan, size=size, tolerance=1e-10)
    a = roll_out(tree, s.kin, s.art, with_multipliers(s.u, pushed, at, multipliers))
    return Solution(a, multipliers, residual, lost)


def _ends(tree: ClusterTree, s: Start) -> Array:
    """The diagonal of L for every end alone, summed (numbers only)."""
    parts = []
    for h in s.held:
        alone = [delassus(s.art, [push(tree, s.kin, s.art, e)], offsets([e]), range(len(tree))) for e in split(tree, h)]
        parts.append(sum((np.diag(x) for x in alone), start=np.zeros(h.size)))
    return join(parts)
