"""Recording a rollout: what kernels give, and what is computed afterwards from recorded states, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.inputs import checked_count
from kinloop.scalar import Array
from kinloop.sim.actuators import spring_energy
from kinloop.sim.energy_monitor import imbalance_in_words, unbalanced
from kinloop.sim.engine import Engine
from kinloop.sim.rollout import Rollout
from kinloop.sim.state import State
from kinloop.sim.status import Status
from kinloop.sim.watch import PEAKS, Watch

if TYPE_CHECKING:
    from kinloop.sim.batch import Batch
    from kinloop.sim.simulator import Simulator

DERIVED = ("q", "v", "qd", "energy", "kinetic_energy", "potential_energy", "loop_error")
"""What can be recorded of every simulation: computed from states."""

CONTACT = ("contact_force", "gap", "residual", "joint_impulse")
"""What can be recorded besides where there is contact: outputs of the step kernel.

After a row has stopped, forces, impulses and residuals are zero and gaps stay (nan where none was recorded before).
"""


class Recorder:
    """Arrays (B, N, ...) that fill as batch rows proceed; a row that stops keeps its last values."""

    def __init__(self, sim: Simulator, names: Sequence[str], every: int, steps: int, rows: int) -> None:
        allowed = DERIVED + (CONTACT if sim.contact else ())
        for name in names:
            if name not in allowed:
                raise MethodError(f"cannot record {name!r}; this simulator records {', '.join(allowed)}")
        self.every = checked_count("every", every)
        self.sim, self.names, self.steps, self.rows = sim, tuple(names), steps, rows
        self.count = steps // self.every
        self.records: dict[str, Array] = {}

    def keep(self, engine: Engine) -> tuple[str, ...]:
        """Outputs of the step kernel that are needed."""
        if not self.names:
            return ()
        direct = tuple(n for n in self.names if n in CONTACT and n in engine.step.outputs)
        return ("q_seen", "qd_seen", *direct)

    def store(self, engine: Engine, k: Array, start: int, every: int, kept: dict[str, Array]) -> None:
        """Take what rows k did from step `start` on; kernel outputs were kept every `every` steps."""
        if not self.names or not kept or not len(k):
            return
        times = start + every * np.arange(1, kept["q_seen"].shape[1] + 1)
        pick = np.flatnonzero(times % self.every == 0)
        if not len(pick):
            return
        slots = times[pick] // self.every - 1
        # a row that stopped on the way repeats its state; what it does later is stored over that
        for name, x in self._values(engine, {name: x[:, pick] for name, x in kept.items()}).items():
            self._array(name, x)[np.ix_(k, slots)] = x

    def over_parts(self, kept: dict[str, Array], parts: int) -> dict[str, Array]:
        """What is recorded of steps (rows, steps, ...), from outputs of all their parts (rows, steps * parts, ...)."""
        rules: dict[str, Callable[..., Array]] = {"contact_force": np.mean, "joint_impulse": np.sum, "residual": np.max}
        out = {}
        for name, x in kept.items():
            grouped = x.reshape(len(x), x.shape[1] // parts, parts, *x.shape[2:])
            out[name] = rules[name](grouped, axis=2) if name in rules else grouped[:, :, -1]
        return out

    def put(self, batch: Batch, k: int, due: Array, found: Sequence[Array]) -> None:
        """States x = (q, qd) of row k at the steps `due`; what is missing repeats the last one."""
        if not self.names or not len(due):
            return
        nq = batch.engine.tree.top.nq
        last = np.concatenate([batch.state.q[k], batch.state.qd[k]])
        x = np.array([*found, *([last] * (len(due) - len(found)))])
        values = self._values(batch.engine, {"q_seen": x[None, :, :nq], "qd_seen": x[None, :, nq:]})
        for name, y in values.items():
            self._array(name, y)[k, due // self.every - 1] = y[0]

    def _array(self, name: str, like: Array) -> Array:
        """The record of a quantity, made when its first values (rows, times, ...) come."""
        if name not in self.records:
            self.records[name] = np.zeros((self.rows, self.count, *like.shape[2:]))
        return self.records[name]

    def _values(self, engine: Engine, kept: dict[str, Array]) -> dict[str, Array]:
        """What is to be recorded at states (q, qd); v in the robot's own coordinates."""
        q = kept["q_seen"]
        out: dict[str, Array] = {"q": q, **{n: kept[n] for n in CONTACT if n in kept}}
        if set(self.names) & {"v", "qd", "energy", "kinetic_energy", "potential_energy"}:
            qd, energies = engine.reading(q, kept["qd_seen"])
            out |= {"qd": qd, "v": qd[..., self.sim.robot.tree.independent_dofs]}
            out["kinetic_energy"] = energies[..., 0]
            out["potential_energy"] = energies[..., 1] + spring_energy(self.sim.drive, q)
            out["energy"] = out["kinetic_energy"] + out["potential_energy"]
        if "loop_error" in self.names:
            out["loop_error"] = self.sim.robot.loop_error(q)
        return {name: out[name] for name in self.names if name in out}

    def _still(self, watch: Watch) -> None:
        """Records of contact for the time after a row has stopped: nothing pushes, and gaps are what they were."""
        for k in np.flatnonzero(~watch.has(Status.RUNNING)):
            good = int(watch.steps[k]) // self.every
            for name in set(CONTACT) & set(self.records):
                x = self.records[name][k]
                x[good:] = (x[good - 1] if good else np.nan) if name == "gap" else 0.0

    def result(self, batch: Batch, before: State, single: bool, info: dict[str, Any]) -> Rollout:
        """The rollout of a batch that began at `before`; `single` leaves out the axis of batch rows."""
        watch = batch.watch
        self._still(watch)
        t = self.sim.dt * self.every * np.arange(1, self.count + 1) + before.t[0]
        records = {n: (x[0] if single else x) for n, x in self.records.items()}
        status, reasons = watch.status.astype(int), list(batch.reasons)
        stopped = np.where(status == Status.RUNNING, np.inf, before.t + watch.steps * self.sim.dt)
        wrong = np.flatnonzero((status == Status.RUNNING) & unbalanced(watch)) if self.sim.engine.monitor else ()
        for k in wrong:
            status[k] = Status.UNBALANCED
            reasons[k] = imbalance_in_words(watch.imbalance[k], watch.motion[k], watch.penetration[k])
        peaks = {name: getattr(watch, name).copy() for name in self._peaks()}
        return Rollout(
            t, records, batch.read(), status, stopped, batch.substeps.copy(), watch.passed > 0, watch.nearest.copy(),
            peaks, tuple(reasons), single, info,
        )  # fmt: skip

    def _peaks(self) -> list[str]:
        """The largest values over all steps that there are of this simulation (`watch.PEAKS`)."""
        contact = self.sim.contact
        has = {
            "loop_error": self.sim.engine.monitor and self.sim.robot.mechanism.closures,
            "imbalance": self.sim.engine.monitor,
            "contact_force": contact and contact.candidates,
            "penetration": contact and contact.candidates,
            "residual": contact,
        }
        return [name for name in PEAKS if has.get(name, True)]
