"""Standing: stay where you are, whoever pushes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.learn.learning_task import Start, Task, TaskState, Varied
from kinloop.learn.random_numbers import Draws
from kinloop.learn.tasks.legged_machine import LeggedMachine
from kinloop.scalar import Array
from kinloop.sim.contact.ground import Ground, Plane
from kinloop.sim.force_state import ForceState
from kinloop.sim.simulator import Simulator
from kinloop.sim.user_forces import ExternalForce
from kinloop.spatial.rotation import quaternion_rotation


def pushed(state: ForceState) -> Array:
    """A level force at the origin of a body: two controls [N]."""
    return np.array([0.0, 0.0, 0.0, state.u[0], state.u[1], 0.0])


class Standing(Task):
    """A legged machine stands still, under servos whose targets actions shift.

    Now and then, every `push_every` seconds in the mean, a level force of up to `push` [N] pushes its base for as long
    as an action lasts. `vary` are numbers of the simulator drawn for every episode ("ground.friction", ...).
    """

    limit = 500
    memory = {"push": 2}

    def __init__(
        self, machine: LeggedMachine, *, ground: Ground | None = None, push: float = 0.0, push_every: float = 3.0,
        vary: Mapping[str, Varied] | None = None, latency: tuple[float, float] = (0.0, 0.0), noise: float = 0.0,
    ) -> None:  # fmt: skip
        self.machine, self.push, self.push_every, self.noise = machine, push, push_every, noise
        self.vary, self.latency, self.hold = dict(vary or {}), latency, machine.hold
        robot = machine.robot
        base = robot.mechanism.bodies[0].name
        forces = [ExternalForce(base, pushed, inputs=("x", "y"))] if push else []
        self.sim = Simulator(
            robot, machine.dt, ground=ground or Plane(0.8), contacts=machine.contacts, motors=machine.servos,
            forces=forces, open=list(self.vary),
        )  # fmt: skip
        self.action_size = len(machine.servos)

    def start(self, random: Draws) -> Start:
        """At home, a little above the ground, hardly moving."""
        q = self.machine.home.astype(object)
        q[2] = q[2] + random.uniform(0.0, 0.03)
        v = np.zeros(self.sim.robot.nv, dtype=object)
        v[:6] = random.uniform(-0.2, 0.2, 6)
        return Start(q, v, {"push": np.zeros(2)})

    def controls(self, state: TaskState) -> Any:
        """Targets of servos, and the push."""
        targets = self.machine.targets + self.machine.reach * state.action
        return np.concatenate([targets, state.memory["push"]]) if self.push else targets

    def remember(self, state: TaskState) -> Mapping[str, Any]:
        """The push during the next action: mostly none."""
        if not self.push:
            return {}
        force = state.random.uniform(-self.push, self.push, 2)
        now = state.random.happens(self.period / self.push_every)
        return {"push": np.array([sc.where(now, x, 0.0) for x in force])}

    def observe(self, state: TaskState) -> Any:
        """Which way is up, velocities of the base, angles and rates of motors, the last action."""
        seen = self._body(state)
        return seen + state.random.normal(0.0, self.noise, len(seen)) if self.noise else seen

    def _body(self, state: TaskState) -> Array:
        m = self.machine
        angles = (m.ratios * state.q[m.places] - m.targets) / m.reach
        rates = m.ratios * state.qd[m.dofs] / m.reach
        return np.concatenate([upright(state), 0.25 * state.qd[:3], state.qd[3:6], angles, 0.05 * rates, state.action])

    def reward(self, state: TaskState) -> Any:
        """For being up and calm."""
        up = upright(state)
        high = sc.exp(-200.0 * (state.q[2] - self.machine.height) ** 2)
        calm = 0.05 * sc.squared(state.qd[:6]) + 0.01 * sc.squared(state.action - state.last_action)
        return high * up[2] - sc.minimum(calm, 1.0)

    def ended(self, state: TaskState) -> Any:
        """Fallen: low, or tilted by 60 degrees."""
        return sc.logical_or(state.q[2] < 0.5 * self.machine.height, upright(state)[2] < 0.5)


def upright(state: TaskState) -> Array:
    """The vertical in the axes of a free base, which is the robot's first joint."""
    up: Array = quaternion_rotation(state.q[3:7])[2]
    return up
