"""Solvers of constrained motion by name, and what each must know before it can be traced.

A solver takes (tree, q, v, tau, constraints, f_ext, plan). On numbers it decides about ranks as it goes; on
symbols a `plan`, made from numbers at sample states, decides once: which rows depend on others, what to
eliminate where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.constrained.branches import branch_pivots
from kinloop.algorithms.constrained.delassus import delassus, places, row_sizes
from kinloop.algorithms.constrained.early_choices import EARLY_IN_PLANS, Decisions, EarlyPlan
from kinloop.algorithms.constrained.motion_constraints import Closure, Placed
from kinloop.algorithms.constrained.multipliers import rank_rows
from kinloop.algorithms.constrained.passes import at_rest, propagate_all
from kinloop.algorithms.constrained.pv import pv
from kinloop.algorithms.constrained.pv_early import pv_early, solve_early
from kinloop.algorithms.constrained.pv_osim import pv_osim, pv_osim_solve
from kinloop.algorithms.constrained.pv_osim_fast import pv_osim_fast, pv_osim_fast_solve
from kinloop.algorithms.constrained.pv_osimr import pv_osimr, pv_osimr_solve
from kinloop.algorithms.constrained.pv_soft import pv_soft
from kinloop.algorithms.witnesses import dense_constrained as constrained_dense
from kinloop.algorithms.witnesses.constrained_efpa import constrained_efpa
from kinloop.algorithms.witnesses.efpa import efpa, efpa_solve
from kinloop.algorithms.witnesses.kjr import kjr
from kinloop.algorithms.witnesses.ltl import ltl, ltl_osim, ltl_osim_solve
from kinloop.algorithms.witnesses.ltl_soft import ltl_soft
from kinloop.clusters import ClusterTree, random_closed
from kinloop.clusters.closing import close_parts
from kinloop.errors import MethodError
from kinloop.spatial.transform import Array

SAMPLES = 5
"""States at which a plan looks at ranks: one would do if it were in general position for sure."""


class Method(NamedTuple):
    """`solve` on numbers or symbols, `plan` of (tree, constraints) for symbols; `traced` unless it needs numbers."""

    solve: Callable[..., Any]
    plan: Callable[..., Any] | None = None
    traced: bool = True
    inputs: tuple[str, ...] = ("q", "v", "tau")
    outputs: tuple[str, ...] = ("a", "multipliers", "residual", "deficient")
    soft: bool = False


def sample_states(tree: ClusterTree, placed: Sequence[Placed]) -> list[tuple[Array, Array]]:
    """States in general position, with constrained loops closed too."""
    top = tree.top
    names = [p.constraint.frame for p in placed if isinstance(p.constraint, Closure)]
    loops = [p for p in top.mechanism.loops if p.name in names]
    parts = [*loops, *(p for c in tree for p in c.parts)]
    rng = np.random.default_rng(20231)
    out = []
    for _ in range(SAMPLES):
        q = random_closed(tree, rng)
        if loops:
            q, _ = close_parts(top, parts, range(top.n_spanning), q)
        out.append((q, rng.normal(size=tree.nv)))
    return out


def dependent_plan(tree: ClusterTree, placed: Sequence[Placed]) -> tuple[int, ...]:
    """Rows that depend on the others wherever the robot stands."""
    best: tuple[int, ...] | None = None
    for q, _ in sample_states(tree, placed):
        r = at_rest(tree, q, placed)
        L = delassus(r.art, propagate_all(tree, *r), places(r.constraints), range(len(tree)))
        found = tuple(sorted(rank_rows(L, row_sizes(r.art, r.constraints))[1]))
        best = found if best is None or len(found) < len(best) else best
    return best or ()


class PvPlan(NamedTuple):
    """Options of `pv` that depend on numbers: dependent rows, which equation, the usual pivots of its branches."""

    dependent: tuple[int, ...]
    base: str
    pivots: tuple[float, ...] | None = None


def pv_plan(base: str) -> Callable[[ClusterTree, Sequence[Placed]], PvPlan]:
    """Dependent rows, and whether the branches can be solved before the base."""

    def plan(tree: ClusterTree, placed: Sequence[Placed]) -> PvPlan:
        dependent = dependent_plan(tree, placed)
        if dependent or base == "joint":
            return PvPlan(dependent, "joint")
        always = base == "branches"
        found = [branch_pivots(tree, at_rest(tree, q, placed), always) for q, _ in sample_states(tree, placed)]
        pivots = [p for p in found if p is not None]
        if not pivots:
            return PvPlan(dependent, "joint")
        return PvPlan(dependent, "branches", tuple(max(x) for x in zip(*pivots, strict=True)))

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


def _planned(solve: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A solver whose plan names `dependent` rows and the `base`."""

    def call(
        tree: ClusterTree, q: Array, v: Array, tau: Array, placed: Sequence[Placed],
        f_ext: Array | None = None, plan: PvPlan | None = None,
    ) -> Any:  # fmt: skip
        given = {} if plan is None else plan._asdict()
        return solve(tree, q, v, tau, placed, f_ext, **(options | given))

    return call


