"""One step of one batch row, as the function of numbers or symbols that is traced into a kernel.

The integrator moves the row, and the step is judged: whether the loops closed, whether joints turned too far for the
method to follow, whether all numbers stayed within bounds. A row whose step fails stays where it is and waits for
shorter steps; the other batch rows never notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.clusters.tangent_frame import plain
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive
from kinloop.sim.contact.impact import Contact
from kinloop.sim.contact.pair_contact import PairContact
from kinloop.sim.energy_monitor import booked, energies
from kinloop.sim.file_motors import FileMotor
from kinloop.sim.on_loops import drivers
from kinloop.sim.open_numbers import NONE, OpenNumbers, Parts
from kinloop.sim.outside import NOTHING, Outside
from kinloop.sim.singularity import passes
from kinloop.sim.status import Fault, Status
from kinloop.sim.watch import Watch

OPENING = 1e-7
"""The last Newton correction a closed step may have [m, rad]: the next would be its square."""

LARGEST_TURN = 0.1
"""Joints may turn by this much in a step [rad]; faster ones get shorter steps."""

MAX_SPEED = 1e7
"""Positions and velocities beyond this [m, rad, m/s, rad/s], all together, have diverged."""


PART = 1e-9
"""What may be missing of a step that was taken in parts, relatively: rounding of their lengths."""


@dataclass(frozen=True)
class System:
    """What is simulated: a cluster tree in tangent frames, what drives and what stops it, and forces of users.

    `sensed` names what steps give for sensors (`sensors.OF_STEPS`), `open` the numbers that every row has its own of,
    `numbers` are those of the row at hand, or symbols for them.
    """

    tree: ClusterTree
    drive: Drive
    contact: Contact | None
    outside: Outside = NOTHING
    sensed: tuple[str, ...] = ()
    open: OpenNumbers = NONE
    numbers: tuple[Any, ...] = ()

    @cached_property
    def nu(self) -> int:
        """Number of controls: those of motors, then those of users' forces."""
        return len(self.drive.motors) + len(self.outside.inputs)

    @cached_property
    def clock(self) -> dict[str, int]:
        """What kernels are told of the time, an input of theirs and its size: nothing where no force depends on it."""
        return {"clock": 1} if self.outside.is_timed else {}

    @cached_property
    def searched(self) -> dict[str, int]:
        """What steps are told of contacts that are searched for between them: nothing where all have a formula."""
        return self.contact.inputs if isinstance(self.contact, PairContact) else {}

    def at(self, *clock: Array, since: Any = 0.0) -> System:
        """The system so many seconds after the time that a clock (1,) says, if there is one."""
        return replace(self, outside=self.outside.at(clock[0][0] + since)) if clock else self

    def with_numbers(self, *numbers: Array) -> System:
        """The system with the open numbers of a row, if there are any."""
        if not numbers:
            return self
        tree, drive, contact = self.open.put(Parts(self.tree, self.drive, self.contact), numbers[0])
        return replace(self, tree=tree, drive=drive, contact=contact, numbers=tuple(numbers[0]))

    def touching(self, *searched: Array) -> System:
        """The system with contacts that a search found, if there is one."""
        if not searched or not isinstance(self.contact, PairContact):
            return self
        return replace(self, contact=self.contact.told(*searched))

    @cached_property
    def bends(self) -> bool:
        """Whether some loop bends: its rows change with the configuration."""
        return any(c.bends for c in self.tree)

    @cached_property
    def drivers(self) -> list[int]:
        """`on_loops.drivers` of the tree."""
        return drivers(self.tree)

    @cached_property
    def is_smooth(self) -> bool:
        """Whether forces are smooth where nothing touches: no springs, dampers, servos, and no dry friction."""
        return self.drive.is_smooth and not self.outside.springs and not (self.contact and self.contact.rubs)

    def loop_error(self, q: Array) -> Any:
        """How far the loop or coupling that is open most is open at q [m, rad]."""
        top = self.tree.top
        return sc.largest([x for closure in top.mechanism.closures for x in closure.rows(top, q).phi])

    @property
    def turning(self) -> list[int]:
        """Spanning velocities of joints whose angle matters: [rad/s]."""
        top = self.tree.top
        return [
            d
            for i, t in enumerate(top.types)
            if not top.spins_unseen[i]
            for d, slides in zip(range(top.v_of[i].start, top.v_of[i].stop), t.slides(), strict=True)
            if not slides
        ]


class StepState(NamedTuple):
    """What one step passes to the next: numbers or symbols of one row, or arrays with a line per batch row.

    `watch` is a `Watch` as a vector, `memory` what the integrator remembers of its last steps.
    """

    q: Array
    qd: Array
    watch: Array
    memory: Array

    def at(self, k: Array) -> StepState:
        """The states of batch rows k."""
        return StepState(*(x[k] for x in self))

    def put(self, k: Array, other: StepState) -> None:
        """Overwrite the states of batch rows k."""
        for mine, new in zip(self, other, strict=True):
            mine[k] = new


