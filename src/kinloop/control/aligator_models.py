"""Stages for aligator, so that its solvers run on robots with loops. Needs aligator (conda-forge).

aligator's spaces cannot be written in Python. So a state of node k is a vector x = (y, v): v the independent
velocities, y the step that leads from a closed configuration r_k to q,

    q = integrate(r_k, y),      y' = difference(r_k+1, q'),                                                       (1)

where the r_k are those of a motion to begin with. Steps and costs are those of `ILQR`: `SmoothDynamics` and functions
written in NumPy. docs/control.md
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.control.closed_manifold import ClosedManifold
from kinloop.control.motions import Motions, rows_of
from kinloop.control.smooth_dynamics import SmoothDynamics
from kinloop.control.traced_cost import Cost, Terminal, TracedCost
from kinloop.errors import KinloopError, MethodError, ShapeError
from kinloop.inputs import checked
from kinloop.scalar import Array

try:
    import aligator
except ImportError as error:
    raise MethodError("stages for aligator need aligator; run `conda install -c conda-forge aligator`") from error


class Chart:
    """States x = (y, v) about a closed configuration, (1) of the module."""

    def __init__(self, manifold: ClosedManifold, about: Array) -> None:
        self.manifold, self.robot, self.about = manifold, manifold.robot, about

    def state(self, x: Array) -> tuple[Array, Array]:
        """q and v; nan where loops cannot follow."""
        y, v = np.split(np.array(x, dtype=float), 2)
        with contextlib.suppress(KinloopError):
            return self.robot.integrate(self.about, y), v
        return np.full(self.robot.nq, np.nan), v

    def vector(self, q: Array, v: Array) -> Array:
        """x of a closed q, and v; nan where q is no configuration."""
        with contextlib.suppress(KinloopError):
            return np.concatenate([self.robot.difference(self.about, q), v])
        return np.full(2 * self.robot.nv, np.nan)

    def turn(self, x: Array) -> Array:
        """How (q, v) change with x (2 nv, 2 nv)."""
        y = np.array(x[: self.robot.nv], dtype=float)
        return _beside(self.manifold.integrate_slopes(self.about, y)[1])

    def turn_back(self, q: Array) -> Array:
        """How x changes with (q, v) (2 nv, 2 nv); nan where q is no configuration."""
        if not np.isfinite(q).all():
            return np.full((2 * self.robot.nv,) * 2, np.nan)
        return _beside(self.manifold.difference_slopes(self.about, q)[1])


class Dynamics(aligator.dynamics.ExplicitDynamicsModel):  # type: ignore[misc]
    """A step of `SmoothDynamics` from one chart into the next."""

    def __init__(self, dynamics: SmoothDynamics, here: Chart, there: Chart) -> None:
        super().__init__(aligator.manifolds.VectorSpace(2 * dynamics.robot.nv), dynamics.nu)
        self.steps, self.here, self.there = dynamics, here, there

    def __getinitargs__(self) -> tuple[Any, ...]:
        return self.steps, self.here, self.there

    def forward(self, x: Array, u: Array, data: Any) -> None:
        """The state after the step."""
        q, v = rows_of(self.steps.step_kernel, *(np.array(s, dtype=float)[None] for s in (*self.here.state(x), u)))
        data.xnext[:] = self.there.vector(q[0], v[0])

    def dForward(self, x: Array, u: Array, data: Any) -> None:
        """How it changes with x and u."""
        given = [np.array(s, dtype=float)[None] for s in (*self.here.state(x), u)]
        (A,), (B,) = rows_of(self.steps.slopes_kernel, *given)
        back = self.there.turn_back(rows_of(self.steps.step_kernel, *given)[0][0])
        data.Jx[:], data.Ju[:] = back @ A @ self.here.turn(x), back @ B


class StageCost(aligator.CostAbstract):  # type: ignore[misc]
    """A cost of one node at time `t`; curvature of the chart is left out of its Hessian."""

    def __init__(self, cost: TracedCost, nu: int, chart: Chart, t: float) -> None:
        super().__init__(aligator.manifolds.VectorSpace(2 * chart.robot.nv), nu)
        self.traced, self.count, self.chart, self.t = cost, nu, chart, np.array(t)

    def __getinitargs__(self) -> tuple[Any, ...]:
        return self.traced, self.count, self.chart, float(self.t)

    def evaluate(self, x: Array, u: Array, data: Any) -> None:
        """The cost."""
        data.value = float(self.traced.value(*self._given(x, u)))

    def computeGradients(self, x: Array, u: Array, data: Any) -> None:
        """Its first derivatives."""
        found = self.traced.expand(*self._given(x, u))
        data.grad[:] = np.concatenate([self.chart.turn(x).T @ found.x, self._padded(found.u)])

    def computeHessians(self, x: Array, u: Array, data: Any) -> None:
        """Its second derivatives."""
        found, turn, nu = self.traced.expand(*self._given(x, u)), self.chart.turn(x), self.traced.nu
        n, hess = len(turn), np.zeros(data.hess.shape)
        hess[:n, :n] = turn.T @ found.xx @ turn
        hess[n : n + nu, :n] = found.ux @ turn
        hess[:n, n : n + nu] = hess[n : n + nu, :n].T
        hess[n : n + nu, n : n + nu] = found.uu
        data.hess[:] = hess

    def _given(self, x: Array, u: Array) -> tuple[Array, Array, Array, Array]:
        return *self.chart.state(x), np.array(u, dtype=float)[: self.traced.nu], self.t

    def _padded(self, x: Array) -> Array:
        return np.concatenate([x, np.zeros(self.count - len(x))])


@dataclass(frozen=True)
class Problem:
    """An `aligator.TrajOptProblem`, a motion to begin with (`solver.run(problem.problem, problem.xs, problem.us)`), and
    what its states mean."""

    problem: Any
    charts: tuple[Chart, ...]
    xs: list[Array]
    us: list[Array]

    def motion(self, xs: Any) -> tuple[Array, Array]:
        """q (T + 1, nq) and v (T + 1, nv) of aligator's states."""
        found = [chart.state(np.array(x)) for chart, x in zip(self.charts, xs, strict=True)]
        q, v = (np.array(x) for x in zip(*found, strict=True))
        return q, v


