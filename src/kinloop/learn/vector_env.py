"""Thousands of environments of one task as a Gymnasium vector environment; `pip install kinloop[gym]`.

Every environment is a batch row: all of them take their steps, are judged and begin anew in a few native calls. What a
row does depends on its own stream of random numbers and its own actions, so seeds reproduce bit for bit, whatever the
number of threads and of rows beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import MethodError, NonFiniteInput, ShapeError
from kinloop.inputs import checked_count
from kinloop.learn.learning_task import Task
from kinloop.learn.random_numbers import STREAM, streams
from kinloop.learn.rows_on_their_way import RowsOnTheirWay
from kinloop.learn.task_kernels import TaskKernels
from kinloop.scalar import Array

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:  # pragma: no cover
    raise ImportError("environments need gymnasium: pip install 'kinloop[gym]'") from error

OUTPUTS = ("numpy", "torch")


class KinloopVectorEnv(gymnasium.vector.VectorEnv):
    """`num_envs` environments of a task, on so many `threads` (None: as many as there are cores and work for).

    `autoreset` is Gymnasium's: an environment that has ended begins anew in the same step, in the next one, or
    ("disabled") when `reset(options={"reset_mask": mask})` says so. Observations and rewards are arrays of `dtype`, or
    with `output="torch"` tensors on the same memory. Environments that diverge end, and `info["diverged"]` says which.
    """

    def __init__(
        self, task: Task, num_envs: int = 1, *, autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None, dtype: str = "float64", output: str = "numpy",
    ) -> None:  # fmt: skip
        if dtype not in ("float32", "float64") or output not in OUTPUTS:
            raise MethodError(f"dtype {dtype!r} is float32 or float64, output {output!r} is numpy or torch")
        self.task, self.num_envs, self.threads = task, checked_count("num_envs", num_envs), threads
        self.autoreset_mode = _mode(autoreset)
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": []}
        self.render_mode = None
        self.kernels = TaskKernels(task)
        self._real, self._torch = np.dtype(dtype), _torch() if output == "torch" else None
        n, m, real = self.kernels.observation_size, task.action_size, self._real.type
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (n,), real)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (m,), real)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._rows: RowsOnTheirWay | None = None
        self._over = np.zeros(self.num_envs, dtype=bool)

    @property
    def rows(self) -> RowsOnTheirWay:
        """The environments as batch rows: their states, what they carry, their open numbers."""
        if self._rows is None:
            raise MethodError("the environment has not begun; call reset first")
        return self._rows

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """All environments at new starts; with options={"reset_mask": mask} (num_envs,) only those.

        Environment k draws from the seed `seed` + k, or from the k-th of them; without a seed every environment goes on
        with its stream.
        """
        which, first = np.flatnonzero(self._mask(options)), self._rows is None
        if first:
            which, seed = np.arange(self.num_envs), int(self.np_random.integers(2**62)) if seed is None else seed
        drawn = self._streams(seed, which)
        if first:
            self._rows = RowsOnTheirWay(self.task, self.kernels, drawn, self.threads)
        else:
            self.rows.begin(which, drawn)
        self._over[which] = False
        return self._handed(self.rows.observations(slice(None))), {}

    def _mask(self, options: dict[str, Any] | None) -> Array:
        given = None if options is None else options.get("reset_mask")
        which = np.ones(self.num_envs, dtype=bool) if given is None else np.array(given)
        if which.shape != (self.num_envs,) or which.dtype != bool or not which.any():
            raise ShapeError(
                f"reset_mask must be {self.num_envs} booleans, one of them True at least, received an array of shape "
                f"{which.shape} and type {which.dtype}"
            )
        return which

    def _streams(self, seed: int | Sequence[int | None] | None, which: Array) -> Array:
        """The streams that environments `which` draw from: those of seeds, or their own."""
        own = self.rows.carried[which, :STREAM].copy() if self._rows is not None else np.zeros((self.num_envs, STREAM))
        if seed is None:
            return own
        seeds = [int(seed) + k for k in range(self.num_envs)] if isinstance(seed, int | np.integer) else list(seed)
        if len(seeds) != self.num_envs:
            raise ShapeError(f"{len(seeds)} seeds are given for {self.num_envs} environments")
        fresh = self.np_random.integers(2**62, size=self.num_envs)
        given = [fresh[k] if (x := seeds[k]) is None and self._rows is None else x for k in which]
        here = [x is not None for x in given]
        own[here] = streams([int(x) for x in given if x is not None])
        return own

    def step(self, actions: ArrayLike) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Actions (rows, n) of all environments, in -1 to 1 [1]; those that ended begin anew as `autoreset` says."""
        rows, mode, anew = self.rows, self.autoreset_mode, self._over
        if mode == AutoresetMode.DISABLED and anew.any():
            raise MethodError(
                f"environment {int(np.argmax(anew))} has ended; call reset with a reset_mask for it first"
            )
        waiting = rows.carried[anew, :STREAM]  # rows that begin anew draw nothing for the action that is not theirs
        seen, reward, ended, cut, diverged = rows.act(self._actions(actions))
        info: dict[str, Any] = {"diverged": diverged}
        if mode == AutoresetMode.NEXT_STEP and anew.any():
            reward[anew], ended[anew], cut[anew], diverged[anew] = 0.0, False, False, False
            self._begin(np.flatnonzero(anew), seen, waiting)
        over = ended | cut
        if mode == AutoresetMode.SAME_STEP and over.any():
            info |= {"final_obs": self._handed(seen.copy()), "_final_obs": over, "final_info": {"diverged": diverged}}
            self._begin(np.flatnonzero(over), seen)
            info["diverged"] = np.zeros(self.num_envs, dtype=bool)
        self._over = over if mode != AutoresetMode.SAME_STEP else self._over
        return self._handed(seen), self._handed(reward), self._flags(ended), self._flags(cut), info

    def _begin(self, which: Array, seen: Array, streams: Array | None = None) -> None:
        """Let some environments begin anew, with streams or their own; what is seen is written into `seen`."""
        self.rows.begin(which, streams)
        seen[which] = self.rows.observations(which)

    def _actions(self, actions: ArrayLike) -> Array:
        given = actions.detach() if hasattr(actions, "detach") else actions
        out = np.ascontiguousarray(given, dtype=np.float64)
        if out.shape != (self.num_envs, self.task.action_size):
            raise ShapeError(f"actions must have shape {(self.num_envs, self.task.action_size)}, received {out.shape}")
        if not np.isfinite(out).all():
            raise NonFiniteInput("actions hold nan or infinity; give finite numbers, which are taken within -1 and 1")
        return out

    def _handed(self, x: Array) -> Any:
        x = x if x.dtype == self._real else x.astype(self._real)
        return x if self._torch is None else self._torch.from_numpy(x)

    def _flags(self, x: Array) -> Any:
        return x if self._torch is None else self._torch.from_numpy(x)


def _mode(given: AutoresetMode | str) -> AutoresetMode:
    """Gymnasium's mode of a name: "next_step", "same_step" or "disabled"."""
    names = {mode.name.lower(): mode for mode in AutoresetMode}
    if not isinstance(given, AutoresetMode) and str(given).lower() not in names:
        raise MethodError(f"autoreset {given!r} is not one of {', '.join(map(repr, names))}")
    return given if isinstance(given, AutoresetMode) else names[str(given).lower()]


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:  # pragma: no cover
        raise ImportError("output='torch' needs torch: pip install 'kinloop[torch]'") from error
    return torch
