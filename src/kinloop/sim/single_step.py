"""One step of one batch row by one call of the step kernel, with all that stays the same at hand.

Most of a single step is not the step: arrays that are made, views of them, checks. `Simulator.step` and control
functions, which are asked before every step, go this way where a row runs on whole steps; the long way is `Batch`.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import scalar as sc
from kinloop.compiler import Kernel, compile_function
from kinloop.errors import KinloopError
from kinloop.inputs import LARGEST
from kinloop.scalar import Array
from kinloop.sim.controls import ControlFunction, answer
from kinloop.sim.state import RUNNING, following
from kinloop.sim.stepper import StepState

if TYPE_CHECKING:
    from kinloop.sim.batch import Batch
    from kinloop.sim.integrators.integrator import Progress
    from kinloop.sim.recorder import Recorder

LEADING, TRAILING = ("q_next", "qd_next", "memory_next"), ("watch_next", "q_seen", "qd_seen", "status_seen")
"""Outputs of the step kernel before and behind those that can be recorded."""


class SingleStep:
    """Steps of one row (1, n) by a kernel.

    `ahead` is a builtin that takes q, qd, watch and memory as rows, controls (nu,), the number of steps (1,), their
    length (1,) and, where that matters, the time (1,), and gives the next q, qd and memory; None where
    the row does not simply run on. That may be because of the controls: the long way says what is wrong with them.
    """

    def __init__(self, step: Kernel) -> None:
        names = tuple(step.outputs)
        if (names[:3], names[-4:]) != (LEADING, TRAILING):
            raise TypeError(f"a step gives {LEADING} first and {TRAILING} last, this one gives {names}")
        self.kernel, self.is_timed = step, "clock" in step.inputs
        shapes = [(1, *shape) if name in StepState._fields else shape for name, shape in step.inputs.items()]
        limits = [LARGEST if name == "u" else sys.float_info.max for name in step.inputs]
        unseen = [*([math.inf] * (len(names) - 4)), float(RUNNING)]
        self.ahead = step.guarded(lambda *given: None, limits, shapes=shapes, hidden=unseen, as_row=True)
        self.later = compile_function(sc.trace(lambda t, h: {"t": t + h}, {"t": 1, "h": 1}), name="later").builtin
        sizes = {name: n for name, (n,) in step.inputs.items() if name in ("q", "qd", "memory")}
        copy = compile_function(sc.trace(lambda *given: dict(zip(sizes, given, strict=True)), sizes), name="copies")
        self.copies = copy.guarded(_copies, limits[:3], shapes=[(1, n) for n in sizes.values()], as_row=True)


def _copies(*arrays: Array) -> tuple[Array, ...]:
    return tuple(x.copy() for x in arrays)


class _Row:
    """A row on its way in arrays that stay where they are: a step leads from `now` to others, which become `now`."""

    def __init__(self, step: Kernel, steps: int, dt: float, *clock: Array) -> None:
        self._step, sizes = step.builtin, {name: (1, *shape) for name, shape in step.outputs.items()}
        self.given = {name: np.empty(shape) for name, shape in sizes.items()}
        also = self.given | {name: np.empty(sizes[name]) for name in (*LEADING, "watch_next")}
        length = np.array([float(steps)]), np.array([dt]), *clock
        self._ways = [
            (StepState(*(a[f"{name}_next"] for name in StepState._fields)), (*length, *b.values()))
            for a, b in ((self.given, also), (also, self.given))
        ]
        self.now = self._ways[0][0]

    def put(self, now: StepState) -> None:
        """Go on from another state."""
        for mine, x in zip(self.now, now, strict=True):
            mine[:] = x

    def step(self, u: Any) -> bool:
        """Take a step under the controls u; whether the row runs on from there. Else it stays where it is."""
        (now, into), (after, _) = self._ways
        try:
            self._step(*now, u, *into)
        except KinloopError:
            return False
        if after.watch.item(0) != RUNNING:
            return False
        self._ways.reverse()
        self.now = after
        return True


def run_one(
    single: SingleStep,
    batch: Batch,
    function: ControlFunction,
    steps: int,
    recorder: Recorder,
    progress: Progress | None,
) -> None:
    """Steps of a batch of one row under a control function."""
    dt, nu, t = batch.dt, batch.nu, float(batch.began[0])
    row = _Row(single.kernel, steps, dt, *([batch.began] if single.is_timed else []))
    state, runs, told = batch.read(), False, recorder.controls
    for k, clock in enumerate(t + dt * np.arange(1.0, steps + 1.0)[:, None]):
        u, t = function(t, state), clock.item()
        if told is not None:
            told.under(k, k + 1, answer(u, nu, 1).reshape(1, 1, nu))
        if runs and row.step(u):
            q, qd, _, memory = row.now
            # the function gets arrays of its own: what it writes there moves nothing
            q_seen, qd_seen, memory_seen = single.copies(q, qd, memory)
            state = following(state, q_seen, qd_seen, clock, memory_seen)
            recorder.take(k, q, qd, row.given)
        else:
            if runs:
                batch.resume(row.now)
            batch.advance(answer(u, nu, 1).reshape(1, 1, nu), k, 1, recorder, 1)
            state = batch.read()
            runs = state.h == dt
            row.put(batch.state)
        if progress is not None:
            progress(k + 1, steps)
    recorder.put_away()
    if runs:
        batch.resume(row.now)
