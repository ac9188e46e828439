"""Trajectory optimisation by iLQR with limits on controls, for a batch of problems at once.

    min  sum_k l(q_k, v_k, u_k, t_k) + l_T(q_T, v_T),    (q, v)_k+1 = step(q_k, v_k, u_k),    low <= u <= high       (1)

Every iteration linearises all steps, expands the costs to second order, sweeps back (`riccati_sweep`) and tries steps
of several lengths alpha side by side, as rows of one batch of motions under

    u = clip(u_k + alpha k + K dx),      dx = (difference(q_k, q), v - v_k).                                      (2)

Loops are closed in all of them; free bases and balls move on their manifold. Steps are those of a simulator, with
contact (`SimulatedSteps`), or of smooth motion (`SmoothDynamics`). docs/control.md
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.control.motions import Motions
from kinloop.control.optimization_state import Optimization
from kinloop.control.simulated_steps import SimulatedSteps
from kinloop.control.solution import Solution
from kinloop.control.traced_cost import Cost, Terminal, TracedCost
from kinloop.control.trajectories import Planner, Steps
from kinloop.errors import MethodError, ShapeError
from kinloop.inputs import checked, checked_count, checked_number
from kinloop.scalar import Array
from kinloop.sim import Simulator


class ILQR:
    """Finds controls (T, nu) [N m, N, ...] that minimise a cost of the motion of a robot with loops, (1) of the module.

    `dynamics` is a `Simulator`, contact included, or `SmoothDynamics`. `cost(q, v, u, t)` is a number for every step,
    `terminal(q, v)` one of the last state; both are written with NumPy or `kinloop.scalar` for one state, may ask the
    robot (`robot.frame_pose(q, "hand")`), and are traced, so that their derivatives are exact. With `parameters`, the
    count of numbers that every problem has of its own (a goal, weights), they are `cost(q, v, u, t, p)` and
    `terminal(q, v, p)`. `limits` are the least and the largest controls, each (nu,) or a number. A problem has
    converged where its model foretells a decrease of the cost by less than `tolerance` times the cost.
    """

    def __init__(
        self,
        dynamics: Simulator | Steps,
        cost: Cost,
        terminal: Terminal | None = None,
        *,
        limits: tuple[ArrayLike, ArrayLike] | None = None,
        tolerance: float = 1e-8,
        threads: int | None = None,
        parameters: int = 0,
    ) -> None:
        steps = SimulatedSteps(dynamics) if isinstance(dynamics, Simulator) else dynamics
        self.dynamics: Steps = steps
        self.robot, self.nu = steps.robot, steps.nu
        self.tolerance = checked_number("tolerance", tolerance, "be a positive number", np.finfo(float).tiny)
        self.limits = _checked_limits(limits, self.nu)
        self.parameters = checked_count("parameters", parameters, least=0)

        def last(q: Array, v: Array, u: Array, t: Any, *p: Array) -> Any:
            return 0.0 * t if terminal is None else terminal(q, v, *p)

        costs = [TracedCost(self.robot, n, call, self.parameters) for n, call in ((self.nu, cost), (0, last))]
        self.planner = Planner(steps, costs[0], costs[1], threads)

    def solve(
        self,
        q0: ArrayLike,
        v0: ArrayLike | None = None,
        controls: ArrayLike | None = None,
        *,
        steps: int | None = None,
        iterations: int = 100,
        parameters: ArrayLike | None = None,
    ) -> Solution:
        """The best controls from q0 (nq) [rad, m], v0 (nv) [rad/s, m/s], of one problem or rows, from a guess on.

        `controls` are (T, nu), or (B, T, nu) for rows of problems; without them `steps` says how many there are, and
        the guess is zero. A guess beyond the limits is cut at them. `parameters` are those of the costs, (np,) or
        (B, np).
        """
        robot, iterations = self.robot, checked_count("iterations", iterations, least=0)
        q = checked("q0", q0, robot.nq)
        robot.check_closed(q)
        v = checked("v0", np.zeros(robot.nv) if v0 is None else v0, robot.nv)
        u = self._guess(controls, steps)
        p = self._numbers(parameters)
        given = {"q0": (q, 1), "v0": (v, 1), "controls": (u, 2), "parameters": (p, 1)}
        if any(x.ndim > n + 1 for x, n in given.values()):
            raise ShapeError(
                "q0, v0, controls, parameters must be (nq,), (nv,), (T, nu), (np,) or have one axis of problems in "
                f"front, received {', '.join(str(x.shape) for x, _ in given.values())}"
            )
        start = [x if x.ndim > n else x[None] for x, n in given.values()]
        rows = max(map(len, start))
        if any(len(x) not in (1, rows) for x in start):
            raise ShapeError(
                f"{', '.join(given)} have {', '.join(str(len(x)) for x in start)} problems; give equal numbers"
            )
        q, v, u, p = (np.ascontiguousarray(np.broadcast_to(x, (rows, *x.shape[1:]))) for x in start)
        solution = self._optimized(q, v, np.clip(u, *self.limits), p, iterations)
        return solution.first() if all(x.ndim == n for x, n in given.values()) else solution

    def _numbers(self, parameters: ArrayLike | None) -> Array:
        if (parameters is None) != (self.parameters == 0):
            raise MethodError(
                f"the costs have {self.parameters} parameters; "
                + (
                    "give parameters=, (np,) or (B, np)"
                    if self.parameters
                    else "make them with ILQR(..., parameters=n)"
                )
            )
        return np.zeros(0) if parameters is None else checked("parameters", parameters, self.parameters)

    def _optimized(self, q: Array, v: Array, u: Array, p: Array, iterations: int) -> Solution:
        rows, steps, nu = u.shape
        start = np.full((rows, steps + 1, q.shape[1]), q[:, None]), np.full((rows, steps + 1, v.shape[1]), v[:, None])
        none = np.zeros((rows, steps, nu)), np.zeros((rows, steps, nu, 2 * self.robot.nv))
        first = self.planner.follow(Motions(*start, u), *none, self.limits, p)
        state = Optimization(self.planner, first, self.limits, self.tolerance)
        for _ in range(iterations):
            if not state.iterate():
                break
        return state.solution()

    def _guess(self, controls: ArrayLike | None, steps: int | None) -> Array:
        if controls is None:
            if steps is None:
                raise MethodError("solve needs a guess of the controls, or steps=T to begin with zeros")
            return np.zeros((checked_count("steps", steps), self.nu))
        u = checked("controls", controls, self.nu)
        if u.ndim < 2 or u.shape[-2] < 1:
            raise ShapeError(f"controls must have shape (T, {self.nu}) or (B, T, {self.nu}), received {u.shape}")
        if steps is not None and steps != u.shape[-2]:
            raise ShapeError(f"controls have {u.shape[-2]} steps, steps={steps} says otherwise; leave steps out")
        return u


def _checked_limits(limits: tuple[ArrayLike, ArrayLike] | None, nu: int) -> tuple[Array, Array]:
    """The least and largest controls (nu,), infinite where there are no limits."""
    if limits is None:
        return np.full(nu, -np.inf), np.full(nu, np.inf)
    try:
        low, high = (np.broadcast_to(np.asarray(x, dtype=float), nu).copy() for x in limits)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"limits must be (low, high), each a number or ({nu},), received {limits!r}") from error
    if not (low <= high).all():
        k = int(np.flatnonzero(~(low <= high))[0])
        raise MethodError(f"limits of control {k} are {low[k]} to {high[k]}; give a range that is not empty")
    return low, high