def trajectory_problem(
    dynamics: SmoothDynamics,
    cost: Cost,
    terminal: Terminal,
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    *,
    controls: ArrayLike,
    limits: tuple[ArrayLike, ArrayLike] | None = None,
) -> Problem:
    """What `ILQR(dynamics, cost, terminal, limits=limits)` solves from (q0, v0) and the guess `controls` (T, nu)."""
    robot, nu = dynamics.robot, dynamics.nu
    q = checked("q0", q0, robot.nq)
    robot.check_closed(q)
    v = checked("v0", np.zeros(robot.nv) if v0 is None else v0, robot.nv)
    u = checked("controls", controls, nu)
    if u.ndim != 2:
        raise ShapeError(f"controls must have shape (T, {nu}), received {u.shape}")
    motion = _guessed(dynamics, q, v, u)
    manifold, end = ClosedManifold(robot), len(u) * dynamics.dt
    charts = tuple(Chart(manifold, x) for x in motion.q[0])
    running, last = TracedCost(robot, nu, cost), TracedCost(robot, 0, lambda q, v, u, t: terminal(q, v))
    stages = []
    for k in range(len(u)):
        node = StageCost(running, nu, charts[k], k * dynamics.dt)
        stage = aligator.StageModel(node, Dynamics(dynamics, charts[k], charts[k + 1]))
        if limits is not None:
            low, high = (np.broadcast_to(np.asarray(x, dtype=float), nu).copy() for x in limits)
            box = aligator.constraints.BoxConstraint(low, high)
            stage.addConstraint(aligator.ControlErrorResidual(2 * robot.nv, nu), box)
        stages.append(stage)
    xs = [chart.vector(*at) for chart, *at in zip(charts, motion.q[0], motion.v[0], strict=True)]
    problem = aligator.TrajOptProblem(xs[0], stages, StageCost(last, nu, charts[-1], end))
    return Problem(problem, charts, xs, list(u))


def _guessed(dynamics: SmoothDynamics, q: Array, v: Array, u: Array) -> Motions:
    """The motion under the guessed controls."""
    none, free = np.zeros((1, *u.shape)), np.full(dynamics.nu, np.inf)
    steps, n = len(u), 2 * dynamics.robot.nv
    start = Motions(np.tile(q, (1, steps + 1, 1)), np.tile(v, (1, steps + 1, 1)), u[None])
    motion = dynamics.follow(start, none, np.zeros((1, steps, dynamics.nu, n)), (-free, free))
    if not np.isfinite(motion.q).all():
        raise MethodError("the motion under the guessed controls is not finite; give controls that it survives")
    return motion


def _beside(block: Array) -> Array:
    """A matrix for positions beside the identity for velocities."""
    n = len(block)
    return np.block([[block, np.zeros((n, n))], [np.zeros((n, n)), np.eye(n)]])
