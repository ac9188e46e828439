"""One step of one batch row, as the function of numbers or symbols that is traced into a kernel.

The integrator moves the row; the gauge says whether the row's charts bear the step; the watch says whether the row
takes it. A batch row whose status is not `Status.RUNNING` stays as it is, whatever the other batch rows do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive
from kinloop.sim.charts.gauge import Gauge
from kinloop.sim.charts.thresholds import REACH_LIMIT, VOLUME_LIMIT
from kinloop.sim.contact.impact import Contact
from kinloop.sim.status import Status
from kinloop.sim.watch import Watch

OPENING = 1e-7
"""The last Newton correction a closed step may have [m, rad]: the next would be its square."""

MAX_SPEED = 1e7
"""Positions and velocities beyond this [m, rad, m/s, rad/s] have diverged."""


@dataclass(frozen=True)
class System:
    """What is simulated: a cluster tree in its charts, what drives and what stops it, and the step length [s]."""

    tree: ClusterTree
    drive: Drive
    contact: Contact | None
    dt: float


class StepState(NamedTuple):
    """What one step passes to the next: numbers or symbols of one row, or arrays with a line per batch row.

    `v` are the independent velocities in the charts in force. `qd` is where the spanning velocity was heading when q
    was reached, and `memory` what the integrator remembers of its last step: both are first guesses only. `watch` is
    a `Watch` as a vector.
    """

    q: Array
    v: Array
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

    `correction` is the size of the last Newton correction of the loops [m, rad], `gauged_at` the configuration at
    which the charts are judged, `records` what else can be recorded of the step.
    """

    q: Array
    v: Array
    qd: Array
    memory: Array
    correction: Any
    gauged_at: Array
    records: dict[str, Any]


@runtime_checkable
class StepMethod(Protocol):
    """A way to step on by dt: what `Stepper` needs of an integrator."""

    def prepared(self, system: System) -> System:
        """The system whose inertia the step uses: forces that are taken implicitly add to it."""

    def memory_size(self, system: System) -> int:
        """How many numbers a step hands to the next as first guesses."""

    def step(self, system: System, q: Array, v: Array, qd: Array, memory: Array, u: Array) -> Moved:
        """One step of a prepared system under the controls u."""


class Stepper:
    """The step of a system by a method, judged by a gauge: a call takes and gives what the step kernel does."""

    def __init__(self, system: System, method: StepMethod, gauge: Gauge) -> None:
        self.system, self.method, self.gauge = method.prepared(system), method, gauge

    def inputs(self) -> dict[str, int]:
        """Sizes of the kernel's inputs: those of a `StepState`, the controls, and the steps to take in all."""
        tree = self.system.tree
        sizes = (tree.top.nq, tree.nv, tree.top.n_spanning, len(Watch._fields), self.method.memory_size(self.system))
        state = dict(zip(StepState._fields, sizes, strict=True))
        return {**state, "u": len(self.system.drive.motors), "until": 1}

    def __call__(
        self, q: Array, v: Array, qd: Array, watch: Array, memory: Array, u: Array, until: Array
    ) -> dict[str, Array]:
        """One step of one row, taken if the row runs, its charts and loops bear it, and `until` is not reached."""
        moved, before = self.method.step(self.system, q, v, qd, memory, u), Watch.of(watch)
        reach, volume = self.gauge(moved.gauged_at)
        fits = sc.logical_and(reach <= before.reach_limit, before.volume_limit <= volume)
        closed = moved.correction <= OPENING
        sane = _within([*moved.q, *moved.v], MAX_SPEED)
        verdict = sc.where(
            fits, sc.where(sane, sc.where(closed, _RUNNING, float(Status.OPEN)), float(Status.DIVERGED)),
            float(Status.CHART),
        )  # fmt: skip
        running = sc.logical_and(_equal(before.status, _RUNNING), before.steps < until[0])
        status = sc.where(running, verdict, before.status)
        go = sc.logical_and(running, _equal(status, _RUNNING))
        lines = ((moved.q, q), (moved.v, v), (moved.qd, qd), (moved.memory, memory))
        q_next, v_next, qd_next, memory_next = (_choose(go, new, old) for new, old in lines)
        lowest = sc.where(sc.logical_and(running, volume < before.lowest_volume), volume, before.lowest_volume)
        # limits that were widened to let a row go on return once it is in good configurations
        limits = (
            sc.where(reach < REACH_LIMIT, REACH_LIMIT, before.reach_limit),
            sc.where(volume > VOLUME_LIMIT, VOLUME_LIMIT, before.volume_limit),
        )
        after = Watch(status, sc.where(go, before.steps + 1.0, before.steps), lowest, *limits)
        out = {"q_next": q_next, "v_next": v_next, "qd_next": qd_next, "memory_next": memory_next, **moved.records}
        # q and v under two names: one is fed back into the next step, the other recorded
        out |= {"watch_next": after.vector(), "q_seen": q_next, "v_seen": v_next}
        return {name: np.asarray(x) for name, x in out.items()}


_RUNNING = float(Status.RUNNING)


def _equal(a: Any, b: float) -> Any:
    return sc.logical_and(a <= b, b <= a)


def _within(values: list[Any], bound: float) -> Any:
    ok: Any = True
    for x in values:
        ok = sc.logical_and(ok, sc.abs(x) < bound)
    return ok


def _choose(go: Any, new: Array, old: Array) -> Array:
    dtype = object if sc.is_symbolic(go, new, old) else float
    return np.array([sc.where(go, a, b) for a, b in zip(new, old, strict=True)], dtype=dtype)
