"""What to learn: a task is a few small functions of one environment's state, which become machine code.

They are written with NumPy and `kinloop.scalar` (sin, where, maximum, ...) for one environment, run once on symbols,
and decide at every step with `where`, not with `if`. docs/learning.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.errors import unknown
from kinloop.learn.random_numbers import Draws
from kinloop.scalar import Array
from kinloop.sim.force_state import ForceState
from kinloop.sim.simulator import Simulator


class Varied(NamedTuple):
    """The range in which an open number of the simulator is drawn anew for every episode.

    `way` is "value" for the number itself, "times" for a factor of what the model has, "plus" for what is added to it.
    """

    low: float
    high: float
    way: str = "value"

    def limits(self, usual: Array) -> Array:
        """The least and the largest numbers in the range (2, n), for what the model has."""
        ends = np.array([[self.low], [self.high]])
        found: Array = np.sort(usual * ends if self.way == "times" else usual + ends if self.way == "plus" else ends, 0)
        return found

    def drawn(self, usual: Array, random: Draws) -> Any:
        """Numbers in the range, for what the model has."""
        x = random.uniform(self.low, self.high, len(usual))
        return usual * x if self.way == "times" else usual + x if self.way == "plus" else x


def between(low: float, high: float) -> Varied:
    """A number between two others, in the units of what is varied [kg, N m, ...]."""
    return Varied(low, high)


def times(low: float, high: float) -> Varied:
    """What the model has, times a factor between two others [1]."""
    return Varied(low, high, "times")


def plus(low: float, high: float) -> Varied:
    """What the model has, plus a number between two others, in its units [kg, N m, ...]."""
    return Varied(low, high, "plus")


@dataclass(frozen=True)
class Start:
    """Where an episode begins: positions q, closed or nearly so, velocities v, and what the task remembers."""

    q: Any
    v: Any = None
    memory: Mapping[str, Any] = field(default_factory=dict)


class TaskState(ForceState):
    """The state of one environment after an action: numbers, or symbols while it is traced.

    Besides what a `ForceState` has (`q`, `qd`, `v`, `pose(frame)`, `twist(frame)`): `t` is the time since the episode
    began [s], `action` the last action and `last_action` the one before, `memory` what the task remembers by name,
    `contact_force` (contacts, 3) the forces on the simulator's contact points in world axes [N], `numbers` its open
    numbers by name, `sensors` what those of the model tell, `random` draws random numbers.
    """

    def __init__(
        self, tree: ClusterTree, q: Array, qd: Array, t: Any, actions: tuple[Array, Array], memory: Mapping[str, Array],
        contact_force: Array, numbers: Mapping[str, Array], random: Draws,
    ) -> None:  # fmt: skip
        super().__init__(tree, q, qd, t, np.zeros(0))
        self.action, self.last_action = actions
        self.memory, self.contact_force, self.numbers, self.random = dict(memory), contact_force, numbers, random
        self.ask_sensors: Callable[[], dict[str, Array]] = dict

    @cached_property
    def sensors(self) -> dict[str, Array]:
        """What the sensors of the model tell, by name; those of accelerations and forces, of the last step."""
        return self.ask_sensors()

    def q_of(self, joint: str) -> Any:
        """The position of a joint with one coordinate."""
        return self.q[self._column(joint, self._tree.top.q_of)]

    def qd_of(self, joint: str) -> Any:
        """Its velocity."""
        return self.qd[self._column(joint, self._tree.top.v_of)]

    def _column(self, joint: str, places: Any) -> int:
        index = self._tree.top.joint_index
        if joint not in index:
            raise unknown("joint", joint, index)
        return int(places[index[joint]].start)


class Task:
    """What is simulated, where episodes begin, what actions do, what is seen, what is rewarded, when episodes end.

    `sim` takes `hold` steps for an action, and an episode has at most `limit` actions, numbers between -1 and 1, of
    which there are `action_size`. `memory` names vectors that the task remembers from action to action, and their
    sizes. `vary` says how open numbers of the simulator are drawn for every episode; with `latency` [s], a range,
    controls arrive late by a time that is drawn, too.
    """

    sim: Simulator
    action_size: int
    hold: int = 10
    limit: int = 500
    memory: Mapping[str, int] = {}
    vary: Mapping[str, Varied] = {}
    latency: tuple[float, float] = (0.0, 0.0)

    def start(self, random: Draws) -> Start:
        """Where an episode begins."""
        raise NotImplementedError

    def controls(self, state: TaskState) -> Any:
        """The controls of the simulator for `state.action`, at the state before it."""
        raise NotImplementedError

    def observe(self, state: TaskState) -> Any:
        """What is seen of a state: a vector."""
        raise NotImplementedError

    def reward(self, state: TaskState) -> Any:
        """The reward for the action that led to a state."""
        raise NotImplementedError

    def ended(self, state: TaskState) -> Any:
        """Whether the episode ends at a state: a condition."""
        raise NotImplementedError

    def remember(self, state: TaskState) -> Mapping[str, Any]:
        """What is to be remembered from now on; what is not named stays as it was."""
        return {}

    @property
    def period(self) -> float:
        """How long an action lasts [s]."""
        return self.hold * self.sim.dt
