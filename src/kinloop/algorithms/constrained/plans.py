"""What solvers of constrained motion must know before they can be traced.

On numbers a solver decides about ranks as it goes; on symbols a `plan`, made from numbers at sample states,
decides once: which rows depend on others, what to eliminate where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.constrained.branches import branch_pivots
from kinloop.algorithms.constrained.delassus import delassus, places, row_sizes
from kinloop.algorithms.constrained.early_choices import EARLY_IN_PLANS, Decisions, EarlyPlan
from kinloop.algorithms.constrained.motion_constraints import Closure, Placed
from kinloop.algorithms.constrained.multipliers import RowPlan, rank_rows
from kinloop.algorithms.constrained.passes import Solution, at_rest, propagate_all
from kinloop.algorithms.constrained.pv_early import solve_early
from kinloop.clusters import ClusterTree, random_closed
from kinloop.clusters.closing import close_parts
from kinloop.scalar import Array

SAMPLES = 5
"""States at which a plan looks at ranks: one would do if it were in general position for sure."""


def sample_states(tree: ClusterTree, placed: Sequence[Placed]) -> list[tuple[Array, Array]]:
    """States in general position, with constrained loops closed too."""
    top = tree.top
    names = [p.constraint.frame for p in placed if isinstance(p.constraint, Closure)]
    loops = [p for p in top.mechanism.loops if p.name in names]
    parts = [*loops, *(p for c in tree for p in c.parts)]
    rng = np.random.default_rng(20231)
    out = []
    for _ in range(SAMPLES):
        q = random_closed(tree, rng, limits=False)
        if loops:
            q, _ = close_parts(top, parts, range(top.n_spanning), q)
        out.append((q, rng.normal(size=tree.nv)))
    return out


def row_plan(tree: ClusterTree, placed: Sequence[Placed]) -> RowPlan:
    """Rows that depend on the others wherever the robot stands, and how much the rows usually give way."""
    best: tuple[int, ...] | None = None
    sizes = np.zeros(sum(p.constraint.size for p in placed))
    for q, _ in sample_states(tree, placed):
        r = at_rest(tree, q, placed)
        L = delassus(r.art, propagate_all(tree, *r), places(r.constraints), range(len(tree)))
        found = tuple(sorted(rank_rows(L, row_sizes(r.art, r.constraints))[1]))
        best = found if best is None or len(found) < len(best) else best
        sizes = np.maximum(sizes, np.diag(L))
    return RowPlan(best or (), tuple(map(float, sizes)))


class PvPlan(NamedTuple):
    """Options of `pv` that depend on numbers: its rows, which equation, the usual pivots of its branches."""

    rows: RowPlan
    base: str
    pivots: tuple[float, ...] | None = None


def pv_plan(base: str) -> Callable[[ClusterTree, Sequence[Placed]], PvPlan]:
    """Dependent rows, and whether the branches can be solved before the base."""

    def plan(tree: ClusterTree, placed: Sequence[Placed]) -> PvPlan:
        rows = row_plan(tree, placed)
        if rows.dependent or base == "joint":
            return PvPlan(rows, "joint")
        always = base == "branches"
        found = [branch_pivots(tree, at_rest(tree, q, placed), always) for q, _ in sample_states(tree, placed)]
        pivots = [p for p in found if p is not None]
        if not pivots:
            return PvPlan(rows, "joint")
        return PvPlan(rows, "branches", tuple(max(x) for x in zip(*pivots, strict=True)))

    return plan


def early_plan(tree: ClusterTree, placed: Sequence[Placed]) -> EarlyPlan:
    """What to eliminate where, as done at the sample state that lets most rows go early; largest pivots seen."""
    plans = []
    for q, v in sample_states(tree, placed):
        decide = Decisions(early=EARLY_IN_PLANS)
        solve_early(tree, q, v, np.zeros(tree.nv), placed, None, decide)
        plans.append(decide.made)
    best = max(plans, key=lambda p: p.eliminated)
    alike = [p.choices for p in plans if best.alike(p)]
    usual = {}
    for k, c in best.choices.items():
        sizes = tuple(max(x) for x in zip(*(choices[k].sizes for choices in alike), strict=True))
        usual[k] = c._replace(sizes=sizes, square=max(choices[k].square for choices in alike))
    return EarlyPlan(usual, best.last)


def planned(solve: Callable[..., Solution], **options: Any) -> Callable[..., Solution]:
    """A solver whose `plan` is a `PvPlan`."""

    def call(*arguments: Any, f_ext: Array | None = None, plan: PvPlan | None = None) -> Solution:
        given = {} if plan is None else plan._asdict()
        return solve(*arguments, f_ext, **(options | given))

    return call
