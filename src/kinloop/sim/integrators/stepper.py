"""The step as one function of numbers or symbols: what is traced into a kernel.

A row carries its state (q, v), the `status` it is in and the smallest `volume` of its loops so far. A row
whose status is not `RUNNING` stays as it is, whatever the others do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.clusters.closing import close_dependents
from kinloop.sim.actuation import Drive
from kinloop.sim.charts.gauge import Gauge
from kinloop.sim.integrators.flight import halfway, runge_kutta_steps, spanning, turned
from kinloop.spatial.transform import Array

RUNNING, CHART, OPEN, DIVERGED = 1.0, 2.0, 3.0, 4.0
"""Status of a row: on its way; stopped before a step that its chart would spoil; stopped before a step that
did not close its loops; stopped before a step that led to infinity."""

OPENING = 1e-7
"""The last Newton correction a closed step may have [m, rad]: the next would be its square."""

REACH = 4.0
"""A chart is left when swapping two coordinates would make it four times better; a new one starts at 1 or below."""

VOLUME = 0.1
"""A row looks out for singular configurations where its volume has fallen to this part of the typical one."""

BEGINNING = (RUNNING, 0.0, 1.0, REACH, VOLUME)
"""What is watched of a row that begins."""

MAX_SPEED = 1e7
"""What is faster [1/s] has diverged."""


@dataclass(frozen=True)
class Stepper:
    """What one kernel computes: a tree in its charts, its drive, the step length and the method."""

    tree: ClusterTree  # with the inertia of implicit forces where the method takes them so
    plain: ClusterTree
    drive: Drive
    gauge: Gauge
    dt: float
    method: str
    contact: Any = None
    substeps: int = 1  # of rk4

    def inputs(self) -> dict[str, int]:
        top, controls = self.tree.top, len(self.drive.motors)
        state = {"q": top.nq, "v": self.tree.nv, "qd": top.n_spanning, "watch": 5, "memory": self.memory}
        return {**state, "u": controls, "until": 1}

    @property
    def memory(self) -> int:
        """What a step passes on to the next besides the state: its smooth acceleration and its impulses."""
        return memory_size(self.tree, self.contact, self.method)

    def __call__(
        self, q: Array, v: Array, qd: Array, watch: Array, memory: Array, u: Array, until: Array
    ) -> dict[str, Any]:
        """One step of one row.

        `watch` is (status, steps taken, smallest volume seen, largest reach and smallest volume allowed),
        `until` the steps to take in all; `qd` is where the spanning velocity was heading when q was reached, `memory`
        the smooth acceleration and the impulses of the last step: first guesses for this one.
        """
        step = self._rk4 if self.method == "rk4" else self._semi_implicit
        moved = step(q, v, qd, memory, u)
        reach, volume = self.gauge(moved.pop("where"))
        fits = sc.logical_and(reach <= watch[3], watch[4] <= volume)
        closed = moved.pop("correction") <= OPENING
        sane = _sane([*moved["q_next"], *moved["v_next"]])
        code = sc.where(fits, sc.where(sane, sc.where(closed, RUNNING, OPEN), DIVERGED), CHART)
        running = sc.logical_and(_equal(watch[0], RUNNING), watch[1] < until[0])
        status = sc.where(running, code, watch[0])
        go = sc.logical_and(running, _equal(status, RUNNING))
        for name, old in (("q_next", q), ("v_next", v), ("qd_next", qd), ("memory_next", memory)):
            moved[name] = _choose(go, moved[name], old)
        lowest = sc.where(sc.logical_and(running, volume < watch[2]), volume, watch[2])
        # bounds that were widened to let a row go on return once it is in good configurations
        allowed = [sc.where(reach < REACH, REACH, watch[3]), sc.where(volume > VOLUME, VOLUME, watch[4])]
        moved["watch_next"] = np.array([status, sc.where(go, watch[1] + 1.0, watch[1]), lowest, *allowed])
        moved |= {"q_seen": moved["q_next"], "v_seen": moved["v_next"]}  # fed back above, recorded here
        return {k: np.asarray(x) for k, x in moved.items()}

    def _semi_implicit(self, q: Array, v: Array, qd: Array, memory: Array, u: Array) -> dict[str, Any]:
        h, tree, top = self.dt, self.tree, self.tree.top
        middle, _ = close_dependents(tree, top.integrate(q, self._half(v, qd)), 1)
        bodies = self.contact.bodies if self.contact else ()
        here = turned(tree, v, 0.5 * h)
        s, v_free = halfway(tree, self.drive, middle, here, memory[: tree.nv], u, h, bodies)
        grown = (1.0 / h) * (v_free - here)
        if self.contact:
            hit = self.contact(tree, s, middle, here, v_free, memory[tree.nv :], h)
            v_next, travel, extra = hit.v, hit.travel, hit.records
        else:
            v_next = turned(tree, v_free, 0.5 * h)
            travel, extra = 0.5 * h * v_next, {}
        memory = np.concatenate([grown, *([hit.impulses] if self.contact else [])])
        # dependents to second order, so that two rounds of Newton close them to rounding
        shift = spanning(tree, s.kin, travel) + (0.125 * h * h) * s.g
        q_next, correction = close_dependents(tree, top.integrate(middle, shift))
        qd_next = spanning(tree, s.kin, v_next) + (0.5 * h) * s.g
        return {
            "q_next": q_next, "v_next": v_next, "qd_next": qd_next, "correction": correction, "where": middle,
            "memory_next": memory, **extra,
        }  # fmt: skip

    def _half(self, v: Array, qd: Array) -> Array:
        """Half a step: independents with v exactly, dependents as they were heading."""
        shift = np.array(qd, dtype=np.result_type(qd, v))
        for c in self.tree:
            for a, i in enumerate(c.chart.independent):
                shift[c.dofs[i]] = v[c.v.start + a]
        return 0.5 * self.dt * shift

    def _rk4(self, q: Array, v: Array, qd: Array, memory: Array, u: Array) -> dict[str, Any]:
        _, qd, _ = self.plain.spanning_motion(q, v)
        q1, qd1, correction = runge_kutta_steps(self.plain, self.drive, q, qd, u, self.dt, self.substeps)
        return {
            "q_next": q1, "v_next": qd1[self.plain.independent_dofs], "qd_next": qd1, "correction": correction,
            "where": q, "memory_next": memory,
        }  # fmt: skip


def memory_size(tree: ClusterTree, contact: Any, method: str) -> int:
    if method == "rk4":
        return 0
    return tree.nv + (contact.size if contact else 0)


def _equal(a: Any, b: float) -> Any:
    return sc.logical_and(a <= b, b <= a)


def _sane(values: list[Any]) -> Any:
    ok: Any = True
    for x in values:
        ok = sc.logical_and(ok, sc.abs(x) < MAX_SPEED)
    return ok


def _choose(go: Any, new: Array, old: Array) -> Array:
    dtype = object if sc.is_symbolic(go, new, old) else float
    return np.array([sc.where(go, a, b) for a, b in zip(new, old, strict=True)], dtype=dtype)
