"""Environments by name: importing this module makes them known to Gymnasium.

    gymnasium.make("kinloop.learn.environments:kinloop/MiniCheetahWalk-v0")
    gymnasium.make_vec("kinloop.learn.environments:kinloop/MiniCheetahWalk-v0", num_envs=4096,
                       vectorization_mode="vector_entry_point", autoreset="same_step")

Options of the task (`vary`, `push`, `command`, `latency`, ...) and of the environments (`threads`, `dtype`, ...) go
along by name; Cassie and Go1 take the `path` of their file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium

from kinloop.learn.learning_task import Start, Task, TaskState, between, plus, times
from kinloop.learn.single_env import KinloopEnv
from kinloop.learn.tasks.hopping_task import Hopping
from kinloop.learn.tasks.legged_machine import cassie, go1, mini_cheetah, tello
from kinloop.learn.tasks.standing_task import Standing
from kinloop.learn.tasks.walking_task import Walking
from kinloop.learn.vector_env import KinloopVectorEnv

__all__ = [
    "TASKS", "KinloopEnv", "KinloopVectorEnv", "Start", "Task", "TaskState", "between", "make_env", "make_vector_env",
    "plus", "times",
]  # fmt: skip

TASKS: dict[str, Callable[..., Task]] = {
    "MiniCheetahStand": lambda **options: Standing(mini_cheetah(), **options),
    "MiniCheetahWalk": lambda **options: Walking(mini_cheetah(), **options),
    "TelloWalk": lambda **options: Walking(tello(), **options),
    "CassieWalk": lambda path, **options: Walking(cassie(path), **options),
    "Go1Walk": lambda path, **options: Walking(go1(path), **options),
    "PlanarLegHop": lambda **options: Hopping(**options),
}
"""What makes a task, by name."""

VERSION = 0


def make_env(name: str, dtype: str = "float64", **options: Any) -> KinloopEnv:
    """One environment of a task by name."""
    return KinloopEnv(TASKS[name](**options), dtype)


def make_vector_env(
    name: str, num_envs: int = 1, autoreset: Any = "next_step", threads: int | None = None, dtype: str = "float64",
    output: str = "numpy", **options: Any,
) -> KinloopVectorEnv:  # fmt: skip
    """So many environments of a task by name."""
    task = TASKS[name](**options)
    return KinloopVectorEnv(task, num_envs, autoreset=autoreset, threads=threads, dtype=dtype, output=output)


for _name in TASKS:
    gymnasium.register(
        f"kinloop/{_name}-v{VERSION}",
        entry_point=partial(make_env, _name),
        vector_entry_point=partial(make_vector_env, _name),
    )
