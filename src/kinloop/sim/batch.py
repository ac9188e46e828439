"""Rows on their way: which charts each is in, and what to do when one stops.

A kernel stops a row before a step that it cannot do. The row then gets better charts at its configuration,
or passes over a singular one, and goes on; the others never notice.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.clusters.closing import nearest_velocity
from kinloop.sim.actuation import Drive
from kinloop.sim.charts.recharting import SINGULAR, approach, pass_over, rechart, smallest_singular
from kinloop.sim.engine import FEEDBACK, Engine
from kinloop.sim.integrators.stepper import BEGINNING, CHART, DIVERGED, OPEN, REACH, RUNNING, VOLUME
from kinloop.spatial.transform import Array

NEAR = 1e-2
"""Below this part of the typical volume a configuration counts as nearly singular, and the row is flagged."""

NEXT = 1.25
"""How far ahead a row looks for singular configurations [steps]."""

PATIENCE = 12


class Rows:
    """A batch of rows: state per row, charts per row, what happened to each."""

    def __init__(
        self, engine_for: Callable[[ClusterTree], Engine], typical: dict[int, float], dt: float, drive: Drive
    ) -> None:
        self.engine_for, self.typical, self.dt, self.drive = engine_for, typical, dt, drive
        self.engines: list[Engine] = []
        self.state: dict[str, Array] = {}
        self.until = np.zeros((0, 1))
        self.engine_of = np.zeros(0, dtype=int)
        self.changes = np.zeros(0, dtype=int)
        self.singular = np.zeros(0, dtype=bool)
        self._tries = np.zeros(0, dtype=int)
        self._last_stop = np.zeros(0)

    def start(self, engine: Engine, q: Array, v: Array, qd: Array, memory: Array) -> None:
        """Rows at closed states (q, v), v in the charts of `engine`, each then in charts that suit it."""
        rows = len(q)
        watch = np.tile(BEGINNING, (rows, 1))
        self.state = {"q": q.copy(), "v": v.copy(), "qd": qd.copy(), "watch": watch, "memory": memory.copy()}
        self.until = np.zeros((rows, 1))
        self.engine_of = np.full(rows, self.index(engine))
        self.changes, self._tries = np.zeros(rows, dtype=int), np.zeros(rows, dtype=int)
        self.singular = np.zeros(rows, dtype=bool)
        self._last_stop = np.full(rows, -1.0)

    def index(self, engine: Engine) -> int:
        for k, e in enumerate(self.engines):
            if e.charts == engine.charts:
                return k
        self.engines.append(engine)
        return len(self.engines) - 1

    def by_engine(self) -> list[Array]:
        """The rows in each engine that has any."""
        if len(self.engines) == 1:
            return [np.arange(len(self.engine_of))]
        return [k for i in range(len(self.engines)) if len(k := np.flatnonzero(self.engine_of == i))]

    def take(self, k: Array, state: dict[str, Array]) -> None:
        """Put back the state of rows k."""
        for name in FEEDBACK:
            self.state[name][k] = state[name]
        self.singular |= self.state["watch"][:, 2] < NEAR

    def stopped(self) -> Array:
        """Rows that wait for help: those that may get it."""
        status, done = self.state["watch"][:, 0], self.state["watch"][:, 1]
        return np.flatnonzero((status != RUNNING) & (done < self.until[:, 0]) & (self._tries < PATIENCE))

    def help(self, k: int, u: Array) -> None:
        """Get row k, under the control u, going again, or leave it stopped for good."""
        done = self.state["watch"][k, 1]
        self._tries[k] = self._tries[k] + 1 if done == self._last_stop[k] else 1
        self._last_stop[k] = done
        if self._tries[k] >= PATIENCE:
            if self.state["watch"][k, 0] == CHART:
                self.state["watch"][k, 0] = DIVERGED
            return
        engine = self.engines[self.engine_of[k]]
        if not engine.gauge.typical:
            self._tries[k] = PATIENCE
            return
        nearness = smallest_singular(engine.tree, self.state["q"][k], self.typical)
        if self.state["watch"][k, 0] == CHART and nearness > SINGULAR:
            self._go_on(k, engine, u)
        elif nearness < 1e-3 or (self.state["watch"][k, 0] == OPEN and self._tries[k] > 1):
            self._pass_over(k, engine.tree, self.state["qd"][k], u)
        elif self.state["watch"][k, 0] == OPEN:
            self._go_on(k, engine, u)
        else:
            self._tries[k] = PATIENCE

    def _go_on(self, k: int, engine: Engine, u: Array) -> None:
        """In better charts; past a singular configuration if the next step would meet it."""
        q, v = self.state["q"][k], self.state["v"][k]
        tree = rechart(engine.tree, q)
        with np.errstate(all="ignore"):
            qd = np.asarray(engine.robot.spanning_velocity(q, v))
            reach = engine.gauge(q)[0]
        if not (np.all(np.isfinite(qd)) and reach < 1e4):
            qd = nearest_velocity(tree, q, self.state["qd"][k])
        covered = approach(tree, q, NEXT * self.dt * qd)
        if covered > 1.0:
            self._pass_over(k, tree, qd, u)
        else:
            self.place(k, tree, q, qd)
            # stop again two steps before a singular configuration, then at every step
            volume = float(self.engines[self.engine_of[k]].gauge(q)[1])
            self.state["watch"][k, 4] = min(VOLUME, volume * min(1.0 - 0.6 * covered, max(0.1, 1.8 * covered)))

    def place(self, k: int, tree: ClusterTree, q: Array, qd: Array) -> None:
        """Put row k at a spanning state, in the charts of `tree`, and let it run."""
        new = self.index(self.engine_for(tree))
        engine = self.engines[new]
        reach, volume = engine.gauge(q)
        self.changes[k] += int(new != self.engine_of[k])
        self.engine_of[k] = new
        self.state["q"][k], self.state["qd"][k] = q, qd
        self.state["v"][k] = qd[engine.tree.independent_dofs]
        self.state["memory"][k, : engine.tree.nv] = 0.0  # an acceleration in the old coordinates
        self.state["watch"][k, 0] = RUNNING
        self.state["watch"][k, 3:] = max(REACH, 1.5 * float(reach)), min(VOLUME, 0.5 * float(volume))

    def recharted(self, k: int) -> None:
        """The best charts for row k at its spanning state."""
        engine = self.engines[self.engine_of[k]]
        q, qd = self.state["q"][k].copy(), self.state["qd"][k].copy()
        self.place(k, rechart(engine.tree, q), q, qd)

    def _pass_over(self, k: int, tree: ClusterTree, qd: Array, u: Array) -> None:
        self.singular[k] = True
        most = int(self.until[k, 0] - self.state["watch"][k, 1])
        with np.errstate(all="ignore"):
            passage = pass_over(tree, self.drive, self.state["q"][k], qd, u, self.dt, most)
        if passage is None:
            self._tries[k] = PATIENCE
            if self.state["watch"][k, 0] == CHART:
                self.state["watch"][k, 0] = DIVERGED
            return
        self.place(k, passage.tree, passage.q, passage.qd)
        self.state["watch"][k, 1] += passage.steps
        self.state["watch"][k, 2] = 0.0
