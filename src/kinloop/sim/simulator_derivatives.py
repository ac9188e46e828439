"""Derivatives of what a simulator does: of one step, and of the cost of a whole rollout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import MethodError
from kinloop.inputs import checked
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.controls import as_controls
from kinloop.sim.engine import Engine
from kinloop.sim.integrators.integrator import Integrator
from kinloop.sim.linearization.linearize import Linearization, Linearizer
from kinloop.sim.linearization.rollout_gradient import Cost, CostSlopes, RolloutGradient, Terminal, gradient
from kinloop.sim.state import State
from kinloop.sim.stepper import StepMethod


class SimulatorDerivatives(ABC):
    """Derivatives of a simulator's steps, contact included, in the tangent space of closed motions."""

    robot: Robot
    engine: Engine
    method: Integrator
    integrator: str
    dt: float

    @property
    @abstractmethod
    def nu(self) -> int:
        """Number of controls."""

    @abstractmethod
    def state(self, q: ArrayLike | None = None, v: ArrayLike | None = None, t: ArrayLike = 0.0) -> State:
        """A batch of states without memory."""

    @abstractmethod
    def fitting(self, state: State) -> State:
        """The state, if it may go on here."""

    @abstractmethod
    def careful_step(self, state: State, u: ArrayLike | None, threads: int | None = None) -> State:
        """The state one dt later."""

    def linearize(
        self, state: State, u: ArrayLike | None = None, *, threads: int | None = None, method: str | None = None
    ) -> Linearization:
        """A = d next / d state (B, 2 nv, 2 nv) and B = d next / d u (B, 2 nv, nu) of one step of length dt [s].

        The map is (q, v), u -> (q', v'): what `sim.step(sim.state(q, v), u)` does from the (q, v) of the state, without
        what that remembers. Changes of q and q' are those of independent coordinates, q + dq = robot.integrate(q, dq),
        and come first; v and v' are as rollouts record them. Motors, springs, damping, forces of users at the state's
        time, contact, friction, stops, dry friction and loops count. The contact problem is differentiated at its
        solution, not its sweeps; at a kink, where another set of contacts would do as well, the derivative is that of
        the set which is reported (`linearization.active_set` says how ties are decided). A row that cannot take the
        step whole, or whose contacts and stops ask for what is impossible together, gets nan.

        "recursive" is the fast method and the default where it serves (semi_implicit, no forces of users, contacts of
        free bases without restitution), "graph" the one for all integrators with steps of fixed length.
        """
        linearizer, nu = self.linearizer, self.nu
        method, v = linearizer.chosen(method), self.velocities(self.fitting(state))
        start = self.state(state.q, v, state.t)
        u = np.ascontiguousarray(np.broadcast_to(checked("u", np.zeros(nu) if u is None else u, nu), (len(state), nu)))
        after = self.careful_step(start, u, threads)
        return linearizer(start.q, v, u, start.t, after, self.dt, threads, method)

    @cached_property
    def linearizer(self) -> Linearizer:
        """What computes derivatives of steps."""
        if not isinstance(self.method, StepMethod):
            raise MethodError(
                f"the {self.integrator} integrator has no single step to linearise; use semi_implicit or rk4"
            )
        return Linearizer(self.engine, self.method)

    def velocities(self, state: State) -> Array:
        """The velocities v (B, nv) of a state as rollouts record them, in the robot's own coordinates."""
        qd = self.engine.allowed(state.q, state.qd) if self.robot.mechanism.closures else state.qd
        return np.ascontiguousarray(np.asarray(qd)[:, self.robot.tree.independent_dofs])

    def rollout_gradient(
        self,
        cost: Cost | CostSlopes,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        controls: ArrayLike | None = None,
        *,
        steps: int | None = None,
        terminal: Terminal | None = None,
        parameters: Sequence[str] = (),
        threads: int | None = None,
        method: str | None = None,
    ) -> RolloutGradient:
        """The cost of a rollout, and its gradient [cost / SI] along controls (T, nu), q0 and v0 (nv), and parameters.

        `cost(q, v, u, t)` is a number for every step, of the state before it and its control, `terminal(q, v)` one of
        the last state; both are written with NumPy or `kinloop.scalar`, for one state, and traced. Or `cost` is a
        `CostSlopes`, the gradients of a cost that is known otherwise. `parameters` names numbers of the robot,
        "body.mass" and the like (`kinloop.model.parameters`). `q0`, `v0`, `controls`, `steps` are as for `rollout`.

        The rollout is that of the map which `linearize` is of: every step begins without memory. So it goes through
        the states of `rollout` but for the order of the integrator in smooth motion, and where the contact solver
        stops. Rows that do not take all their steps whole have gradients of nan.
        """
        start = self.state(q0, v0)
        u, count, start = as_controls(controls, steps, start, self.nu)
        if callable(u):
            raise MethodError(
                "rollout_gradient takes controls as an array (nu,), (T, nu) or (B, T, nu), not a function"
            )
        u = np.ascontiguousarray(np.broadcast_to(u[:, :count], (len(start), count, self.nu)))
        shapes = [np.ndim(x) if x is not None else 0 for x in (q0, v0)]
        single = max(shapes) <= 1 and (controls is None or np.ndim(controls) < 3)
        return gradient(self, cost, terminal, start, u, tuple(parameters), single, threads, method)
