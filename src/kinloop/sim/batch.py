"""A batch on its way: the state of every batch row, the charts each is in, and what happened to it.

A kernel stops a row before a step that it cannot take. `charts.resuming` then gets that row going again, and the
others never notice: what a row does depends on nothing but itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.charts.recharting import rechart
from kinloop.sim.charts.resuming import Resumer
from kinloop.sim.charts.thresholds import NEARLY_SINGULAR, REACH_LIMIT, REACH_MARGIN, VOLUME_LIMIT, VOLUME_MARGIN
from kinloop.sim.engine import Engine
from kinloop.sim.state import State
from kinloop.sim.status import Status
from kinloop.sim.stepper import StepState
from kinloop.sim.watch import Watch, begin_watch

if TYPE_CHECKING:
    from kinloop.sim.recorder import Recorder


class Batch:
    """Batch rows that begin at a state, all in the charts of one engine; each is then put in charts that suit it.

    `engine_for` gives the engine for a tree's charts, `typical` the usual size of the loops' smallest singular value
    (`charts.recharting.typical_singular`).
    """

    def __init__(
        self, state: State, engine: Engine, engine_for: Callable[[ClusterTree], Engine], typical: dict[int, float]
    ) -> None:
        rows = len(state)
        self.engine_for, self.dt, self.nu = engine_for, engine.system.dt, len(engine.system.drive.motors)
        self.engines: list[Engine] = [engine]
        self.engine_of = np.zeros(rows, dtype=int)
        self.began = state.t
        self.state = StepState(
            state.q.copy(), state.qd[:, engine.independent], state.qd.copy(), begin_watch(rows), state.memory.copy()
        )
        self.watch = Watch.of(self.state.watch)  # views of its columns, to read and to write
        self.watch.status[~state.ok] = Status.DIVERGED
        self.until = np.zeros((rows, 1))
        self.chart_changes = np.zeros(rows, dtype=int)
        self.singular = np.zeros(rows, dtype=bool)
        self._resumer = Resumer(rows, typical)

    def __len__(self) -> int:
        return len(self.engine_of)

    def status(self, k: int) -> Status:
        """The status of row k."""
        return Status(int(self.watch.status[k]))

    def engine(self, k: int) -> Engine:
        """The engine in whose charts row k is."""
        return self.engines[int(self.engine_of[k])]

    def by_engine(self) -> list[Array]:
        """The rows in each engine that has any."""
        if len(self.engines) == 1:
            return [np.arange(len(self.engine_of))]
        return [k for i in range(len(self.engines)) if len(k := np.flatnonzero(self.engine_of == i))]

    def advance(self, u: Array, start: int, n: int, recorder: Recorder, threads: int | None) -> None:
        """Bring every row from step `start` n steps further under u (B, n or 1, nu), whatever charts it needs."""
        self.until[:] = start + n
        for group in self.by_engine():
            self._advance(group, u[group], start, n, recorder, threads)
        while len(waiting := self._resumer.waiting(self)):
            for k in map(int, waiting):
                at = 0 if u.shape[1] == 1 else min(int(self.watch.steps[k]) - start, u.shape[1] - 1)
                self._resumer.resume(self, k, u[k, at])
                if self.status(k) == Status.RUNNING:
                    done = int(self.watch.steps[k])
                    recorder.fill(self, k, done)
                    if done < start + n:
                        rest = u[[k]] if u.shape[1] == 1 else u[[k], done - start :]
                        self._advance(np.array([k]), rest, done, start + n - done, recorder, threads)

    def _advance(self, k: Array, u: Array, start: int, n: int, recorder: Recorder, threads: int | None) -> None:
        """Bring rows k, which share an engine, n steps further, or to where the kernel stops them."""
        engine = self.engine(k[0])
        every = recorder.every if start % recorder.every == 0 else 1
        keep = recorder.keep(engine)
        state, kept = engine.advance(self.state.at(k), u, self.until[k], n, every, keep, threads)
        self.state.put(k, state)
        self.singular |= self.watch.lowest_volume < NEARLY_SINGULAR
        recorder.store(engine, k, start, every, kept)

    def place(self, k: int, tree: ClusterTree, q: Array, qd: Array) -> None:
        """Put row k at the spanning state (q, qd), in the charts of `tree`, and let it run."""
        new = self._index(self.engine_for(tree))
        engine, watch = self.engines[new], self.watch
        reach, volume = engine.gauge(q)
        self.chart_changes[k] += int(new != self.engine_of[k])
        self.engine_of[k] = new
        self.state.q[k], self.state.qd[k] = q, qd
        self.state.v[k] = qd[engine.independent]
        self.state.memory[k, : engine.tree.nv] = 0.0  # an acceleration in the old coordinates
        watch.status[k] = Status.RUNNING
        watch.reach_limit[k] = max(REACH_LIMIT, REACH_MARGIN * float(reach))
        watch.volume_limit[k] = min(VOLUME_LIMIT, VOLUME_MARGIN * float(volume))

    def rechart(self, k: int) -> None:
        """Put row k in the best charts at its spanning state."""
        q, qd = self.state.q[k].copy(), self.state.qd[k].copy()
        self.place(k, rechart(self.engine(k).tree, q), q, qd)

    def _index(self, engine: Engine) -> int:
        """The place of an engine in `engines`, where it is put if none there has its charts."""
        for k, e in enumerate(self.engines):
            if e.charts == engine.charts:
                return k
        self.engines.append(engine)
        return len(self.engines) - 1

    def read(self) -> State:
        """The states of all rows."""
        q, qd = self.state.q.copy(), np.empty_like(self.state.qd)
        groups = self.by_engine()
        engines = [self.engine(k[0]) for k in groups]
        for k, engine in zip(groups, engines, strict=True):
            qd[k] = engine.velocities(q[k], self.state.v[k])
        charts = engines[0].charts if len(engines) == 1 else None
        time, ok = self.began + self.watch.steps * self.dt, self.watch.has(Status.RUNNING)
        return State(q, qd, time, ok, self.state.memory.copy(), charts)