class Moved(NamedTuple):
    """Where an integrator's step leads: the next state, and what is needed to judge the step.

    `correction` is the size of the last Newton correction of the loops [m, rad], `nearness` that of the configurations
    the step was computed at (`singularity`), `work` what motors, springs and damping did [J], `records` what else can
    be recorded, `flying` whether nothing touched, `waits` whether contacts have to be searched for before the step,
    `pushed` what motors, springs, damping, stops and dry friction did to the spanning coordinates: mean forces.
    """

    q: Array
    qd: Array
    memory: Array
    correction: Any
    nearness: Any
    work: Any
    records: dict[str, Any]
    flying: Any = True
    waits: Any = False
    pushed: Array | None = None


@runtime_checkable
class StepMethod(Protocol):
    """A way to step on by h: what `Stepper` needs of an integrator."""

    def memory_size(self, system: System) -> int:
        """How many numbers a step hands to the next."""

    def respaced(self, system: System, memory: Array, h: float) -> Array:
        """What batch rows remember (B, n), for steps of length h from now on."""

    def has_start(self, system: System) -> bool:
        """Whether there is a `starting_memory`; else rows begin with zeros."""

    def starting_memory(self, system: System, q: Array, qd: Array, u: Array, h: Any) -> tuple[Array, Any]:
        """What a row remembers that begins at (q, qd), and whether that is lost to rounding."""

    def step(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any) -> Moved:
        """One step of length h under the controls u."""


class HasMemory(Protocol):
    """Whoever remembers something from step to step."""

    def memory_size(self, system: System) -> int:
        """How many numbers it remembers."""


class Stepper:
    """The step of a system by a method: a call takes and gives what the step kernel does.

    `monitor` says whether energy and loop errors are watched in every step.
    """

    def __init__(self, system: System, method: StepMethod, monitor: bool = False) -> None:
        self.system, self.method, self.monitor = system, method, monitor

    def inputs(self) -> dict[str, int]:
        """Sizes of the kernel's inputs: those of a `StepState`, the controls, the number of steps, their length.

        Where time matters there is also a `clock`: the time when no step was taken. `numbers` are the row's open
        numbers, `searched` contacts found before the step.
        """
        top = self.system.tree.top
        sizes = (top.nq, top.n_spanning, len(Watch._fields), memory_size(self.system, self.method))
        state = dict(zip(StepState._fields, sizes, strict=True))
        more = self.system.clock | self.system.open.inputs | self.system.searched
        return {**state, "u": self.system.nu, "until": 1, "h": 1, **more}

    def __call__(
        self, q: Array, qd: Array, watch: Array, memory: Array, u: Array, until: Array, h: Array, *more: Array
    ) -> dict[str, Array]:
        """One step of one row, taken if the row runs, the step is good, and `until` is not reached."""
        before, timed = Watch.of(watch), len(self.system.clock)
        told = timed + len(self.system.open.inputs)
        system = self.system.at(*more[:timed], since=before.steps * h[0])
        system = system.with_numbers(*more[timed:told]).touching(*more[told:])
        moved = self._moved(system, q, qd, memory, u, h[0])
        fastest = sc.largest([moved.qd[d] for d in self.system.turning])
        slow, within = h[0] * fastest <= LARGEST_TURN, sc.squared([*moved.q, *moved.qd]) < MAX_SPEED**2
        good = sc.logical_and(sc.logical_and(moved.correction <= OPENING, slow), within)
        running = sc.logical_and(_equal(before.status, _RUNNING), before.steps < until[0])
        running = sc.logical_and(running, sc.logical_not(moved.waits))
        go = sc.logical_and(running, good)
        refused = sc.logical_and(running, sc.logical_not(good))
        status = sc.where(refused, float(Status.TOO_LONG), before.status)
        lines = ((moved.q, q), (moved.qd, qd), (moved.memory, memory))
        q_next, qd_next, memory_next = (_choose(go, new, old) for new, old in lines)
        near = moved.nearness
        crossed = passes(before.before_last, before.last, near)
        new = before._replace(
            status=status, steps=before.steps + 1.0, nearest=sc.minimum(before.nearest, near),
            passed=sc.where(crossed, 1.0, before.passed), last=near, before_last=before.last,
            **_peaks(before, moved, fastest),
        )  # fmt: skip
        if self.monitor:
            error = sc.maximum(before.loop_error, system.loop_error(moved.q))
            found = energies(system.tree, system.outside, moved.q, moved.qd)
            new = new._replace(loop_error=error, **booked(before, *found, moved.work, moved.flying))
        after = Watch.of(_choose(go, new.vector(), watch))
        after = after._replace(status=status, fault=sc.where(refused, _fault(moved, slow, within), before.fault))
        out = {"q_next": q_next, "qd_next": qd_next, "memory_next": memory_next, **moved.records}
        # q and qd under two names: one is fed back into the next step, the other recorded
        out |= {"watch_next": after.vector(), "q_seen": q_next, "qd_seen": qd_next, "status_seen": [status]}
        return {name: np.asarray(x) for name, x in out.items()}

    def _moved(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any) -> Moved:
        """The method's step; motors with an activation are told that of the middle of the step."""
        if not system.drive.states:
            return self._sensed(self.method.step(system, q, qd, memory, u, h), qd, u, h)
        own, told, after = activated(system.drive, memory, u, h)
        moved = self.method.step(system, q, qd, own, plain(told), h)
        return self._sensed(moved._replace(memory=np.array([*moved.memory, *after])), qd, told, h)

    def _sensed(self, moved: Moved, qd: Array, u: Array, h: Any) -> Moved:
        """A step with what sensors need of it: mean accelerations and forces of all joints, what motors were told."""
        touching = np.ravel(np.asarray(moved.records.get("touching", ())))
        given = {"acceleration": (moved.qd - qd) / h, "told": u, "touching": touching, "pushed": moved.pushed}
        found = {name: x for name, x in moved.records.items() if name not in ("touching", "waits")}
        waits = moved.records.get("waits", False)
        return moved._replace(waits=waits, records=found | {name: given[name] for name in self.system.sensed})


