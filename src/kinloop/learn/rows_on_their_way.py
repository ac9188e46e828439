"""The environments of a task as rows of one batch that never ends: rows in it begin anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.errors import MethodError
from kinloop.learn.learning_task import Task
from kinloop.learn.random_numbers import STREAM
from kinloop.learn.task_kernels import TaskKernels
from kinloop.scalar import Array
from kinloop.sim.recorder import Recorder, RecordPlan
from kinloop.sim.simulator import Simulator
from kinloop.sim.state import State


class Outcome(NamedTuple):
    """What came of an action: observations (B, n), rewards, and which episodes ended, were cut, diverged (B,)."""

    observations: Array
    rewards: Array
    ended: Array
    cut: Array
    diverged: Array


class RowsOnTheirWay:
    """An environment of a task for every one of the streams (B, 6) of random numbers.

    `carried` (B, n) is what environments carry from action to action, `numbers` (B, n) are their open numbers.
    """

    def __init__(self, task: Task, kernels: TaskKernels, streams: Array, threads: int | None) -> None:
        self.task, self.kernels, self.threads = task, kernels, threads
        rows, self.steps = len(streams), 0
        found, begin = self._starts(streams)
        self.batch, self.carried = task.sim.batch(begin), found["carried"]
        self.numbers = self.batch.numbers if kernels.open.names else np.zeros((rows, 0))
        self.numbers[:] = found["numbers"]
        self._actions = np.zeros((rows, task.action_size))
        parts = (kernels.controls, kernels.outcome, kernels.observe)
        needed = tuple(name for name in kernels.of_steps if any(name in part.needs for part in parts))
        self._last = LastStep(task.sim, needed, rows)

    def begin(self, k: Array, streams: Array | None = None) -> None:
        """Let rows k begin anew, all at once, with streams of their own (n, 6), or going on with those they have."""
        found, fresh = self._starts(np.ascontiguousarray(self.carried[k, :STREAM]) if streams is None else streams)
        self.batch.restart(k, fresh.q, fresh.qd, fresh.memory)
        self.carried[k], self._actions[k] = found["carried"], 0.0
        self._last.clear(k)
        self.numbers[k] = found["numbers"]

    def _starts(self, streams: Array) -> tuple[dict[str, Array], State]:
        """Where episodes begin that draw from these streams."""
        found = self.kernels.start({"stream": streams}, self.threads)
        return found, self.task.sim.state(found["q_begin"], found["v_begin"])

    def observations(self, k: Array | slice) -> Array:
        """What is seen of rows k as they are, before their next action."""
        given = {name: np.ascontiguousarray(x[k]) for name, x in self._arrays().items()}
        found = self.kernels.observe(given, self.threads)
        self.carried[k] = found["carried"]
        return found["observation"]

    def act(self, actions: Array) -> Outcome:
        """One action of all rows."""
        hold, nu = self.task.hold, self.task.sim.nu
        self._actions[:] = actions
        found = self.kernels.controls(self._arrays(), self.threads)
        self.carried = found["carried"]
        u = found["u"].reshape(len(actions), -1, nu)
        self.batch.advance(u, self.steps, hold, self._last, self.threads)
        self.steps += hold
        out = self.kernels.outcome(self._arrays(), self.threads)
        self.carried, reward, over = out["carried"], out["reward"][:, 0], out["over"] > 0.5
        diverged = ~self.batch.running
        if not np.isfinite(reward).all():
            row = int(np.argmin(np.isfinite(reward)))
            raise MethodError(
                f"the reward of environment {row} is {reward[row]} at q = {self.batch.state.q[row]}; a reward must be "
                "finite at every state, so keep what it divides by and takes roots of above zero"
            )
        reward = np.where(diverged, 0.0, reward) if diverged.any() else reward
        return Outcome(out["observation"], reward, over[:, 0] | diverged, over[:, 1], diverged)

    def state(self) -> State:
        """The states of all rows."""
        return self.batch.read()

    def _arrays(self) -> dict[str, Array]:
        """What functions of the task are asked with, by name."""
        state = self.batch.state
        return {
            "q": state.q, "qd": state.qd, "action": self._actions, "carried": self.carried, "numbers": self.numbers,
            **self._last.told(),
        }  # fmt: skip


class LastStep(Recorder):
    """Keeps what the last step of every row told, in the same arrays again and again."""

    def __init__(self, sim: Simulator, names: tuple[str, ...], rows: int) -> None:
        plan = RecordPlan(sim, names)
        super().__init__(plan, plan.even(1, 1), rows)
        self._kept = {name: self._kept[name] for name in names}

    def told(self) -> dict[str, Array]:
        """The arrays by name, (B, n) each."""
        return {name: x.reshape(len(x), -1) for name, x in self._kept.items()}

    def clear(self, k: Array) -> None:
        """Forget what rows k told."""
        for x in self._kept.values():
            x[k] = 0.0

    def follow(self, given: object, start: int, n: int) -> int:
        return super().follow(given, 0, 1) * n  # type: ignore[arg-type]  # of every n steps the last

    def stride(self, start: int, n: int) -> int:
        return n

    def store(self, k: Array, start: int, every: int, kept: dict[str, Array]) -> None:
        for name, x in kept.items():
            self._kept[name][k, 0] = x[:, -1]
