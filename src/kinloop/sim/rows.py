"""Rows on their way: which charts each is in, and what to do when one stops.

A kernel stops a row before a step that it cannot do. The row then gets better charts at its configuration,
or passes over a singular one, and goes on; the others never notice.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.sim.engine import FEEDBACK, Engine, charts_key
from kinloop.sim.recharting import SINGULAR, pass_over, project, rechart, smallest_singular
from kinloop.sim.steps import CHART, DIVERGED, OPEN, RUNNING
from kinloop.spatial.transform import Array

REACH = 4.0
"""A chart is left when swapping two coordinates would make it four times better; a new one starts at 1 or below."""

VOLUME = 0.02
"""Rows of loops are chosen anew when their volume has fallen to this part of the typical one."""

NEAR = 1e-2
"""Below this part of the typical volume a configuration counts as nearly singular, and the row is flagged."""

PATIENCE = 12


class Rows:
    """A batch of rows: state per row, charts per row, what happened to each."""

    def __init__(self, engine_for: Callable[[ClusterTree], Engine], samples: dict, dt: float) -> None:
        self.engine_for, self.samples, self.dt = engine_for, samples, dt
        self.engines: list[Engine] = []
        self.state: dict[str, Array] = {}
        self.bounds = np.zeros((0, 3))
        self.engine_of = np.zeros(0, dtype=int)
        self.changes = np.zeros(0, dtype=int)
        self.singular = np.zeros(0, dtype=bool)
        self._tries = np.zeros(0, dtype=int)
        self._last_stop = np.zeros(0)

    def start(self, engine: Engine, q: Array, v: Array, qd: Array, memory: Array) -> None:
        """Rows at closed states (q, v), v in the charts of `engine`, each then in charts that suit it."""
        rows = len(q)
        watch = np.tile([RUNNING, 0.0, 1.0], (rows, 1))
        self.state = {"q": q.copy(), "v": v.copy(), "qd": qd.copy(), "watch": watch, "memory": memory.copy()}
        self.bounds = np.tile([REACH, VOLUME, 0.0], (rows, 1))
        self.engine_of = np.full(rows, self.index(engine))
        self.changes, self._tries = np.zeros(rows, dtype=int), np.zeros(rows, dtype=int)
        self.singular = np.zeros(rows, dtype=bool)
        self._last_stop = np.full(rows, -1.0)

    def index(self, engine: Engine) -> int:
        key = charts_key(engine.tree)
        for k, e in enumerate(self.engines):
            if charts_key(e.tree) == key:
                return k
        self.engines.append(engine)
        return len(self.engines) - 1

    def take(self, k: Array, state: dict[str, Array]) -> None:
        """Put back the state of rows k."""
        for name in FEEDBACK:
            self.state[name][k] = state[name]
        self.singular |= self.state["watch"][:, 2] < NEAR

    def stopped(self) -> Array:
        """Rows that wait for help: those that may get it."""
        status, done = self.state["watch"][:, 0], self.state["watch"][:, 1]
        return np.flatnonzero((status != RUNNING) & (done < self.bounds[:, 2]) & (self._tries < PATIENCE))

    def help(self, k: int) -> None:
        """Get row k going again, or leave it stopped for good."""
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
        nearness = smallest_singular(engine.tree, self.state["q"][k], self.samples)
        if self.state["watch"][k, 0] == CHART and nearness > SINGULAR:
            self._change_charts(k, engine)
        elif nearness < 1e-3 or (self.state["watch"][k, 0] == OPEN and self._tries[k] > 1):
            self._pass_over(k, engine)
        elif self.state["watch"][k, 0] == OPEN:
            self._change_charts(k, engine)
        else:
            self._tries[k] = PATIENCE

    def _change_charts(self, k: int, engine: Engine) -> None:
        q, v = self.state["q"][k], self.state["v"][k]
        tree = rechart(engine.tree, q, self.samples)
        with np.errstate(all="ignore"):
            qd = engine.tree.spanning_motion(q, v)[1]
            reach = engine.gauge(q)[0]
        if not (np.all(np.isfinite(qd)) and reach < 1e4):
            qd = project(tree, q, self.state["qd"][k])
        self.place(k, tree, q, qd)

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
        self.bounds[k, :2] = max(REACH, 1.5 * float(reach)), min(VOLUME, 0.1 * float(volume))

    def recharted(self, k: int) -> None:
        """The best charts for row k at its spanning state."""
        engine = self.engines[self.engine_of[k]]
        q, qd = self.state["q"][k].copy(), self.state["qd"][k].copy()
        self.place(k, rechart(engine.tree, q, self.samples), q, qd)

    def _pass_over(self, k: int, engine: Engine) -> None:
        self.singular[k] = True
        passage = pass_over(engine.tree, self.state["q"][k], self.state["qd"][k], self.dt, self.samples)
        if passage is None:
            self._tries[k] = PATIENCE
            if self.state["watch"][k, 0] == CHART:
                self.state["watch"][k, 0] = DIVERGED
            return
        qd = passage.tree.spanning_motion(passage.q, passage.v)[1]
        self.place(k, passage.tree, passage.q, qd)
        self.state["watch"][k, 1] = min(self.state["watch"][k, 1] + passage.steps, self.bounds[k, 2])
        self.state["watch"][k, 2] = 0.0

    def relax_bounds(self) -> None:
        """Let the bounds of rows that are back in good configurations return to their usual values."""
        for k in np.flatnonzero(self.bounds[:, 1] < VOLUME):
            if self.state["watch"][k, 0] == RUNNING:
                reach, volume = self.engines[self.engine_of[k]].gauge(self.state["q"][k])
                self.bounds[k, :2] = max(REACH, 1.5 * float(reach)), min(VOLUME, 0.1 * float(volume))
