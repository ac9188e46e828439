"""Recording a rollout: what kernels give, and what is computed afterwards from recorded states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.scalar import Array
from kinloop.sim.actuators import spring_energy
from kinloop.sim.contact.small_steps import JAMMED
from kinloop.sim.energy_monitor import imbalance_in_words, unbalanced
from kinloop.sim.open_numbers import refuse_unknown_numbers
from kinloop.sim.recorded_controls import OF_CONTROLS, RecordedControls, needs_controls, of_steps, where_told
from kinloop.sim.rollout import Rollout
from kinloop.sim.schedule import Schedule, even
from kinloop.sim.state import RUNNING, State, all_are, unchecked
from kinloop.sim.status import Status
from kinloop.sim.watch import PEAKS, Watch

if TYPE_CHECKING:
    from kinloop.compiler.run.iteration import Stepping
    from kinloop.interpreted import InterpretedStepping
    from kinloop.sim.batch import Batch
    from kinloop.sim.simulator import Simulator

DERIVED = ("q", "v", "qd", "energy", "kinetic_energy", "potential_energy", "loop_error")
"""What can be recorded of every simulation: computed from states."""

AT_ONCE = 256
"""Steps of one row that are written down together."""

ENERGIES = {"energy", "kinetic_energy", "potential_energy"}
"""Those of them that need a kernel of their own."""


EMPTY = {"contact_pair": -1.0}
"""What a row that has stopped records instead of zero."""


class RecordPlan:
    """What has to be kept of every step so that these quantities can be told, and how they are."""

    def __init__(self, sim: Simulator, names: tuple[str, ...]) -> None:
        sensors, steps = sim.engine.sensors.names, of_steps(names, sim.engine)
        self.of_contact = tuple(sim.contact.records) if sim.contact else ()
        allowed = (*DERIVED, *OF_CONTROLS, *self.of_contact, *sim.engine.system.sensed, *sensors)
        for name in names:
            if name not in allowed:
                raise MethodError(f"cannot record {name!r}; this simulator records {', '.join(allowed)}")
        refuse_unknown_numbers(names, (*ENERGIES, "motor_force", *sensors), sim.engine.system.open)
        self.sim, self.names, self.engine = sim, names, sim.engine.sensing(steps)
        free, n = sim.robot.tree.independent_dofs, sim.robot.n_spanning
        self._free = None if free == list(range(n)) and "qd" not in names else free
        self._energies = bool(ENERGIES & set(names))
        self._velocities = bool({"v", "qd", "motor_force"} & set(names)) and bool(sim.robot.mechanism.closures)
        self._sensors = bool(set(sensors) & set(names))
        self.keeps_controls = needs_controls(names, sim.engine) or (self._sensors and not sim.engine.takes_steps)
        self.direct = [name for name in self.of_contact if name in names]
        self.direct += [x for x in self.engine.system.sensed if x in names or x in steps or self._sensors]
        self.shapes, self.peaks = self._shapes(), self._peaks()
        self._even: tuple[tuple[int, int], Schedule] | None = None

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Outputs of the step kernel that are needed, with their shapes: the state, and what says of the contact."""
        if not self.names:
            return {}
        top, contact = self.sim.robot.tree.top, self.sim.contact
        shapes: dict[str, tuple[int, ...]] = {"q_seen": (top.nq,), "qd_seen": (top.n_spanning,)}
        each: dict[str, tuple[int, ...]] = dict(self.sim.sensed_shapes)
        if contact:
            each |= contact.records
        return shapes | {name: each[name] for name in self.direct}

    def _peaks(self) -> list[str]:
        """The largest values over all steps that there are of this simulation (`watch.PEAKS`)."""
        contact, monitor = self.sim.contact, self.sim.engine.monitor
        has = {
            "loop_error": monitor and self.sim.robot.mechanism.closures,
            "imbalance": monitor,
            "contact_force": contact and contact.records["gap"][0],
            "penetration": contact and contact.records["gap"][0],
            "residual": contact,
            "iterations": contact,
            "missed": contact and contact.crowds,
        }
        return [name for name in PEAKS if has.get(name, True)]

    def even(self, every: int, steps: int) -> Schedule:
        """Records after every so many of these steps; not to be written to."""
        if self._even is None or self._even[0] != (every, steps):
            self._even = (every, steps), even(steps, every, self.sim.dt)
        return self._even[1]

    def _told(self, kept: dict[str, Array], t: Array) -> dict[str, Array]:
        """What sensors tell of recorded states, by name, nan where only a step could; t are times (B, N)."""
        q, qd, engine = kept["q_seen"], kept["qd_seen"], self.engine
        given = [kept.get(name, np.zeros((*q.shape[:2], *shape))) for name, shape in self.sim.sensed_shapes.items()]
        if not engine.takes_steps:
            given = engine.sensed_at(q, qd, kept["controls"], t)
        told = np.asarray(engine.told(*_flat(q, qd, *map(np.nan_to_num, given), t[..., None])))
        found = engine.sensors.split(told.reshape(*q.shape[:2], -1), t)
        before = np.any([np.isnan(x).any(axis=-1) for x in given], axis=0)
        return found | {s: np.where(before[..., None], np.nan, found[s]) for s in engine.sensors.in_steps}

    def _rates(self, q: Array, qd: Array, u: Array, t: Array) -> Array:
        """Accelerations of all joints at recorded states, where no steps of fixed length give them."""
        clock = [t[..., None]] if self.engine.system.clock else []
        return where_told(lambda *x: self.engine.rate(*x)[1], q, qd, u, *clock)

    @cached_property
    def entries(self) -> dict[str, list[str]]:
        """Names of the entries of what is recorded, where they have any."""
        robot, controls = self.sim.robot, self.sim.control_names
        known = {
            "q": robot.position_names, "v": robot.independent_names, "a": robot.independent_names,
            "qd": robot.spanning_names, "qdd": robot.spanning_names, "controls": controls,
            "motor_force": controls[: len(self.sim.drive.motors)], "loop_error": robot.loop_names,
        }  # fmt: skip
        return {name: known[name] for name in self.names if name in known}

    def told(self, kept: dict[str, Array], t: Array) -> dict[str, Array]:
        """What is to be recorded, from what was kept; v in the robot's own coordinates. t are times (B, N)."""
        if not self.names:
            return {}
        q, qd, engine = kept["q_seen"], kept["qd_seen"], self.engine
        out = dict(kept)
        if {"a", "qdd"} & set(self.names):
            out["qdd"] = kept["acceleration"] if engine.takes_steps else self._rates(q, qd, kept["controls"], t)
            out["a"] = out["qdd"][..., self.sim.robot.tree.independent_dofs]
        if self._energies:
            qd, energies = (x.reshape(*q.shape[:2], -1) for x in engine.reading(*_flat(q, qd)))
            out["kinetic_energy"] = energies[..., 0]
            out["potential_energy"] = energies[..., 1:].sum(axis=-1) + spring_energy(self.sim.drive, q)
            out["energy"] = out["kinetic_energy"] + out["potential_energy"]
        elif self._velocities and engine.takes_steps:
            qd = engine.allowed(*_flat(q, qd)).reshape(qd.shape)
        out["q"], out["qd"] = q, qd
        if "motor_force" in self.names:
            out["motor_force"] = where_told(engine.motor_force, q, qd, kept["told" if "told" in kept else "controls"])
        if "v" in self.names:
            out["v"] = qd if self._free is None else qd[..., self._free]
        if "loop_error" in self.names:
            out["loop_error"] = self.sim.robot.loop_error(q)
        if self._sensors:
            out |= self._told(kept, t)
        return {name: out[name] for name in self.names}


