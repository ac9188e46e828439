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

from kinloop.algorithms import constrained_dense
from kinloop.algorithms.held import hold, placed_bodies
from kinloop.algorithms.kinematics import still
from kinloop.algorithms.motion_constraints import Closure, Placed
from kinloop.algorithms.multipliers import rank_rows
from kinloop.algorithms.elimination import Decisions
from kinloop.algorithms.pv_early import pv_early, solve_early
from kinloop.algorithms.pv import delassus, offsets, pv, row_sizes
from kinloop.algorithms.constrained import Start, push
from kinloop.algorithms.articulated import articulate
from kinloop.clusters import ClusterTree, random_closed
from kinloop.clusters.closing import close_parts
from kinloop.errors import MethodError
from kinloop.spatial.transform import Array

SAMPLES = 3


class Method(NamedTuple):
    """`solve` on numbers or symbols, `plan` of (tree, constraints) for symbols; `traced` unless it needs numbers."""

    solve: Callable[..., Any]
    plan: Callable[..., Any] | None = None
    traced: bool = True
    inputs: tuple[str, ...] = ("q", "v", "tau")
    outputs: tuple[str, ...] = ("a", "multipliers", "residual", "deficient")


def sample_states(tree: ClusterTree, placed: Sequence[Placed]) -> list[tuple[Array, Array]]:
    """States in general position, with constrained loops closed too."""
    top = tree.top
    names = [p.constraint.frame for p in placed if isinstance(p.constraint, Closure)]
    loops = [p for p in top.mechanism.loops if p.name in names]
    parts = [*loops, *(p for c in tree for p in c.parts)]
    rng = np.random.default_rng(0)
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
        kin = still(tree, q, placed_bodies(placed))
        art = articulate(tree, kin)
        held = [hold(tree, kin, q, p) for p in placed]
        L = delassus(art, [push(tree, kin, art, h) for h in held], offsets(held), range(len(art)))
        found = tuple(sorted(rank_rows(L, row_sizes(Start(kin, art, [], [], held)))[1]))
        best = found if best is None or len(found) < len(best) else best
    return best or ()


def early_plan(tree: ClusterTree, placed: Sequence[Placed]) -> dict[Any, Any]:
    """What to eliminate where, as done at the sample state that lets most rows go early."""
    best: tuple[int, dict[Any, Any]] = (-1, {})
    for q, v in sample_states(tree, placed):
        decide = Decisions()
        solve_early(tree, q, v, np.zeros(tree.nv), placed, None, decide)
        early = sum(len(choice.rows) for k, choice in decide.made.items() if k != "last")
        count = early - len(decide.made.get("last", ()))
        best = (count, decide.made) if count > best[0] else best
    return best[1]


def _pv(tree, q, v, tau, placed, f_ext=None, plan=None, **options):  # noqa: ANN001, ANN003, ANN202
    return pv(tree, q, v, tau, placed, f_ext, dependent=plan, **options)


def _dense(tree, q, v, tau, placed, f_ext=None, plan=None):  # noqa: ANN001, ANN202
    return constrained_dense.dense_kkt(tree, q, v, tau, placed, f_ext)


DYNAMICS: dict[str, Method] = {
    "pv": Method(_pv, dependent_plan),
    "pv_joint": Method(partial(_pv, base="joint"), dependent_plan),
    "pv_branches": Method(partial(_pv, base="branches"), dependent_plan),
    "pv_early": Method(pv_early, early_plan),
    "least_squares": Method(partial(_pv, base="joint", least_squares=True), dependent_plan),
    "dense_kkt": Method(_dense, traced=False),
}


CONSTRAINED: dict[str, dict[str, Method]] = {"constrained_dynamics": DYNAMICS}


def method_of(quantity: str, name: str | None) -> tuple[str, Method]:
    """A method of a constrained quantity by name; the first one by default."""
    methods = CONSTRAINED[quantity]
    name = next(iter(methods)) if name is None else name
    if name not in methods:
        raise MethodError(f"method {name!r} of {quantity} is not one of {', '.join(map(repr, methods))}")
    return name, methods[name]
