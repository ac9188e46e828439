"""Rollouts as a task: where they start and what their motors are told are the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinloop.compiler.keys import parts_digest
from kinloop.errors import KinloopError, MethodError, unknown
from kinloop.inputs import checked
from kinloop.scalar import Array
from kinloop.sim import Rollout, Simulator

NOT_BEGUN = 0
"""The status of a rollout that has no beginning: its loops cannot be closed, or it would begin at a singularity."""


@dataclass(frozen=True)
class RolloutTask:
    """Rollouts of a simulator over `steps` steps, all from q0, v0 and under held controls but for a point's parameters.

    Parameters are "q.knee" (a position, by its name in `robot.position_names`; loops are closed after all of them are
    set), "v.knee" (`robot.independent_names`) and "u.knee" (`simulator.control_names`). `push` is the standard
    deviation of random velocities [rad/s, m/s] on top. A point gives the last values of what `record` names, the
    `status`, the `reason` in words where it is not well, when it `stopped`, and `peaks`. Rows of a batch do not
    influence each other, so that many points are one native call in every process.
    """

    simulator: Simulator
    steps: int
    q0: Any = None
    v0: Any = None
    controls: Any = None
    record: tuple[str, ...] = ("q", "v")
    push: float = 0.0

    @cached_property
    def identity(self) -> str:
        """What tells this task from others."""
        sim = self.simulator
        contact = sim.contact.key if sim.contact else ()
        parts = (tuple(map(str, sim.maker)), sim.dt, contact, self.steps, self.record, self.push)
        return parts_digest(("rollouts", *parts, *(x.tolist() for x in self._start)))

    @cached_property
    def _start(self) -> tuple[Array, Array, Array]:
        """q, v and controls that no parameter changes."""
        sim = self.simulator
        given = (self.q0, sim.robot.neutral()), (self.v0, np.zeros(sim.robot.nv)), (self.controls, np.zeros(sim.nu))
        names = ("q0", "v0", "controls")
        q, v, u = (checked(n, d if x is None else x, len(d)) for n, (x, d) in zip(names, given, strict=True))
        for n, x in zip(names, (q, v, u), strict=True):
            if x.ndim != 1:
                raise MethodError(f"{n} of a rollout task is one vector for all points, received {x.shape}")
        return q, v, u

    def batch(
        self, points: Sequence[dict[str, Any]], generators: Sequence[np.random.Generator]
    ) -> list[dict[str, Any]]:
        """The rollouts of many points."""
        starts = [self._begin(p, rng) for p, rng in zip(points, generators, strict=True)]
        good = [k for k, (_, _, _, why) in enumerate(starts) if not why]
        runs = self._run([starts[k] for k in good])
        blank = next(iter(runs), None) or self._blank()
        out = [{**_nothing(blank), "status": NOT_BEGUN, "reason": why} for _, _, _, why in starts]
        for k, found in zip(good, runs, strict=True):
            out[k] = found
        return out

    def _begin(self, point: dict[str, Any], rng: np.random.Generator) -> tuple[Array, Array, Array, str]:
        """Where a point begins, under which controls; why it cannot, in words."""
        robot, (q, v, u) = self.simulator.robot, (x.copy() for x in self._start)
        names = {"q": robot.position_names, "v": robot.independent_names, "u": self.simulator.control_names}
        places = {f"{kind}.{name}": (kind, k) for kind, some in names.items() for k, name in enumerate(some)}
        vectors, moved = {"q": q, "v": v, "u": u}, False
        for name, value in point.items():
            if name not in places:
                raise unknown("parameter of a rollout", name, places)
            kind, k = places[name]
            vectors[kind][k], moved = value, moved or kind == "q"
        v += self.push * rng.normal(size=len(v)) if self.push else 0.0
        try:
            q = robot.close(q) if moved else q
            self.simulator.state(q, v)
        except KinloopError as error:
            return q, v, u, str(error)
        return q, v, u, ""

    def _run(self, starts: list[tuple[Array, Array, Array, str]]) -> list[dict[str, Any]]:
        if not starts:
            return []
        q, v, u = (np.array([s[k] for s in starts]) for k in range(3))
        run = self.simulator.rollout(
            q, v, u[:, None], steps=self.steps, record=self.record, every=self.steps, threads=1
        )  # fmt: skip
        return [_told(run, k) for k in range(len(starts))]

    def _blank(self) -> dict[str, Any]:
        """What a rollout gives, where none could begin: one from the neutral configuration at rest."""
        q, v, u = self.simulator.robot.neutral(), np.zeros(self.simulator.robot.nv), np.zeros(self.simulator.nu)
        return self._run([(q, v, u, "")])[0]


def _told(run: Rollout, row: int) -> dict[str, Any]:
    """What a row of a rollout gives."""
    last = {name: x[row, -1] for name, x in run.records.items()}
    peaks = {f"peak_{name}": x[row] for name, x in run.peaks.items()}
    flags = {"status": int(run.status[row]), "reason": run.reasons[row], "stopped": float(run.stopped[row])}
    return {**last, **flags, **peaks}


def _nothing(found: dict[str, Any]) -> dict[str, Any]:
    """The same names and shapes without numbers."""
    return {n: "" if isinstance(x, str) else np.full(np.shape(x), np.nan) for n, x in found.items()}
