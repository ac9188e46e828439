"""A batch on its way: the state of every batch row, and what happened to it.

A kernel stops a row before a step that is too long for it: joints that turn too far, loops that do not close. The row
then takes that step in parts, as many as it needs, and the others never notice: what a row does depends on nothing
but itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.sim.engine import Engine
from kinloop.sim.state import State
from kinloop.sim.status import Status
from kinloop.sim.stepper import LARGEST_TURN, MAX_SPEED, StepState
from kinloop.sim.watch import Watch, begin_watch
from kinloop.spatial.transform import Array

if TYPE_CHECKING:
    from kinloop.sim.recorder import Recorder

MOST_PARTS = 2**15
"""A step of length dt is taken in so many parts at most."""

GROWTH = 1.6
"""How many times as many parts are tried next: steps of other lengths meet other instants."""

ENOUGH = 5.0
"""A row goes on with as many parts as it last needed until these are so many times too many."""


class Batch:
    """Batch rows that begin at a state, with the kernels of an engine and steps of length dt [s]."""

    def __init__(self, state: State, engine: Engine, dt: float) -> None:
        rows = len(state)
        self.engine, self.dt, self.nu = engine, dt, len(engine.system.drive.motors)
        self.began = state.t
        self.state = StepState(state.q.copy(), state.qd.copy(), begin_watch(rows), state.memory.copy())
        self.watch = Watch.of(self.state.watch)  # views of its columns, to read and to write
        self.watch.status[~state.ok] = Status.DIVERGED
        self.until, self.h = np.zeros((rows, 1)), np.full((rows, 1), dt)
        self.parts = np.ones(rows, dtype=int)
        self.substeps = np.zeros(rows, dtype=int)

    def __len__(self) -> int:
        return len(self.state.q)

    def status(self, k: int) -> Status:
        """The status of row k."""
        return Status(int(self.watch.status[k]))

    def advance(self, u: Array, start: int, n: int, recorder: Recorder, threads: int | None) -> None:
        """Bring every row from step `start` n steps further under u (B, n or 1, nu)."""
        self.until[:] = start + n
        self._advance(np.arange(len(self)), u, start, n, recorder, threads)
        while len(waiting := np.flatnonzero(self.watch.has(Status.TOO_LONG))):
            for k in map(int, waiting):
                done = int(self.watch.steps[k])
                at = 0 if u.shape[1] == 1 else done - start
                self._in_parts(k, u[k, at])
                if self.watch.status[k] != Status.RUNNING:
                    continue
                recorder.fill(self, k, done + 1)
                if done + 1 < start + n:
                    rest = u[[k]] if u.shape[1] == 1 else u[[k], at + 1 :]
                    self._advance(np.array([k]), rest, done + 1, start + n - done - 1, recorder, threads)

    def _advance(self, k: Array, u: Array, start: int, n: int, recorder: Recorder, threads: int | None) -> None:
        """Bring rows k n steps further, or to where the kernel stops them."""
        every = recorder.every if start % recorder.every == 0 else 1
        state, kept = self.engine.advance(
            self.state.at(k), u, self.until[k], self.h[k], n, every, recorder.keep(self.engine), threads
        )
        self.state.put(k, state)
        recorder.store(self.engine, k, start, every, kept)

    def _in_parts(self, k: int, u: Array) -> None:
        """Take one step of row k in equal parts, more and more of them as long as one fails; or stop it for good."""
        before, parts = self.state.at(np.array([k])), self._first_parts(k)
        while parts <= MOST_PARTS:
            watch = before.watch.copy()
            Watch.of(watch).status[:] = Status.RUNNING
            until, h = Watch.of(watch).steps[:, None] + float(parts), np.full((1, 1), self.dt / parts)
            after, _ = self.engine.advance(before._replace(watch=watch), u[None, None], until, h, parts, parts, (), 1)
            found = Watch.of(after.watch)
            if found.status[0] == Status.RUNNING:
                found.steps[:] = self.watch.steps[k] + 1.0
                self.state.put(np.array([k]), after)
                self.parts[k], self.substeps[k] = parts, self.substeps[k] + parts
                return
            parts = int(np.ceil(GROWTH * parts))
        self.watch.status[k] = Status.DIVERGED if self._fast(after) else Status.OPEN

    def _first_parts(self, k: int) -> int:
        """How many parts to try first: those that worked last if not far too many (equal steps keep their memory)."""
        fastest = float(np.max(np.abs(self.state.qd[k][self.engine.system.turning]), initial=0.0))
        needed, parts = self.dt * fastest / LARGEST_TURN, 2
        while parts < needed or parts < self.parts[k] < ENOUGH * needed:
            parts = int(np.ceil(GROWTH * parts))
        return parts

    def _fast(self, state: StepState) -> bool:
        """Whether what stopped a row is its speed, not its loops."""
        return bool(np.max(np.abs(state.qd), initial=0.0) > 1e-4 * MAX_SPEED)

    def read(self) -> State:
        """The states of all rows."""
        q, qd = self.state.q.copy(), self.state.qd.copy()
        time, ok = self.began + self.watch.steps * self.dt, self.watch.has(Status.RUNNING)
        return State(q, np.asarray(self.engine.reading(q, qd)[0]), time, ok, self.state.memory.copy())
