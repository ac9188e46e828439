"""Inverse kinematics with steps from the QP solvers of the package qpsolvers: the same tasks, limits and levels.

    minimise |J dv - e|^2 + dv^T D dv    with    low <= A dv <= high                                               (1)

Levels behind the first hold what those before have made of theirs, as in `damped_least_squares`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from kinloop.control.damped_least_squares import GIVEN_BACK, KEPT, Bounded, Rows, Step
from kinloop.control.ik_iteration import LEAST, begin, conclude, go_on, settle
from kinloop.control.ik_problem import Look, Problem, coordinate_weights, look, reachable
from kinloop.errors import MethodError
from kinloop.kernels import Computed
from kinloop.linear import join
from kinloop.robot import Robot
from kinloop.scalar import Array

EDGE = 1e-8
"""A limit is active where a step comes so near to it [rad, m]."""


class Here(NamedTuple):
    """A configuration and its G: what steps and limits need to know of where the robot is."""

    q: Array
    G: Array


class DifferentialIK:
    """Steps and velocities of tasks by a QP solver, one state at a time."""

    def __init__(self, robot: Robot, problem: Problem) -> None:
        self.robot, self._problem = robot, problem

    @cached_property
    def rows(self) -> Computed:
        """The kernel of what a QP is made of: e and J of every level, residuals, G."""
        p = self._problem
        sizes = {"q": self.robot.nq, "targets": sum(p.target_sizes)}
        return self.robot.kernels.make("task_rows", partial(task_rows, p), sizes, key=p.key, sources=("control",))

    def look(self, q: Array, targets: Array) -> Look:
        """All tasks at q, by the kernel."""
        *parts, residual, G = self.rows(q, targets)
        levels = [Rows(J, e) for e, J in zip(parts[::2], parts[1::2], strict=True)]
        at: Any = Here(q, G)
        return Look(at, levels, list(residual))

    def search(self, q: Array, targets: Array, settings: Array, solver: str) -> tuple[Array, Array, Array]:
        """The best configuration from q on, residuals, how it ended: as the native search gives them."""
        p, s = self._problem, begin(self._problem, q)
        while not s.ended:
            found = self.look(s.q, targets)
            s = go_on(p, settle(p, s, found, settings[0]), found, partial(qp_step, solver=solver))
            if not s.ended and s.steps >= settings[1]:
                s = s._replace(ended=3.0)
        out = conclude(p, s, settings[0])
        return out["q"], out["residual"].astype(float), out["ended"].astype(float)

    def velocity(self, q: Array, targets: Array, dt: float, gain: float, solver: str) -> Array:
        """The velocity that brings tasks nearer within dt, joints within their limits of position and velocity."""
        p, found = self._problem, self.look(q, targets)
        G, limits = found.at.G, reachable(p, found.at)
        fastest = np.array([j.max_velocity for j in p.tree.top.joints for _ in range(j.type.nv)])
        bounded = np.isfinite(fastest)
        low, high = np.minimum(limits.low, 0.0), np.maximum(limits.high, 0.0)  # from outside, back as fast as may be
        low, high = np.where(limits.high < 0.0, limits.high, low), np.where(limits.low > 0.0, limits.low, high)
        most = np.maximum(fastest * dt, 0.0)
        own = most[list(p.limits.dofs)]
        A = np.concatenate([limits.A, G[bounded]])
        low = join([np.clip(low, -own, own), -most[bounded]])
        high = join([np.clip(high, -own, own), most[bounded]])
        levels = [Rows(r.J, gain * r.e) for r in found.levels]
        D = [LEAST * coordinate_weights(p.tree, found.at)] * len(levels)
        return self.robot.independent(G @ qp_step(levels, D, Bounded(A, low, high), (), solver).dv) / dt


def task_rows(p: Problem, q: Array, targets: Array) -> dict[str, Array]:
    """What a QP is made of at q."""
    found = look(p, q, targets)
    out = {f"{name}{k}": x for k, r in enumerate(found.levels) for name, x in (("e", r.e), ("J", r.J))}
    return out | {"residual": np.array(found.residual), "G": found.at.G}


def qp_step(levels: Sequence[Rows], D: Sequence[Array], limits: Bounded, active: Sequence[Any], solver: str) -> Step:
    """The step of (1), level by level."""
    n = len(D[0])
    H_kept, right_kept, kept, dv = np.zeros((n, n)), np.zeros(n), list[Rows](), np.zeros(n)
    for rows, d in zip(levels, D, strict=True):
        square, right = rows.J.T @ rows.J, rows.J.T @ rows.e + right_kept
        for _ in range(1 + (GIVEN_BACK if kept else 0)):
            dv = solve_qp(np.diag(d) + square + H_kept, -right, limits, solver)
            right = right + sum((KEPT * (r.J.T @ (r.e - r.J @ dv)) for r in kept), np.zeros(n))
        kept.append(Rows(rows.J, rows.J @ dv))
        H_kept, right_kept = H_kept + KEPT * square, right_kept + KEPT * (rows.J.T @ kept[-1].e)
    moved = limits.A @ dv
    above, below = moved >= limits.high - EDGE, moved <= limits.low + EDGE
    return Step(dv, [float(a) - float(b) for a, b in zip(above, below, strict=True)])


def solve_qp(H: Array, f: Array, limits: Bounded, solver: str) -> Array:
    """The minimum of x^T H x / 2 + f^T x between limits; those that are violated at x = 0 are held at their bound."""
    try:
        import qpsolvers  # here, since only this needs it
    except ImportError as error:
        raise MethodError("QPs need the package qpsolvers: pip install 'kinloop[control]'") from error
    if solver not in qpsolvers.available_solvers:
        known = ", ".join(map(repr, qpsolvers.available_solvers))
        raise MethodError(f"solver {solver!r} is not installed; qpsolvers has {known}")
    G, h = np.concatenate([limits.A, -limits.A]), np.concatenate([limits.high, -limits.low])
    there = np.isfinite(h)
    x: Array | None = qpsolvers.solve_qp(H, f, G[there], h[there], solver=solver)
    if x is None or not np.isfinite(x).all():
        raise MethodError(f"the QP solver {solver!r} found no step; take method='native', or another solver")
    return x
