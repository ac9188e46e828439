"""Action models for crocoddyl, so that its solvers run on robots with loops. Needs the extra `crocoddyl`.

A state of crocoddyl's is x = (q, v), positions of all spanning-tree joints and independent velocities; its changes are
(dq, dv) along closed motions. Steps and costs are those of `ILQR`: `SmoothDynamics` and functions written in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.control.closed_manifold import ClosedManifold
from kinloop.control.smooth_dynamics import SmoothDynamics
from kinloop.control.traced_cost import Cost, Terminal, TracedCost
from kinloop.errors import MethodError
from kinloop.inputs import checked, checked_count
from kinloop.robot import Robot
from kinloop.scalar import Array

try:
    import crocoddyl
except ImportError as error:
    raise MethodError("action models for crocoddyl need crocoddyl; run `pip install kinloop[crocoddyl]`") from error


class ClosedState(crocoddyl.StateAbstract):  # type: ignore[misc]
    """The manifold of closed states of a robot with loops."""

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot.nq + robot.nv, 2 * robot.nv)
        self.robot, self.manifold = robot, ClosedManifold(robot)

    def zero(self) -> Array:
        """The neutral configuration at rest."""
        return np.concatenate([self.robot.neutral(), np.zeros(self.robot.nv)])

    def rand(self) -> Array:
        """A random closed state."""
        return np.concatenate(self.robot.random_state())

    def diff(self, x0: Array, x1: Array) -> Array:
        """The step from x0 to x1."""
        (q0, v0), (q1, v1) = self.split(x0), self.split(x1)
        return np.concatenate([self.robot.difference(q0, q1), v1 - v0])

    def integrate(self, x: Array, dx: Array) -> Array:
        """The state that a step leads to, loops closed."""
        q, v = self.split(x)
        return np.concatenate([self.robot.integrate(q, np.array(dx[: len(v)])), v + dx[len(v) :]])

    def Jdiff(self, x0: Array, x1: Array, firstsecond: Any = crocoddyl.Jcomponent.both) -> Any:
        """How `diff` changes with x0 and x1."""
        first, second = self.manifold.difference_slopes(self.split(x0)[0], self.split(x1)[0])
        one = np.eye(self.robot.nv)
        return _chosen(_blocks(first, -one), _blocks(second, one), firstsecond)

    def Jintegrate(self, x: Array, dx: Array, firstsecond: Any = crocoddyl.Jcomponent.both) -> Any:
        """How `integrate` changes with x and dx."""
        q, v = self.split(x)
        first, second = self.manifold.integrate_slopes(q, np.array(dx[: len(v)]))
        one = np.eye(self.robot.nv)
        return _chosen(_blocks(first, one), _blocks(second, one), firstsecond)

    def split(self, x: Array) -> tuple[Array, Array]:
        """q and v of a state, as arrays of their own."""
        n = self.robot.nq
        return np.array(x[:n], dtype=float), np.array(x[n:], dtype=float)


class ActionModel(crocoddyl.ActionModelAbstract):  # type: ignore[misc]
    """One step of `SmoothDynamics` at time `t` with its cost; at the end of a problem, the terminal cost alone."""

    def __init__(self, state: ClosedState, dynamics: SmoothDynamics, cost: TracedCost, t: float = 0.0) -> None:
        super().__init__(state, dynamics.nu, 0)
        self.closed, self.dynamics, self.traced, self.t = state, dynamics, cost, np.array(t)

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """The state after the step, and the cost; without u, the cost alone."""
        q, v = self.closed.split(x)
        control = np.array(() if u is None else u, dtype=float)[: self.traced.nu]
        data.cost = float(self.traced.value(q, v, control, self.t))
        data.xnext = np.array(x) if u is None else np.concatenate(self.dynamics.step_kernel(q, v, control))

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """Derivatives of both."""
        q, v = self.closed.split(x)
        control = np.array(() if u is None else u, dtype=float)[: self.traced.nu]
        found = self.traced.expand(q, v, control, self.t)
        data.Lx, data.Lxx = found.x, found.xx
        if u is not None:
            data.Lu, data.Luu, data.Lxu = found.u, found.uu, found.ux.T
            data.Fx, data.Fu = self.dynamics.slopes_kernel(q, v, control)


def shooting_problem(
    dynamics: SmoothDynamics,
    cost: Cost,
    terminal: Terminal,
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    *,
    steps: int,
    limits: tuple[ArrayLike, ArrayLike] | None = None,
) -> Any:
    """The `crocoddyl.ShootingProblem` that `ILQR(dynamics, cost, terminal)` solves from (q0, v0)."""
    robot, nu = dynamics.robot, dynamics.nu
    q = checked("q0", q0, robot.nq)
    robot.check_closed(q)
    v = checked("v0", np.zeros(robot.nv) if v0 is None else v0, robot.nv)
    state, running = ClosedState(robot), TracedCost(robot, nu, cost)
    last = TracedCost(robot, 0, lambda q, v, u, t: terminal(q, v))
    count = checked_count("steps", steps)
    models = [ActionModel(state, dynamics, running, k * dynamics.dt) for k in range(count)]
    if limits is not None:
        for model in models:
            model.u_lb, model.u_ub = (np.broadcast_to(np.asarray(x, dtype=float), nu).copy() for x in limits)
    return crocoddyl.ShootingProblem(
        np.concatenate([q, v]), models, ActionModel(state, dynamics, last, count * dynamics.dt)
    )


def _blocks(first: Array, second: Array) -> Array:
    none = np.zeros_like(first)
    return np.block([[first, none], [none, second]])


def _chosen(first: Array, second: Array, component: Any) -> Any:
    """What crocoddyl asks for: the first, the second, or both."""
    if component == crocoddyl.Jcomponent.both:
        return [first, second]
    return [first] if component == crocoddyl.Jcomponent.first else [second]