class Recorder:
    """Arrays (B, N, ...) that fill as batch rows proceed; a row that stops keeps its last values."""

    def __init__(self, plan: RecordPlan, schedule: Schedule, rows: int) -> None:
        self.schedule, self._plan = schedule, plan
        self._kept = {name: np.zeros((rows, len(schedule.due), *shape)) for name, shape in plan.shapes.items()}
        self._taken: list[tuple[Any, ...]] = []
        nu = plan.sim.nu
        self.controls = RecordedControls(schedule, rows, nu) if plan.keeps_controls else None

    def begin(self, state: State) -> None:
        """Record the beginning, where that is asked for; what only steps can say is nan there."""
        if self.schedule.begins:
            for name, x in self._kept.items():
                x[:, 0] = {"q_seen": state.q, "qd_seen": state.qd}.get(name, np.nan)

    @property
    def keep(self) -> tuple[str, ...]:
        """Outputs of the step kernel that are needed."""
        return tuple(self._kept)

    def follow(self, given: Stepping | InterpretedStepping, start: int, n: int) -> int:
        """Let all rows that go n steps on from step `start` write their records here, after every so many steps.

        The n steps are of one stretch of `Schedule.chunks`.
        """
        first, due = self._due(start, n)
        for name, x in self._kept.items():
            given.record(name, x if due else None, first)
        return 1 if due == n else self.schedule.every or n

    def _due(self, start: int, n: int) -> tuple[int, int]:
        """The first record after step `start`, and how many are due in the n steps from there on."""
        if self.schedule.every:
            every, begins = self.schedule.every, int(self.schedule.begins)
            return start // every + begins, (start + n) // every - start // every
        due, on = self.schedule.due, self.schedule.beyond == 0.0
        found = np.flatnonzero(on & (due > start) & (due <= start + n))
        return (int(found[0]) if len(found) else 0), len(found)

    def stride(self, start: int, n: int) -> int:
        """How often rows that go n steps on from any step `start` of a stretch must be looked at."""
        every = self.schedule.every
        return n if not every else every if start % every == 0 else 1

    def take(self, k: int, q: Array, qd: Array, given: Mapping[str, Array]) -> None:
        """What the only row did in its step k, which led to q and qd, and `given` more, all (1, ...)."""
        every = self.schedule.every
        if self._kept and (k + 1) % every == 0:
            more = [given[name].tobytes() for name in self._plan.direct]
            self._taken.append((k // every, q.tobytes(), qd.tobytes(), *more))
            if len(self._taken) == AT_ONCE:
                self.put_away()

    def put_away(self) -> None:
        """Write down what was taken: many steps at once, since each for itself takes longer than a step."""
        if self._taken:
            slots, *found = zip(*self._taken, strict=True)
            for x, rows in zip(self._kept.values(), found, strict=True):
                x[0, slots] = np.frombuffer(b"".join(rows)).reshape(len(slots), *x.shape[2:])
            self._taken = []

    def store(self, k: Array, start: int, every: int, kept: dict[str, Array]) -> None:
        """Take what rows k did from step `start` on; kernel outputs were kept every `every` steps."""
        if not kept or not len(k):
            return
        times = start + every * np.arange(1, kept["q_seen"].shape[1] + 1)
        on = np.flatnonzero(self.schedule.beyond == 0.0)
        pick = np.flatnonzero(np.isin(times, self.schedule.due[on]))
        slots = on[np.searchsorted(self.schedule.due[on], times[pick])]
        # a row that stopped on the way repeats its state; what it does later is stored over that
        for name, x in kept.items():
            self._kept[name][np.ix_(k, slots)] = x[:, pick]

    def over_parts(self, kept: dict[str, Array], parts: int) -> dict[str, Array]:
        """What is recorded of steps (rows, steps, ...), from outputs of all their parts (rows, steps * parts, ...)."""
        rules: dict[str, Callable[..., Array]] = {
            "contact_force": np.mean, "contact_torque": np.mean, "joint_impulse": np.sum, "residual": np.max,
            "iterations": np.max, "acceleration": np.mean, "pushed": np.mean,
        }  # fmt: skip
        out = {}
        for name, x in kept.items():
            grouped = x.reshape(len(x), x.shape[1] // parts, parts, *x.shape[2:])
            out[name] = rules[name](grouped, axis=2) if name in rules else grouped[:, :, -1]
        return out

    def look_aside(self, batch: Batch, start: int, u: Array, threads: int | None) -> None:
        """Record what lies between step `start`, at which the batch is, and the next, under controls u (B, 1, nu)."""
        if self.schedule.every:
            return
        due, beyond = self.schedule.due, self.schedule.beyond
        for slot in np.flatnonzero((due == start) & (beyond > 0.0)):
            aside, own = batch.aside(float(beyond[slot])), Recorder(self._plan, self._plan.even(1, 1), len(batch))
            aside.advance(u, 0, 1, own, threads)
            aside.end()
            for name, x in own._kept.items():
                self._kept[name][:, slot] = x[:, 0]

    def between(self, start: int, stop: int) -> Array:
        """The records that are made after step `start` and not after step `stop`."""
        due, beyond = self.schedule.due, self.schedule.beyond
        after = (due > start) | ((due == start) & (beyond > 0.0))
        return np.flatnonzero(after & ((due < stop) | ((due == stop) & (beyond == 0.0))))

    def put(self, batch: Batch, k: int, slots: Array, found: Sequence[Array]) -> None:
        """States x = (q, qd) of row k at some records; what is missing repeats the last one."""
        if not self._kept or not len(slots):
            return
        nq = batch.engine.tree.top.nq
        last = np.concatenate([batch.state.q[k], batch.state.qd[k]])
        x = np.array([*found, *([last] * (len(slots) - len(found)))])
        for name, y in (("q_seen", x[:, :nq]), ("qd_seen", x[:, nq:])):
            self._kept[name][k, slots] = y

    def _still(self, watch: Watch) -> None:
        """Records of contact for the time after a row has stopped: nothing pushes, and gaps are what they were."""
        for k in np.flatnonzero(~watch.has(Status.RUNNING)):
            good = len(self.between(-1, int(watch.steps[k])))
            for name in {*self._plan.of_contact, "acceleration"} & set(self._kept):
                x = self._kept[name][k]
                x[good:] = (x[good - 1] if good else np.nan) if name == "gap" else EMPTY.get(name, 0.0)

    def _nothing_pushes(self, told: dict[str, Array], watch: Watch) -> None:
        """Let motors of rows that have stopped rest, and joints of theirs, where controls say otherwise."""
        for k in np.flatnonzero(~watch.has(Status.RUNNING)):
            good = len(self.between(-1, int(watch.steps[k])))
            for name in {"motor_force", "a", "qdd"} & set(told):
                told[name][k, good:] = 0.0

    def result(self, batch: Batch, before: State, single: bool, info: dict[str, Any]) -> Rollout:
        """The rollout of a batch that began at `before`; `single` leaves out the axis of batch rows."""
        watch, final, sim = batch.watch, batch.read(), self._plan.sim
        status, reasons, stopped = final.status.copy(), tuple(batch.reasons), np.empty(len(final))
        stopped.fill(np.inf)
        if not final.h and not all_are(RUNNING, status):
            self._still(watch)
            stopped = np.where(final.ok, np.inf, final.t)
        if sim.engine.monitor:
            status, reasons = _balanced(watch, status, reasons)
        if sim.contact is not None and not (watch.residual <= JAMMED).all():
            status, reasons = _solved(watch, status, reasons)
        if sim.contact is not None and watch.missed.any():
            status, reasons = _crowded(watch, status, reasons)
        t = self.schedule.since + before.t[0]
        kept = self._kept if self.controls is None else self._kept | {"controls": self.controls.array}
        told = self._plan.told(kept, self.schedule.since + before.t[:, None])
        if not final.h and self.controls is not None:
            self._nothing_pushes(told, watch)
        records = {n: (x[0] if single else x) for n, x in told.items()}
        peaks = {name: getattr(watch, name).copy() for name in self._plan.peaks}
        flags = {"status": status, "stopped": stopped, "substeps": batch.substeps, "singular": watch.passed > 0}
        flags |= {"nearest": watch.nearest.copy(), "peaks": peaks, "reasons": reasons, "single": single, "info": info}
        flags["entries"] = self._plan.entries
        return unchecked(Rollout, {"t": t, "records": records, "final": final} | flags)


def _flat(*given: Array) -> tuple[Array, ...]:
    """Arrays (B, N, n) as those of so many states (B N, n)."""
    return tuple(x.reshape(x.shape[0] * x.shape[1], x.shape[2]) for x in given)


def _balanced(watch: Watch, status: Array, reasons: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    """Status and reasons of rows, with what the energy monitor has to say of those that went all the way."""
    words = list(reasons)
    for k in np.flatnonzero((status == Status.RUNNING) & unbalanced(watch)):
        status[k] = Status.UNBALANCED
        words[k] = imbalance_in_words(watch.imbalance[k], watch.motion[k], watch.penetration[k])
    return status, tuple(words)


def _solved(watch: Watch, status: Array, reasons: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    """Status and reasons of rows, with what is to be said of those that went over steps without a solution."""
    words = list(reasons)
    for k in np.flatnonzero((status == Status.RUNNING) & ~(watch.residual <= JAMMED)):
        status[k] = Status.UNSOLVED
        words[k] = (
            "went over a step whose contacts and joint stops were not solved together: the impulses found "
            f"for it still changed velocities by {watch.residual[k]:.3g} m/s or rad/s; take shorter steps, more "
            "iterations, or a start above the ground and within the stops"
        )
    return status, tuple(words)


def _crowded(watch: Watch, status: Array, reasons: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    """Status and reasons of rows, with what is to be said of those that had more contacts than slots for them."""
    words = list(reasons)
    for k in np.flatnonzero((status == Status.RUNNING) & (watch.missed > 0)):
        status[k] = Status.CROWDED
        words[k] = (
            f"had more contacts than there are slots for, by up to {watch.missed[k]:.0f} in a step, and the nearest of "
            "them counted; give Collisions(contacts=..., pairs=...) more"
        )
    return status, tuple(words)
