"""Getting a batch row going again that a kernel stopped: in better charts, or beyond a singular configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.clusters.closing import nearest_velocity
from kinloop.scalar import Array
from kinloop.sim.charts.recharting import approach, pass_over, rechart, smallest_singular
from kinloop.sim.charts.thresholds import (
    EARLY_STOP,
    HARDLY_REGULAR,
    LAST_STEPS,
    LEAST_PART,
    LOOKAHEAD,
    PATIENCE,
    SINGULAR,
    SPOILED_REACH,
    VOLUME_LIMIT,
)
from kinloop.sim.status import Status

if TYPE_CHECKING:
    from kinloop.sim.batch import Batch


class Resumer:
    """Decides for every stopped row of one batch how it goes on, and how often that is tried.

    `typical` is the usual size of the loops' smallest singular value (`recharting.typical_singular`).
    """

    def __init__(self, rows: int, typical: dict[int, float]) -> None:
        self.typical = typical
        self._tries = np.zeros(rows, dtype=int)
        self._last_stop = np.full(rows, -1.0)

    def waiting(self, batch: Batch) -> Array:
        """Stopped rows that have steps to take and have not been given up."""
        watch = batch.watch
        stopped = ~watch.has(Status.RUNNING) & (watch.steps < batch.until[:, 0])
        return np.flatnonzero(stopped & (self._tries < PATIENCE))

    def resume(self, batch: Batch, k: int, u: Array) -> None:
        """Get row k, under the control u, going again, or leave it stopped for good."""
        status, engine, done = batch.status(k), batch.engine(k), batch.watch.steps[k]
        self._tries[k] = self._tries[k] + 1 if done == self._last_stop[k] else 1
        self._last_stop[k] = done
        if self._tries[k] >= PATIENCE:
            self._give_up(batch, k)
            return
        if not engine.gauge.typical:
            self._tries[k] = PATIENCE  # there are no loops that other charts could help
            return
        nearness = smallest_singular(engine.tree, batch.state.q[k], self.typical)
        if status == Status.CHART and nearness > SINGULAR:
            self._go_on(batch, k, u)
        elif nearness < HARDLY_REGULAR or (status == Status.OPEN and self._tries[k] > 1):
            self._pass_over(batch, k, engine.tree, batch.state.qd[k], u)
        elif status == Status.OPEN:
            self._go_on(batch, k, u)
        else:
            self._tries[k] = PATIENCE

    def _give_up(self, batch: Batch, k: int) -> None:
        """Leave row k stopped; one that waited for a chart is said to have diverged."""
        self._tries[k] = PATIENCE
        if batch.status(k) == Status.CHART:
            batch.watch.status[k] = Status.DIVERGED

    def _go_on(self, batch: Batch, k: int, u: Array) -> None:
        """In better charts; past a singular configuration if the next step would meet it."""
        engine, q, v = batch.engine(k), batch.state.q[k], batch.state.v[k]
        tree = rechart(engine.tree, q)
        with np.errstate(all="ignore"):
            qd = np.asarray(engine.robot.spanning_velocity(q, v))
            reach = engine.gauge(q)[0]
        if not (np.all(np.isfinite(qd)) and reach < SPOILED_REACH):
            qd = nearest_velocity(tree, q, batch.state.qd[k])
        covered = approach(tree, q, LOOKAHEAD * batch.dt * qd)
        if covered > 1.0:
            self._pass_over(batch, k, tree, qd, u)
        else:
            batch.place(k, tree, q, qd)
            volume = float(batch.engine(k).gauge(q)[1])
            part = min(1.0 - EARLY_STOP * covered, max(LEAST_PART, LAST_STEPS * covered))
            batch.watch.volume_limit[k] = min(VOLUME_LIMIT, volume * part)

    def _pass_over(self, batch: Batch, k: int, tree: ClusterTree, qd: Array, u: Array) -> None:
        """Put row k beyond the singular configuration before it, some steps later."""
        batch.singular[k] = True
        most = int(batch.until[k, 0] - batch.watch.steps[k])
        drive = batch.engine(k).system.drive
        with np.errstate(all="ignore"):
            passage = pass_over(tree, drive, batch.state.q[k], qd, u, batch.dt, most)
        if passage is None:
            self._give_up(batch, k)
            return
        batch.place(k, passage.tree, passage.q, passage.qd)
        batch.watch.steps[k] += passage.steps
        batch.watch.lowest_volume[k] = 0.0
