"""Whether the velocities that loops leave free at a closed configuration lead anywhere.

Rows lose rank where links lie in line. Drawn there, a rigid triangle seems to leave one velocity free, and closes
nowhere else. If the rank is the same at positions around, open ones too, the closed configurations are a manifold of
as many dimensions as there are free velocities (the constant rank theorem). If not, the free velocities are followed:
a step along each, closed again, must arrive somewhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.clusters.charts import rank_of
from kinloop.clusters.closing import CONVERGED, TOLERANCE, close_parts, residual
from kinloop.errors import ModelError
from kinloop.model.loops import LoopClosure, stacked_rows
from kinloop.model.topology import Topology
from kinloop.scalar import Array

AROUND = 0.3
"""How far from a closed configuration ranks are looked at [rad, m]."""

STEPS = (0.1, 0.03, 0.01, 1e-3)
"""How far free velocities are followed [rad, m]: the shortest is for mechanisms of millimetres."""

EXACT_RANK = 1e-9
"""Singular values of weighted rows below this are zero. Where they are not, rows of a file depend on each other only
as well as it is printed, and loops that move open a little: then only what does not move at all is refused."""

LONG = 8.0
"""Steps shorter than this many roots of what closing leaves open say nothing: a loop in line opens with the square."""

ARRIVED = 0.5
"""Part of a step that must be left, in every direction of the free velocities, once the loops are closed again."""


DISAGREE = 1e-3
"""Weighted rows that leave no velocity free, but with a singular value below this, would leave one if loops agreed."""


def check_agreement(parts: Sequence[LoopClosure], K: Array) -> None:
    """Raise a `ModelError` if weighted rows K hold a cluster only because loops that follow from others disagree."""
    sizes = np.linalg.svd(K, compute_uv=False)
    if len(K) > K.shape[1] == rank_of(K) and sizes[-1] < DISAGREE:
        names = ", ".join(repr(p.name) for p in parts)
        raise ModelError(
            f"{names} hold more than they need to and disagree, so that nothing can move (singular value "
            f"{sizes[-1]:.1e}); redundant loops may disagree by 1e-7 m: give their frames more digits, or leave one out"
        )


def check_mobility(
    top: Topology, parts: Sequence[LoopClosure], dofs: Sequence[int], q: Array, weights: Array, free: int
) -> None:
    """Raise a `ModelError` if of the `free` velocities at a closed q some lead to no other closed configuration."""
    rows = stacked_rows(top, parts, dofs, q)
    weighted = rows.K * weights[:, None]
    rank = len(dofs) - free
    if not free or rank == len(weighted):
        return
    rng = np.random.default_rng(0)
    around = top.integrate(q, _spread(top, dofs, AROUND * rng.normal(size=len(dofs))))
    if rank_of(stacked_rows(top, parts, dofs, around).K * weights[:, None]) <= rank:
        return
    _, sizes, turned = np.linalg.svd(weighted)
    directions, exact = turned[rank:], np.max(sizes[rank:], initial=0.0) < EXACT_RANK
    # files print few digits: what does not close exactly here will not elsewhere
    left = CONVERGED if residual(rows.phi) < CONVERGED else TOLERANCE
    reached = max(_reached(top, parts, dofs, q, directions, h, left) for h in STEPS if h > LONG * np.sqrt(left))
    if reached == 0 or (exact and reached < free):
        names = ", ".join(repr(p.name) for p in parts)
        raise ModelError(
            f"{names} close only where they are drawn: {free} velocities seem free in that singular position, links in "
            f"line or flat, and {reached} of them lead anywhere, so that the mechanism cannot move as it seems to; "
            "change a length, or make one body of those that cannot move"
        )


def _reached(
    top: Topology, parts: Sequence[LoopClosure], dofs: Sequence[int], q: Array, directions: Array, h: float, left: float
) -> int:
    """In how many directions closed configurations are found a step h away."""
    moved = []
    for x in directions:
        there, error = close_parts(top, parts, dofs, top.integrate(q, _spread(top, dofs, h * x)))
        if error < left:
            moved.append(directions @ top.difference(q, there)[list(dofs)] / h)
    return int(np.sum(np.linalg.svd(np.array(moved), compute_uv=False) > ARRIVED)) if moved else 0


def _spread(top: Topology, dofs: Sequence[int], step: Array) -> Array:
    """A step of some coordinates among all."""
    out = np.zeros(top.n_spanning)
    out[list(dofs)] = step
    return out
