"""Recording: what the kernel gives, and what is computed afterwards from recorded states, chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.errors import MethodError
from kinloop.sim.batch import NEAR, Rows
from kinloop.sim.engine import Engine
from kinloop.sim.rollout import Rollout, State
from kinloop.spatial.transform import Array

if TYPE_CHECKING:
    from kinloop.sim.simulator import Simulator

DERIVED = ("q", "v", "qd", "energy", "kinetic_energy", "potential_energy", "loop_error")
CONTACT = ("contact_force", "gap", "residual", "joint_impulse")


class Recorder:
    """Arrays (B, N, ...) that fill as rows proceed; a row that stops keeps its last values."""

    def __init__(self, sim: Simulator, names: tuple[str, ...], every: int, steps: int, rows: int) -> None:
        allowed = DERIVED + (CONTACT if sim.contact else ())
        for name in names:
            if name not in allowed:
                raise MethodError(f"cannot record {name!r}; this simulator records {', '.join(allowed)}")
        if every < 1:
            raise MethodError(f"every must be at least 1, received {every}")
        self.sim, self.names, self.every, self.steps, self.rows = sim, names, int(every), steps, rows
        self.count = steps // self.every
        self.records: dict[str, Array] = {}
        self.filled = np.zeros(rows, dtype=int)

    def keep(self, engine: Engine) -> tuple[str, ...]:
        """Kernel outputs that are needed."""
        if not self.names:
            return ()
        direct = tuple(n for n in self.names if n in CONTACT and n in engine.step.outputs)
        return ("q_seen", "v_seen", *direct)

    def store(self, engine: Engine, k: Array, start: int, every: int, kept: dict[str, Array]) -> None:
        """Take what rows k did from step `start` on; entries were kept every `every` steps."""
        if not self.names or not kept:
            return
        times = start + every * np.arange(1, kept["q_seen"].shape[1] + 1)
        pick = np.flatnonzero(times % self.every == 0)
        if not len(pick):
            return
        slots = times[pick] // self.every - 1
        values = self._values(engine, {name: x[:, pick] for name, x in kept.items()})
        # a row that stopped on the way repeats its state; what it does later is stored over that
        for name, x in values.items():
            if name not in self.records:
                self.records[name] = np.zeros((self.rows, self.count, *x.shape[2:]))
            self.records[name][np.ix_(k, slots)] = x
        self.filled[k] = np.maximum(self.filled[k], slots[-1] + 1)

    def fill(self, rows: Rows, k: int, done: int) -> None:
        """A row was put elsewhere outside a kernel (over a singular configuration): record that state if it is due."""
        if not self.names or done % self.every or done == 0:
            return
        engine = rows.engines[rows.engine_of[k]]
        q, v = rows.state["q"][[k]][:, None], rows.state["v"][[k]][:, None]
        for name, x in self._values(engine, {"q_seen": q, "v_seen": v}).items():
            if name in self.records:
                self.records[name][[k], done // self.every - 1] = x[:, 0]

    def put(self, rows: Rows, k: int, due: Array, found: list[Array]) -> None:
        """States x = (q, qd) of row k at the steps `due`; what is missing repeats the last one."""
        engine = rows.engines[rows.engine_of[k]]
        nq, dofs = engine.tree.top.nq, engine.tree.independent_dofs
        if not self.names or not len(due):
            return
        last = np.concatenate([rows.state["q"][k], rows.state["qd"][k]])
        x = np.array([*found, *([last] * (len(due) - len(found)))])
        values = self._values(engine, {"q_seen": x[None, :, :nq], "v_seen": x[None, :, nq:][..., dofs]})
        for name, y in values.items():
            if name not in self.records:
                self.records[name] = np.zeros((self.rows, self.count, *y.shape[2:]))
            self.records[name][k, due // self.every - 1] = y[0]

    def _values(self, engine: Engine, kept: dict[str, Array]) -> dict[str, Array]:
        q, v = kept["q_seen"], kept["v_seen"]
        robot = engine.robot
        out: dict[str, Array] = {"q": q, "v": v, **{n: kept[n] for n in CONTACT if n in kept}}
        mine = self.sim.robot.tree.independent_dofs
        if "qd" in self.names or ("v" in self.names and engine.tree.independent_dofs != mine):
            out["qd"] = np.asarray(robot.spanning_velocity(q, v))
            out["v"] = out["qd"][..., mine]
        if {"energy", "kinetic_energy"} & set(self.names):
            out["kinetic_energy"] = np.asarray(robot.kinetic_energy(q, v))
        if {"energy", "potential_energy"} & set(self.names):
            out["potential_energy"] = np.asarray(robot.potential_energy(q)) + self._springs(q)
        if "energy" in self.names:
            out["energy"] = out["kinetic_energy"] + out["potential_energy"]
        if "loop_error" in self.names:
            out["loop_error"] = engine.loop_error(q)
        return {name: out[name] for name in self.names if name in out}

    def _springs(self, q: Array) -> Array | float:
        """Energy stored in the joints' springs [J]."""
        drive, total = self.sim.drive, 0.0
        for d in np.flatnonzero(drive.stiffness):
            total = total + 0.5 * drive.stiffness[d] * (q[..., drive.place_of[d]] - drive.rest[d]) ** 2
        return total

    def result(self, final: State, rows: Rows, before: State, single: bool) -> Rollout:
        watch = rows.state["watch"]
        t = self.sim.dt * self.every * np.arange(1, self.count + 1) + before.t[0]
        records = {n: (x[0] if single else x) for n, x in self.records.items()}
        status = np.where(watch[:, 0] == 2.0, 4, watch[:, 0]).astype(int)
        stopped = np.where(status == 1, np.inf, before.t + watch[:, 1] * self.sim.dt)
        singular = rows.singular | (watch[:, 2] < NEAR)
        return Rollout(t, records, final, status, stopped, rows.changes.copy(), singular, watch[:, 2].copy(), single)
