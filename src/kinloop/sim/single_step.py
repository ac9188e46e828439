"""One step of one batch row by one call of the step kernel, with all that stays the same at hand.

Most of a single step is not the step: arrays that are made, views of them, checks. `Simulator.step` and control
functions, which are asked before every step, go this way where a row runs on whole steps; the long way is `Batch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.compiler import Kernel
from kinloop.errors import KinloopError
from kinloop.scalar import Array
from kinloop.sim.controls import ControlFunction, answer
from kinloop.sim.state import RUNNING, following

if TYPE_CHECKING:
    from kinloop.sim.batch import Batch
    from kinloop.sim.integrators.integrator import Progress
    from kinloop.sim.recorder import Recorder

LEADING, TRAILING = ("q_next", "qd_next", "memory_next"), ("watch_next", "q_seen", "qd_seen")
"""Outputs of the step kernel before and behind those that can be recorded."""


class SingleStep:
    """Steps of one row (1, n) by a kernel. `records` has what the last of them gave besides its state."""

    def __init__(self, step: Kernel) -> None:
        names, shapes = tuple(step.outputs), [(1, *shape) for shape in step.outputs.values()]
        if (names[:3], names[-3:]) != (LEADING, TRAILING):
            raise TypeError(f"a step gives {LEADING} first and {TRAILING} last, this one gives {names}")
        self._kernel, self._shapes = step.builtin, [*shapes[:3], shapes[-3]]
        self.records = {name: np.empty(shape) for name, shape in zip(names[3:-3], shapes[3:-3], strict=True)}
        self._between, self._behind = tuple(self.records.values()), tuple(np.empty(shape) for shape in shapes[-2:])

    def __call__(self, now: Sequence[Array], u: Any, until: Array, h: Array) -> tuple[Array, ...] | None:
        """The row one step of length h later, as `now`: (q, qd, watch, memory); None where it does not simply run on.

        That may be because of the controls u: the long way says what is wrong with them.
        """
        q, qd, memory, watch = map(np.empty, self._shapes)
        try:
            self._kernel(*now, u, until, h, q, qd, memory, *self._between, watch, *self._behind)
        except KinloopError:
            return None
        return (q, qd, watch, memory) if watch.item(0) == RUNNING else None


def run_one(
    single: SingleStep,
    batch: Batch,
    function: ControlFunction,
    steps: int,
    recorder: Recorder,
    progress: Progress | None,
) -> None:
    """Steps of a batch of one row under a control function."""
    dt, nu, began = batch.dt, batch.nu, float(batch.began[0])
    until, h = np.array([float(steps)]), np.array([dt])
    state, now, t = batch.read(), None, began
    for k in range(steps):
        u = function(t, state)
        after = single(now, u, until, h) if now is not None else None
        t = began + (k + 1) * dt
        if after is None:
            if now is not None:
                batch.resume(now)
            batch.advance(answer(u, nu, 1).reshape(1, 1, nu), k, 1, recorder, 1)
            state = batch.read()
            now = [x.copy() for x in batch.state] if state.h == dt else None
        else:
            now = after
            # the function gets arrays of its own: what it writes there moves nothing
            state = following(state, now[0].copy(), now[1].copy(), np.array([t]), now[3].copy())
            recorder.take(k, now[0], now[1], single.records)
        if progress is not None:
            progress(k + 1, steps)
    if now is not None:
        batch.resume(now)
