"""Walking with a commanded velocity: forward, sideways and turning, as a joystick asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.learn.learning_task import Start, TaskState
from kinloop.learn.random_numbers import Draws
from kinloop.learn.tasks.legged_machine import LeggedMachine
from kinloop.learn.tasks.standing_task import Standing, upright
from kinloop.scalar import Array

DUTY = 0.55
"""The part of a stride in which a foot is meant to stand."""


class Walking(Standing):
    """A legged machine follows velocities that are drawn anew every `command_every` seconds in the mean.

    `command` are the ranges of the velocities forward and to the left [m/s] and of the rate of turning to the left
    [rad/s]. Feet are asked to leave the ground in the order of the machine's gait; the reward is at most 1 per action.
    """

    limit = 1000
    memory = {"push": 2, "command": 3}

    def __init__(
        self, machine: LeggedMachine, *, command: Any = ((-0.5, 1.0), (-0.3, 0.3), (-0.7, 0.7)),
        command_every: float = 5.0, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(machine, **options)
        self.command, self.command_every = np.array(command, dtype=float), command_every
        counts = [len(foot) for foot in machine.feet]
        self._points = [range(sum(counts[:k]), sum(counts[: k + 1])) for k in range(len(counts))]
        self._weight = sum(b.mass for b in machine.robot.mechanism.bodies) * 9.81

    def start(self, random: Draws) -> Start:
        begin = super().start(random)
        return Start(begin.q, begin.v, {**begin.memory, "command": self._drawn(random)})

    def _drawn(self, random: Draws) -> Array:
        return np.asarray(random.uniform(self.command[:, 0], self.command[:, 1]))

    def remember(self, state: TaskState) -> Mapping[str, Any]:
        """Now and then another command."""
        other, now = self._drawn(state.random), state.random.happens(self.period / self.command_every)
        command = np.array([sc.where(now, a, b) for a, b in zip(other, state.memory["command"], strict=True)])
        return {**super().remember(state), "command": command}

    def _body(self, state: TaskState) -> Array:
        """What `Standing` sees, the command, and where in its stride the machine is meant to be."""
        turn = (2.0 * np.pi / self.machine.stride) * state.t
        clock = np.array([sc.sin(turn), sc.cos(turn)])
        return np.concatenate([super()._body(state), state.memory["command"], clock])

    def reward(self, state: TaskState) -> Any:
        """For the commanded velocity, kept upright and in step, without haste."""
        w, v, command, up = state.qd[:3], state.qd[3:6], state.memory["command"], upright(state)
        along = sc.exp(-4.0 * sc.squared(v[:2] - command[:2]))
        turning = sc.exp(-4.0 * (w[2] - command[2]) ** 2)
        level = sc.squared(up[:2]) + 25.0 * (state.q[2] - self.machine.height) ** 2
        hasty = 0.5 * v[2] ** 2 + 0.025 * sc.squared(w[:2]) + 0.005 * sc.squared(state.action - state.last_action)
        return 0.5 * along + 0.25 * turning + 0.25 * self._in_step(state) - sc.minimum(level + hasty, 1.0)

    def _in_step(self, state: TaskState) -> Any:
        """The part of the feet that do what their gait asks for: stand, or leave the ground."""
        stride, total = state.t / self.machine.stride, 0.0
        for points, late in zip(self._points, self.machine.swing, strict=True):
            phase = stride + late
            stands = phase - sc.floor(phase) < DUTY
            pressed = sum(state.contact_force[k, 2] for k in points) > 0.01 * self._weight
            total = total + sc.where(stands, sc.where(pressed, 1.0, 0.0), sc.where(pressed, 0.0, 1.0))
        return total / len(self._points)
