"""Gymnasium: a native vector environment around the simulator's step; `pip install kinloop[gym]`.

Every environment is a batch row, and all step in one kernel call. An environment that ends is set back on its own at
the next step, as gymnasium's NEXT_STEP mode has it; one that diverges ends, and says so in its info.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.scalar import Array
from kinloop.sim.simulator import Simulator
from kinloop.sim.state import State

try:
    import gymnasium
    from gymnasium.vector.utils import batch_space
except ImportError as error:  # pragma: no cover
    raise ImportError("kinloop.sim.gym needs gymnasium: pip install 'kinloop[gym]'") from error


class Task:
    """What to learn: where episodes begin, what controls mean, what is seen, what is rewarded, when they end.

    Every method takes and returns arrays with one line per environment. `sim` is the simulator, `hold` the number
    of its steps that one action lasts, `limit` the number of actions in an episode.
    """

    sim: Simulator
    hold: int = 10
    limit: int = 500
    observation_size: int
    action_size: int

    def start(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Closed positions q and independent velocities v for so many environments to begin with."""
        raise NotImplementedError

    def controls(self, action: Array) -> Array:
        """Controls of the simulator for actions in [-1, 1]."""
        raise NotImplementedError

    def observe(self, state: State, action: Array) -> Array:
        """What is seen of states after actions."""
        raise NotImplementedError

    def reward(self, state: State, action: Array) -> Array:
        """The reward for states after actions."""
        raise NotImplementedError

    def ended(self, state: State) -> Array:
        """Whether episodes end at states."""
        raise NotImplementedError


class KinloopVectorEnv(gymnasium.vector.VectorEnv):
    """A batch of environments of one task, stepped natively."""

    metadata: dict[str, Any] = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(self, task: Task, num_envs: int = 16, threads: int | None = None) -> None:
        self.task, self.num_envs, self.threads = task, int(num_envs), threads
        self.render_mode = None
        n, m = task.observation_size, task.action_size
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (n,), np.float64)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (m,), np.float64)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.autoreset_mode = gymnasium.vector.AutoresetMode.NEXT_STEP
        self._state: State | None = None
        self._action = np.zeros((self.num_envs, m))
        self._count = np.zeros(self.num_envs, dtype=int)
        self._over = np.zeros(self.num_envs, dtype=bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """All environments at new starts; with options={"reset_mask": mask} only those."""
        super().reset(seed=seed)
        mask = None if options is None else options.get("reset_mask")
        self._begin(np.ones(self.num_envs, dtype=bool) if mask is None else np.asarray(mask, dtype=bool))
        return self._observe(), {}

    def _begin(self, which: Array) -> None:
        """Put the environments `which` at new starts."""
        n = int(np.sum(which))
        if n:
            fresh = self.task.sim.state(*self.task.start(n, self.np_random))
            if self._state is None:
                self._state = fresh.repeated(self.num_envs)
            for old, new in zip(self._state.arrays(), fresh.arrays(), strict=True):
                old[which] = new
        self._action[which] = 0.0
        self._count[which] = 0
        self._over[which] = False

    def step(self, actions: ArrayLike) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """One action of all environments; those that had ended begin anew instead."""
        assert self._state is not None, "call reset first"
        actions = np.asarray(actions, dtype=float).reshape(self.num_envs, -1)
        anew = self._over.copy()
        before = self._state
        run = self.task.sim.rollout(
            state=before, controls=self.task.controls(np.clip(actions, -1.0, 1.0))[:, None], steps=self.task.hold,
            record=(), threads=self.threads,
        )  # fmt: skip
        self._state, self._action = run.final, actions.copy()
        self._count += 1
        diverged = ~run.final.ok & ~anew
        ended = (self.task.ended(self._state) | diverged) & ~anew
        cut = (self._count >= self.task.limit) & ~ended & ~anew
        reward = np.where(anew | diverged, 0.0, self.task.reward(self._state, actions))
        self._over = ended | cut
        if np.any(anew):
            self._begin(anew)
        return self._observe(), reward, ended, cut, {"diverged": diverged}

    def _observe(self) -> Array:
        assert self._state is not None
        return np.ascontiguousarray(self.task.observe(self._state, self._action), dtype=np.float64)


class KinloopEnv(gymnasium.Env):
    """A single environment of a task: what gymnasium's checker and its wrappers take."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, task: Task) -> None:
        self._batch = KinloopVectorEnv(task, 1)
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self._batch.np_random = self.np_random
        observation, info = self._batch.reset()
        return observation[0], info

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        observation, reward, ended, cut, info = self._batch.step(np.asarray(action)[None])
        return observation[0], float(reward[0]), bool(ended[0]), bool(cut[0]), {"diverged": bool(info["diverged"][0])}
