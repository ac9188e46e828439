"""The kernels of a simulation: one set per choice of charts, and the loop that runs the step over a batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.requests import ask
from kinloop.clusters.closing import closest, project_velocity
from kinloop.errors import MethodError
from kinloop.kernels import Computed, charts_key
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.charts.gauge import Gauge
from kinloop.sim.smooth_motion import state_rate
from kinloop.sim.stepper import StepMethod, Stepper, StepState, System

if TYPE_CHECKING:
    from kinloop.sim.integrators.integrator import Integrator

FEEDBACK = {name: f"{name}_next" for name in StepState._fields}
"""Inputs of a step kernel that are its outputs of the step before."""


class Engine:
    """A system in certain charts: its kernels, made when first asked for, and its robot, whose v is in these charts."""

    def __init__(self, robot: Robot, system: System, integrator: Integrator, samples: dict[int, list[Array]]) -> None:
        tree = system.tree
        self.system, self.integrator, self.tree = system, integrator, tree
        self.independent = np.array(tree.independent_dofs, dtype=int)
        self.charts = charts_key(tree)
        # in the same charts on the robot's own tree: quantities are traced by what is written in their rooms alone
        self.robot = Robot.from_tree(robot.tree.with_charts({c.index: c.chart for c in tree}), robot.backend)
        self.gauge = Gauge(tree, samples)
        numbers = (tuple(map(tuple, self.gauge.scale.values())), tuple(self.gauge.typical.values()))
        contact = system.contact.key if system.contact else None
        self._key = (system.drive.key, numbers, system.dt, integrator.key, contact)
        self._loops: Any = None

    @cached_property
    def step(self) -> Any:
        """The kernel of one step."""
        if not isinstance(self.integrator, StepMethod):
            raise MethodError(f"the {self.integrator.name} integrator has no single step; use rollout")
        stepper = Stepper(self.system, self.integrator, self.gauge)
        return self.kernel("step", stepper, stepper.inputs())

    @cached_property
    def rate(self) -> Any:
        """The kernel of dq/dt and dqd/dt at (q, qd, u), near closed loops: f(P(x)) of `smooth_motion`."""
        tree, drive = self.tree, self.system.drive

        def rate(q: Array, qd: Array, u: Array) -> dict[str, Any]:
            rates = state_rate(tree, drive, (q, qd), u)
            return {"dq": rates[0], "dqd": rates[1]}

        return self.kernel("rate", rate, self._spanning_sizes | {"u": len(drive.motors)})

    @cached_property
    def projection(self) -> Any:
        """The kernel of the closed state nearest to (q, qd): P(x) of `smooth_motion`, and the gauge there."""

        def project(q: Array, qd: Array) -> dict[str, Any]:
            q, _ = closest(self.tree, q)
            qd = project_velocity(self.tree, q, qd)
            reach, volume = self.gauge(q)
            gauge = np.array([reach, volume])
            return {"q_on": np.asarray(q), "qd_on": np.asarray(qd), "gauge": gauge}

        return self.kernel("project", project, self._spanning_sizes)

    @property
    def _spanning_sizes(self) -> dict[str, int]:
        return {"q": self.tree.top.nq, "qd": self.tree.top.n_spanning}

    @cached_property
    def velocities(self) -> Computed:
        """Spanning velocities for (q, v)."""
        return self.robot.kernels.answer(ask(self.tree.top, "spanning_velocity"))

    def kernel(self, name: str, call: Callable[..., Any], inputs: dict[str, int]) -> Computed:
        """A kernel of this robot in these charts, or the same call on numbers where there is no compiler."""
        return self.robot.kernels.make(name, call, inputs, key=self._key, sources=("sim",))

    def loop_error(self, q: Array) -> Array:
        """max |phi| of every loop and coupling (..., loops)."""
        top, parts = self.tree.top, self.robot.mechanism.closures
        if not parts:
            return np.zeros((*q.shape[:-1], 0))
        if self._loops is None:

            def errors(q: Array) -> dict[str, Any]:
                return {"error": np.array([sc.largest(list(p.rows(top, q).phi)) for p in parts])}

            self._loops = self.kernel("loop_error", errors, {"q": top.nq})
        error: Array = self._loops(q)
        return error

    def advance(
        self, state: StepState, u: Array, until: Array, steps: int, every: int, keep: tuple[str, ...],
        threads: int | None,
    ) -> tuple[StepState, dict[str, Array]]:  # fmt: skip
        """`steps` steps of batch rows under u (B, steps or 1, nu): their last state, and outputs `keep` (B, n, ...).

        Rows stop where they have taken `until` (B, 1) steps in all; outputs are kept after every `every`-th step.
        """
        state = StepState(*map(np.ascontiguousarray, state))
        held = u.shape[1] == 1
        out = self.step.iterate(
            *state, np.ascontiguousarray(u[:, 0] if held else u[:, :steps]), until,
            steps=steps, feedback=FEEDBACK, stepped=() if held else ("u",), every=every if keep else steps,
            threads=threads,
        )  # fmt: skip
        return StepState(*(out[name] for name in FEEDBACK.values())), {name: out[name] for name in keep}
