"""Rollouts as a task: where they start and what their motors are told are the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop.compiler.keys import parts_digest
from kinloop.errors import KinloopError, MethodError, unknown
from kinloop.inputs import checked
from kinloop.scalar import Array
from kinloop.sim import Rollout, Simulator

NOT_BEGUN = 0
"""The status of a rollout that has no beginning: its loops cannot be closed, or it would begin at a singularity."""


class _Start(NamedTuple):
    """Where a rollout begins, under which controls, with which open numbers; why it cannot, if so."""

    q: Array
    v: Array
    u: Array
    numbers: dict[str, Array]
    why: str = ""


@dataclass(frozen=True)
class RolloutTask:
    """Rollouts of a simulator over `steps` steps, all from q0, v0 and under held controls but for a point's parameters.

    Parameters are "q.knee" (a position, by its name in `robot.position_names`; loops are closed after all of them are
    set), "v.knee" (`robot.independent_names`), "u.knee" (`simulator.control_names`), and what the simulator leaves
    open, "trunk.mass" or "ground.friction" with `Simulator(..., open=[...])`. `push` is the standard deviation of
    random velocities [rad/s, m/s] on top. A point gives the last values of what `record` names, the `status`, the
    `reason` in words where it is not well, when it `stopped`, and `peaks`. Rows of a batch do not influence each
    other, so that many points are one native call in every process.
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
        parts = (tuple(map(str, sim.maker)), sim.dt, contact, self._open, self.steps, self.record, self.push)
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
        starts = self._regular([self._begin(p, rng) for p, rng in zip(points, generators, strict=True)])
        good = [k for k, start in enumerate(starts) if not start.why]
        runs = self._run([starts[k] for k in good])
        blank = next(iter(runs), None) or self._blank()
        out = [{**_nothing(blank), "status": NOT_BEGUN, "reason": start.why} for start in starts]
        for k, found in zip(good, runs, strict=True):
            out[k] = found
        return out

    def _begin(self, point: dict[str, Any], rng: np.random.Generator) -> _Start:
        """Where a point begins, under which controls; why it cannot, in words."""
        robot, (q, v, u) = self.simulator.robot, (x.copy() for x in self._start)
        vectors, moved, numbers = {"q": q, "v": v, "u": u}, False, dict[str, Array]()
        for name, value in point.items():
            if name in self._open:
                numbers[name] = np.atleast_1d(np.asarray(value, dtype=float))
                continue
            if name not in self._places:
                raise unknown("parameter of a rollout", name, [*self._places, *self._open])
            kind, k = self._places[name]
            vectors[kind][k], moved = value, moved or kind == "q"
        v += self.push * rng.normal(size=len(v)) if self.push else 0.0
        try:
            return _Start(robot.close(q) if moved else q, v, u, numbers)
        except KinloopError as error:
            return _Start(q, v, u, numbers, str(error))

    def _regular(self, starts: list[_Start]) -> list[_Start]:
        """The same, where those that a simulator does not take say why."""
        closed = [s for s in starts if not s.why]
        try:
            if closed:
                self.simulator.state(np.array([s.q for s in closed]), np.array([s.v for s in closed]))
            return starts
        except KinloopError:
            return [s if s.why else self._judged(s) for s in starts]

    def _judged(self, start: _Start) -> _Start:
        try:
            self.simulator.state(start.q, start.v)
            return start
        except KinloopError as error:
            return start._replace(why=str(error))

    @cached_property
    def _places(self) -> dict[str, tuple[str, int]]:
        """Which entry of which vector a parameter is."""
        robot = self.simulator.robot
        names = {"q": robot.position_names, "v": robot.independent_names, "u": self.simulator.control_names}
        return {f"{kind}.{name}": (kind, k) for kind, some in names.items() for k, name in enumerate(some)}

    @property
    def _open(self) -> tuple[str, ...]:
        """Numbers that the simulator leaves open."""
        return self.simulator.engine.system.open.names

    def _run(self, starts: list[_Start]) -> list[dict[str, Any]]:
        if not starts:
            return []
        q, v, u = (np.array(x) for x in ([s.q for s in starts], [s.v for s in starts], [s.u for s in starts]))
        numbers = {name: np.array([s.numbers[name] for s in starts]) for name in starts[0].numbers}
        run = self.simulator.rollout(
            q, v, u[:, None], steps=self.steps, record=self.record, every=self.steps, threads=1, numbers=numbers or None
        )  # fmt: skip
        return [_told(run, k) for k in range(len(starts))]

    def _blank(self) -> dict[str, Any]:
        """What a rollout gives, where none could begin: one from the neutral configuration at rest."""
        q, v, u = self.simulator.robot.neutral(), np.zeros(self.simulator.robot.nv), np.zeros(self.simulator.nu)
        return self._run([_Start(q, v, u, {})])[0]


def _told(run: Rollout, row: int) -> dict[str, Any]:
    """What a row of a rollout gives."""
    last = {name: x[row, -1] for name, x in run.records.items()}
    peaks = {f"peak_{name}": x[row] for name, x in run.peaks.items()}
    flags = {"status": int(run.status[row]), "reason": run.reasons[row], "stopped": float(run.stopped[row])}
    return {**last, **flags, **peaks}


def _nothing(found: dict[str, Any]) -> dict[str, Any]:
    """The same names and shapes without numbers."""
    return {n: "" if isinstance(x, str) else np.full(np.shape(x), np.nan) for n, x in found.items()}