def _planless(solve: Callable[..., Any]) -> Callable[..., Any]:
    """A solver that never needs a plan, or a matrix of the rows."""

    def call(*arrays: Any, plan: None = None, **options: Any) -> Any:
        return solve(*arrays, **options)

    return call


def _matrix(solve: Callable[..., Any], traced: bool = True) -> Method:
    return Method(_planless(solve), None, traced, ("q",), ("delassus",))


def _applied(solve: Callable[..., Any]) -> Method:
    return Method(_planless(solve), None, True, ("q", "x"), ("multipliers",))


CONSTRAINED: dict[str, dict[str, Method]] = {
    "constrained_dynamics": {
        "pv": Method(_planned(pv), pv_plan("auto")),
        "pv_joint": Method(_planned(pv, base="joint"), pv_plan("joint")),
        "pv_branches": Method(_planned(pv, base="branches"), pv_plan("branches")),
        "pv_early": Method(pv_early, early_plan),
        "pv_soft": Method(_planless(pv_soft), soft=True),
        "ltl": Method(ltl, dependent_plan),
        "ltl_soft": Method(_planless(ltl_soft), soft=True),
        "efpa": Method(constrained_efpa, dependent_plan),
        "kjr": Method(partial(constrained_efpa, by="kjr"), dependent_plan),
        "least_squares": Method(_planned(pv, base="joint", least_squares=True), pv_plan("joint")),
        "dense_kkt": Method(_planless(constrained_dense.dense_kkt), traced=False),
    },
    "delassus": {
        "pv_osim": _matrix(pv_osim),
        "pv_osim_fast": _matrix(pv_osim_fast),
        "pv_osimr": _matrix(pv_osimr),
        "efpa": _matrix(efpa),
        "ltl_osim": _matrix(ltl_osim),
        "kjr": _matrix(kjr),
        "dense_kkt": _matrix(constrained_dense.dense_delassus, traced=False),
    },
    "delassus_solve": {
        "pv_osim_fast": _applied(pv_osim_fast_solve),
        "pv_osim": _applied(pv_osim_solve),
        "pv_osimr": _applied(pv_osimr_solve),
        "efpa": _applied(efpa_solve),
        "ltl_osim": _applied(ltl_osim_solve),
    },
}
"""Quantities of a robot under motion constraints, their methods, the default first."""


def method_of(quantity: str, name: str | None) -> tuple[str, Method]:
    """A method of a constrained quantity by name; the first one by default."""
    methods = CONSTRAINED[quantity]
    name = next(iter(methods)) if name is None else name
    if name not in methods:
        raise MethodError(f"method {name!r} of {quantity} is not one of {', '.join(map(repr, methods))}")
    return name, methods[name]
