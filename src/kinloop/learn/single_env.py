"""One environment of a task as Gymnasium's `Env`: what its checker and its wrappers take."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from kinloop.learn.learning_task import Task
from kinloop.learn.vector_env import KinloopVectorEnv
from kinloop.scalar import Array


class KinloopEnv(gymnasium.Env):
    """A single environment: a row of `KinloopVectorEnv`. Seeded s, it does what row k does, seeded s - k."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, task: Task, dtype: str = "float64") -> None:
        self.vector = KinloopVectorEnv(task, 1, autoreset="disabled", threads=1, dtype=dtype)
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin anew: the observation (n,) in the units of the task [m, rad, ...], and what else is known."""
        super().reset(seed=seed)
        observation, info = self.vector.reset(seed=seed)
        return observation[0], info

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Observation (n,) [m, rad, ...], reward, ended, cut off and more after an action (n,), in -1 to 1 [1]."""
        observation, reward, ended, cut, info = self.vector.step(np.asarray(action)[None])
        return observation[0], float(reward[0]), bool(ended[0]), bool(cut[0]), {"diverged": bool(info["diverged"][0])}
