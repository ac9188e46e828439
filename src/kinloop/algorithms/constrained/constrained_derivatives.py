"""Derivatives of constrained motion along closed motions: of accelerations and of multipliers.

Forces and rows at a state, with tau(q, v, a, lambda) what inverse dynamics asks for while the multipliers lambda act,

    tau(q, v, a, lambda) = tau,    rho(q, v, a) = K a - k = 0                                                  (1)

hold wherever the robot moves, so that along any change of q, v or tau

    M da - J^T dlambda = dtau - tau_x dx,    J da = -rho_x dx                                                  (2)

whose matrix is that of the motion itself. With the factors of M (`branch_factor`), Y = M^-1 J^T and L = J Y,

    b = M^-1 (dtau - tau_x dx),    L dlambda = -rho_x dx - J b,    da = b + Y dlambda.                         (3)

tau_x comes from the recursion of inverse dynamics, the constraints' wrenches acting from outside, and `row_changes`
has rho_x. Where rows depend on others the shortest multipliers turn with the rows, (4) of `multipliers`. Derivation:
docs/algorithms/constrained_derivatives.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches, constrained_bodies, wrenches_of
from kinloop.algorithms.constrained.motion_constraints import Closure, Placed
from kinloop.algorithms.constrained.multipliers import RowPlan, RowSolver
from kinloop.algorithms.constrained.plans import row_plan
from kinloop.algorithms.constrained.row_changes import BodyChanges, closure_change, frame_change, joint_forces, none
from kinloop.algorithms.trees.branch_factor import BranchFactor, velocity_parents
from kinloop.algorithms.trees.cluster_changes import cluster_change
from kinloop.algorithms.trees.cluster_crba import mass_matrix
from kinloop.algorithms.trees.derivatives import Moving, moving_robot, partials
from kinloop.algorithms.trees.forward_derivatives import bias_of
from kinloop.algorithms.trees.kinematics import (
    body_accelerations,
    spanning_accelerations,
    still,
    tangent_directions,
)
from kinloop.clusters import ClusterTree
from kinloop.linear import gram, join, spans
from kinloop.scalar import Array


class Slopes(NamedTuple):
    """Of accelerations and multipliers along q, v and tau; and, as `passes.Solution` has them, residual and lost rows.

    Where rows are lost at a state alone, multipliers jump and have no slopes.
    """

    da_dq: Array
    da_dv: Array
    da_dtau: Array
    dl_dq: Array
    dl_dv: Array
    dl_dtau: Array
    residual: Array
    deficient: Any


def constrained_dynamics_derivatives(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    plan: RowPlan | None = None,
) -> Slopes:
    """da/dq, da/dv, da/dtau, each (nv, nv), and the same of the multipliers, (rows, nv)."""
    plan = row_plan(tree, placed) if plan is None else plan
    return traced(partial(_slopes, tree, placed, plan), q, v, tau, f_ext)


def traced(slopes: Callable[..., Slopes], q: Array, v: Array, tau: Array, f_ext: Array | None) -> Slopes:
    """Slopes that come from the graph, wholly or in part: on numbers they are traced, and the numbers put in."""
    given = {"q": q, "v": v, "tau": tau} | ({} if f_ext is None else {"f_ext": f_ext.reshape(-1)})
    if sc.is_symbolic(*given.values()):
        return slopes(q, v, tau, f_ext)

    def outputs(q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> dict[str, Array]:
        return slopes(q, v, tau, None if f_ext is None else f_ext.reshape(-1, 6))._asdict()

    return Slopes(*sc.trace(outputs, {name: len(x) for name, x in given.items()})(*given.values()))


class _Solved(NamedTuple):
    """The motion under constraints, and what solves (2): Y, L and the factor of M."""

    factor: BranchFactor
    J: Array
    Y: Array
    rows: RowSolver
    a: Array
    multipliers: Array
    residual: Array


def _slopes(
    tree: ClusterTree, placed: Sequence[Placed], plan: RowPlan, q: Array, v: Array, tau: Array, f_ext: Array | None
) -> Slopes:
    tree = _turning(tree, constrained_bodies(placed))
    now = moving_robot(tree, q, v, f_ext)
    wrenches = [wrenches_of(tree, now.kin, q, p) for p in placed]
    s = _solve(tree, now, tau, wrenches, plan)
    at = spans([w.size for w in wrenches])
    tau_x, rho_x = _partials(tree, q, v, now, placed, wrenches, s, at, f_ext)
    turned = _turned(tree, q, placed, s) if s.rows.dependent else none(0, tree.nv)
    nv, m, kept = tree.nv, len(s.residual), s.rows.kept
    J, Y = s.J[kept], s.Y[:, kept]
    out = {x: (none(nv, nv), none(m, nv)) for x in "qv"}
    for x, along in out.items():
        for k in range(nv):
            b = s.factor.solve(-tau_x[x][:, k])
            solved = s.rows.factor.solve(-rho_x[x][kept, k] - J @ b) if kept else np.zeros(0)
            along[0][:, k] = b + Y @ solved if kept else b
            along[1][:, k] = s.rows.shortest(solved, turned[:, k] if x == "q" else 0.0)
    response = s.rows.factor.solve(Y.T) if kept else none(0, nv)
    da_dtau = s.factor.inverse() - gram(Y.T, response) if kept else s.factor.inverse()
    dl_dtau = none(m, nv)
    for k in range(nv):
        dl_dtau[:, k] = -s.rows.shortest(response[:, k])
    (da_dq, dl_dq), (da_dv, dl_dv) = out["q"], out["v"]
    return Slopes(da_dq, da_dv, da_dtau, dl_dq, dl_dv, dl_dtau, s.residual, s.rows.factor.lost)


def _turning(tree: ClusterTree, bodies: Sequence[int]) -> ClusterTree:
    """The same tree with the true frames of some bodies (`Topology.spins_unseen`)."""
    spins = tuple(x and i not in bodies for i, x in enumerate(tree.top.spins_unseen))
    return tree.with_topology(replace(tree.top, spins_unseen=spins))


def _solve(
    tree: ClusterTree, now: Moving, tau: Array, wrenches: Sequence[ConstraintWrenches], plan: RowPlan
) -> _Solved:
    """The motion itself, by the factors of M."""
    kin, rest = now.kin, np.zeros(tree.nv)
    factor = BranchFactor(mass_matrix(tree, kin, now.C, np.dtype(object)), velocity_parents(tree))
    J = np.concatenate([none(0, tree.nv), *(joint_forces(tree, kin, w).T for w in wrenches)])
    Y = np.stack([factor.solve(j) for j in J], axis=1) if len(J) else none(tree.nv, 0)
    free = factor.solve(tau - bias_of(tree, now))
    acc, qdd = body_accelerations(tree, kin, rest), spanning_accelerations(tree, kin, rest)
    r = join([w.k - w.read(acc, qdd) for w in wrenches]) - J @ free if len(J) else np.zeros(0)
    rows = RowSolver(gram(J.T, Y), plan.dependent, plan.sizes)
    multipliers, residual = rows.solve(r)
    return _Solved(factor, J, Y, rows, free + Y @ multipliers if len(J) else free, multipliers, residual)


def _partials(
    tree: ClusterTree,
    q: Array,
    v: Array,
    now: Moving,
    placed: Sequence[Placed],
    wrenches: Sequence[ConstraintWrenches],
    s: _Solved,
    at: Sequence[slice],
    f_ext: Array | None,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """tau_x and rho_x along q and v."""
    p = list(now.p)
    for w, here in zip(wrenches, at, strict=True):
        for i, f in w.ends.items():
            p[i] = p[i] - f @ s.multipliers[here]
    found = partials(tree, now._replace(p=p), q, v, s.a, f_ext)
    tau_x = {"q": found.dq, "v": found.dv}
    acc = body_accelerations(tree, now.kin, s.a)
    changes = [cluster_change(tree, c, now.kin, acc, q, v, s.a) for c in tree]
    bodies = BodyChanges(tree, now.kin, acc, changes)
    graph = next(x.graph for x in (*q, *v, *s.a) if isinstance(x, sc.Symbol))
    rho_x = {x: none(len(s.residual), tree.nv) for x in "qv"}
    for one, here in zip(placed, at, strict=True):
        if isinstance(one.constraint, Closure):
            change = closure_change(tree, q, one.constraint, bodies, s.a, s.multipliers[here], graph)
        else:
            change = frame_change(tree, q, one, bodies, s.multipliers[here], graph)
        rho_x["q"][here], rho_x["v"][here] = change.q, change.v
        tau_x["q"] = tau_x["q"] - change.forces
    return tau_x, rho_x


def _turned(tree: ClusterTree, q: Array, placed: Sequence[Placed], s: _Solved) -> Array:
    """C' lambda_B along every coordinate, (4) of `multipliers`."""
    B, D = s.rows.kept, s.rows.dependent
    if not B:
        return none(len(D), tree.nv)
    w = s.Y[:, B] @ s.rows.factor.solve(s.multipliers[B])
    graph = next(x.graph for x in q if isinstance(x, sc.Symbol))
    fixed = graph.inputs("constant velocity", tree.nv)
    kin = still(tree, q)
    J = np.concatenate([joint_forces(tree, kin, wrenches_of(tree, kin, q, p)).T for p in placed])
    moved = J @ fixed
    back = dict(zip(fixed, w, strict=True))
    slopes = [sc.substitute(sc.jvp(moved, q, x), back) for x in tangent_directions(tree, q)]
    return np.stack([x[D] - s.rows.CT.T @ x[B] for x in slopes], axis=1)