def activated(drive: Drive, memory: Array, u: Array, h: Any) -> tuple[Array, Array, list[Any]]:
    """What the method remembers, what motors are told in the middle of a step, and activations at its end."""
    count = len(drive.states)
    if not count:
        return memory, u, []
    told, after, own = u.astype(object), list[Any](), list(memory[-count:])
    for k in dict.fromkeys(drive.states):
        motor = drive.motors[k]
        if isinstance(motor, FileMotor):
            x = own.pop(0)
            told[k], end = (motor.activation(x, u[k], t) for t in (0.5 * h, h))
            after.append(end)
        else:
            held, own = own[: drive.delays[k] + 1], own[drive.delays[k] + 1 :]
            told[k] = held[0]
            after += delayed(held, u[k], h, drive.dt)
    return memory[:-count], told, after


def delayed(held: Sequence[Any], u: Any, h: Any, dt: float) -> list[Any]:
    """What a motor remembers of what it was told, and the time since the last of it began, after h [s] more under u.

    A step of length dt may be taken in parts: it moves on when all of them are taken.
    """
    *register, since = held
    over = since + h >= dt * (1.0 - PART)
    moved = [*register[1:], u, 0.0]
    return [sc.where(over, new, old) for new, old in zip(moved, [*register, since + h], strict=True)]


def memory_size(system: System, method: HasMemory) -> int:
    """How many numbers a step hands to the next: those of the method, then the activations of motors."""
    return method.memory_size(system) + len(system.drive.states)


_RUNNING = float(Status.RUNNING)


def _peaks(before: Watch, moved: Moved, fastest: Any) -> dict[str, Any]:
    """What is largest so far (`watch.PEAKS`) after a step in which joints turned at `fastest`."""
    seen, found = moved.records, {"turning": sc.maximum(before.turning, fastest)}
    if "pressing" in seen:
        *force, deepest = seen["pressing"]
        found["contact_force"] = sc.maximum(before.contact_force, sc.sqrt(sc.squared(force)))
        found["penetration"] = sc.maximum(before.penetration, deepest)
    elif len(seen.get("contact_force", ())):
        force = np.sum(seen["contact_force"], axis=0)
        found["contact_force"] = sc.maximum(before.contact_force, sc.sqrt(force @ force))
        for gap in seen["gap"]:
            found["penetration"] = sc.maximum(found.get("penetration", before.penetration), -gap)
    for name in ("residual", "iterations", "missed"):
        if name in seen:
            found[name] = sc.maximum(getattr(before, name), seen[name][0])
    return found


def _fault(moved: Moved, slow: Any, within: Any) -> Any:
    """Why a step is refused, if it is: the `Fault` that says most."""
    out = sc.where(moved.correction < np.inf, float(Fault.OPEN), float(Fault.ROUGH))
    return sc.where(within, sc.where(slow, out, float(Fault.FAST)), float(Fault.BEYOND))


def _equal(a: Any, b: float) -> Any:
    return sc.logical_and(a <= b, b <= a)


def _choose(go: Any, new: Array, old: Array) -> Array:
    dtype = object if sc.is_symbolic(go, new, old) else float
    return np.array([sc.usually(sc.where(go, a, b)) for a, b in zip(new, old, strict=True)], dtype=dtype)
