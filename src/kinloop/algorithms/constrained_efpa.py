"""Constrained motion with L from another algorithm than PV's own: extended force propagators, or KJR.

The passes are those of `pv`; only L = J M^-1 J^T is made as `efpa_rows` and `kjr` make it. Baselines.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinloop.algorithms.constrained import Solution, free_values, push, roll_out, start
from kinloop.algorithms.efpa_rows import efpa_delassus
from kinloop.algorithms.kjr import kjr_delassus
from kinloop.algorithms.motion_constraints import Placed
from kinloop.algorithms.multipliers import solve_rows
from kinloop.algorithms.pv import join, offsets, row_sizes, with_multipliers
from kinloop.clusters import ClusterTree
from kinloop.spatial.transform import Array


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
    # differences of ends leave rounding of the size of L, not of its square root's
    multipliers, residual, lost = solve_rows(L, r, plan, size=1e7 * row_sizes(s), tolerance=1e-10)
    a = roll_out(tree, s.kin, s.art, with_multipliers(s.u, pushed, at, multipliers))
    return Solution(a, multipliers, residual, lost)
