"""Integrators with steps of fixed length: one kernel call moves a whole batch by many steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.batch import Batch
from kinloop.sim.controls import ControlFunction, ask
from kinloop.sim.integrators.integrator import IntegratorOptions, Progress
from kinloop.sim.recorder import Recorder
from kinloop.sim.single_step import run_one
from kinloop.sim.stepper import Moved, System

CHUNK = 250
"""Steps in one kernel call, about, where progress is reported."""

LONG_CHUNK = 2000
"""Steps in one kernel call, about, where it is not: Python's part does not count, and records stay small."""


class FixedStep(ABC):
    """An `Integrator` and a `StepMethod`: what takes steps of length dt, in kernels."""

    name: ClassVar[str]
    has_contact: ClassVar[bool] = False

    @classmethod
    def make(cls, options: IntegratorOptions) -> Self:
        return cls()

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.name,)

    def memory_size(self, system: System) -> int:
        return 0

    def has_start(self, system: System) -> bool:
        """Whether there is a `starting_memory`."""
        return False

    def starting_memory(self, system: System, q: Array, qd: Array, u: Array, h: Any) -> tuple[Array, Any]:
        """What a row remembers that begins at (q, qd), on numbers or symbols, and whether that is lost."""
        return np.zeros(self.memory_size(system)), True

    def respaced(self, system: System, memory: Array, h: float) -> Array:
        """The memories of batch rows (B, n), for steps of length h from now on."""
        return memory

    @abstractmethod
    def step(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any) -> Moved:
        """One step of length h of one row under the controls u, on numbers or symbols."""

    def run(
        self,
        batch: Batch,
        u: Array | ControlFunction,
        steps: int,
        recorder: Recorder,
        threads: int | None,
        progress: Progress | None,
    ) -> dict[str, Any]:
        """Chunk by chunk; a control function is asked before every step."""
        schedule = recorder.schedule
        if callable(u) and len(batch) == 1 and schedule.is_even and (single := batch.engine.single) is not None:
            run_one(single, batch, u, steps, recorder, progress)
            return {}
        most, dt = CHUNK if progress is not None else LONG_CHUNK, batch.dt
        for start, n in ((k, 1) for k in range(steps)) if callable(u) else schedule.chunks(most):
            if callable(u):
                control = ask(u, start * dt, batch.began, batch.read(), batch.nu)
            else:
                control = u if u.shape[1] == 1 else u[:, start : start + n]
            if recorder.controls is not None:
                recorder.controls.under(start, start + n, control)
            recorder.look_aside(batch, start, control[:, :1], threads)
            if start == schedule.span.steps:
                batch.shorten(schedule.span.rest)
            batch.advance(control, start, n, recorder, threads)
            if progress is not None:
                progress(start + n, steps)
        return {}
