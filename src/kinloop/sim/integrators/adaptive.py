"""The accurate integrator: Dormand and Prince's pair of orders 5 and 4 with step control and dense output.

It integrates x = (q, qd), positions and velocities of all joints, by (1) of `smooth_motion`; what is recorded between
steps comes from the pair's own interpolant of order 4, closed afterwards. Batch rows go one by one, each with its own
steps. Near singular configurations rounding makes errors that no shorter step avoids, `singularity` (2): they
are allowed besides the tolerance, up to a part of 1e-9 of the velocity. (Dormand and Prince 1980; Hairer, Norsett,
Wanner 1993, II.4 to II.6.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from kinloop.clusters.closing import TOLERANCE
from kinloop.scalar import Array
from kinloop.sim.batch import Batch
from kinloop.sim.controls import ControlFunction, ask
from kinloop.sim.energy_monitor import booked
from kinloop.sim.engine import Engine
from kinloop.sim.integrators.integrator import IntegratorOptions, Progress
from kinloop.sim.reasons import Stop
from kinloop.sim.recorder import Recorder
from kinloop.sim.singularity import MOST_LOST, is_blind, lost_part, passes
from kinloop.sim.smooth_motion import working_forces
from kinloop.sim.status import Fault, Status
from kinloop.sim.stepper import MAX_SPEED, System
from kinloop.sim.watch import Watch

A = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""Stages of the pair; the last one is the step of order 5."""

E = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
"""Difference of the steps of orders 5 and 4."""

D = (
    -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
    701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
)  # fmt: skip
"""The part of the interpolant of order 4 beyond a cubic."""

SHORTEST = 1e-12
"""A row whose step falls below this [s] stops."""

CRAWLING = 1e-6
"""A row whose steps fall below this part of dt because it comes near a singular configuration stops before it."""

ROUNDING = 1e-13
"""Times nearer than this [s] are the same."""

SAFETY, ORDER = 0.9, 5
"""The next step is SAFETY / error^(1/ORDER) times as long: the error of a step grows with its length to this power."""

MOST_SHRUNK, MOST_GROWN, AFTER_NAN = 0.2, 5.0, 0.1
"""Factors by which a step becomes shorter at most, longer at most, and shorter where its error is not a number."""

ELSEWHERE = 12
"""How often a step that meets a singular configuration is tried with another length."""

LOOP_ERROR = 2
"""The place of the loop error in what `Engine.projection` says of a state."""

TURNED = 1e-3
"""At this nearness r an error e of interpolated positions turns the directions in which loops can move by e / r:
velocities are not projected onto them."""

NOISE = 4.0
"""Estimated errors are below this many times what rounding takes of a step near a singular configuration."""

LEAST_ERROR = 1e-10
"""Smaller errors count as this: beyond, steps grow by MOST_GROWN in any case."""


@dataclass(frozen=True)
class Adaptive:
    """Steps that keep the local error of positions and velocities below `tolerance`; smooth forces only."""

    tolerance: float = 1e-10

    name: ClassVar[str] = "adaptive"
    has_contact: ClassVar[bool] = False

    @classmethod
    def make(cls, options: IntegratorOptions) -> Self:
        return cls(options.tolerance)

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.name,)

    def memory_size(self, system: System) -> int:
        return 0

    def run(
        self,
        batch: Batch,
        u: Array | ControlFunction,
        steps: int,
        recorder: Recorder,
        threads: int | None,
        progress: Progress | None,
    ) -> dict[str, Any]:
        """Row by row; controls hold for dt, records are at multiples of it. Says how many steps each row took."""
        courses, dt = [Course(batch, k, self.tolerance) for k in range(len(batch))], batch.dt
        (whole, rest), since = recorder.schedule.span, recorder.schedule.since
        held = not callable(u) and u.shape[1] == 1
        borders = sorted({0, whole, steps}) if held else range(steps + 1)
        for start, stop in pairwise(borders):
            slots = recorder.between(start, stop)
            if callable(u):
                control = ask(u, start * dt, batch.began, batch.read(), batch.nu)[:, 0]
            else:
                control = u[:, 0 if held else start]
            control = np.broadcast_to(control, (len(batch), batch.nu))
            if recorder.controls is not None:
                recorder.controls.under(start, stop, control[:, None])
            if start == whole:
                batch.shorten(rest)
            for course in courses:
                if start == whole:
                    course.counted = whole * dt, whole
                found = course.run(control[course.k], stop * dt if stop <= whole else whole * dt + rest, since[slots])
                recorder.put(batch, course.k, slots, found)
            if progress is not None:
                progress(stop, steps)
        return {"steps": [course.steps for course in courses]}


class Field:
    """The right-hand side f(P(x)) and the projection P(x) for x = (q, qd), by the kernels of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.nq = engine, engine.tree.top.nq

    def f(self, x: Array, u: Array, t: float = 0.0) -> tuple[Array, float]:
        """The slope at x and the time t, and how near x is to a singular configuration."""
        clock = [np.array([t])] if self.engine.system.clock else []
        dq, dqd, near = self.engine.rate(x[: self.nq], x[self.nq :], u, *clock)
        return np.concatenate([dq, dqd]), float(near[0])

    def P(self, x: Array) -> tuple[Array, Array]:
        """The projected state, and what there is to say of it (`Engine.projection`)."""
        q, qd, there = self.engine.projection(x[: self.nq], x[self.nq :])
        return np.concatenate([q, qd]), there

    def sample(self, x: Array) -> tuple[Array, Array]:
        """P(x) of an interpolated state x; nearer to a singular configuration than `TURNED` its velocities are kept."""
        projected, there = self.P(x)
        if there[0] < TURNED:
            projected = np.concatenate([projected[: self.nq], x[self.nq :]])
        return projected, there


def attempt(field: Field, x: Array, k1: Array, u: Array, h: float, t: float = 0.0) -> tuple[Array, list[Array], float]:
    """The step of order 5 from the time t, its seven slopes, and how near its stages came to a singular configuration.

    A stage that leads to no state ends the attempt there.
    """
    k = [k1]
    y, nearest = x, 1.0
    for row in A:
        slope = row[0] * k[0]
        for a, b in zip(row[1:], k[1:], strict=True):
            slope = slope + a * b
        y = x + h * slope
        if not np.all(np.isfinite(y)):
            break
        slope, near = field.f(y, u, t + h * sum(row))
        k.append(slope)
        nearest = min(nearest, near)
    return y, k, nearest


def interpolate(x: Array, y: Array, k: list[Array], h: float, part: float) -> Array:
    """The state at a part of the step from x to y, of order 4."""
    jump = y - x
    bend = h * k[0] - jump
    far = jump - h * k[6] - bend
    rest = h * sum((d * s for d, s in zip(D, k, strict=True)), start=np.zeros_like(x))
    back = 1.0 - part
    between: Array = x + part * (jump + back * (bend + part * (far + back * rest)))
    return between


class Whole(NamedTuple):
    """The last whole dt that a row has passed: its time, and what gives the state x there."""

    t: float
    state: Callable[[], Array]


class Course:
    """One batch row on its way: state x = (q, qd), time t, step length h."""

    def __init__(self, batch: Batch, k: int, tolerance: float) -> None:
        self.batch, self.k, self.tolerance = batch, k, tolerance
        self.field = Field(batch.engine)
        self.x = np.concatenate([batch.state.q[k], batch.state.qd[k]])
        self.t, self.h, self.steps = 0.0, batch.dt, 0
        self.counted = 0.0, 0  # from when on steps are batch.dt long, and how many there were before
        self.speed, self.past = 0.0, [(-1.0, 1.0), (-0.5, 1.0)]
        begin = self.x
        self.whole = Whole(0.0, lambda: begin)

    def run(self, u: Array, until: float, outputs: Array) -> list[Array]:
        """Go to the time `until` under the control u; the closed states at the times `outputs`."""
        found: list[Array] = []
        self._arrive(self.field.P(self.x))
        began, moves = float(self.batch.began[self.k]), 0
        slope, _ = self.field.f(self.x, u, began + self.t)
        while self.t < until - ROUNDING and self.batch.watch.status[self.k] == Status.RUNNING:
            h = min(self.h, until - self.t)
            y, k, near = attempt(self.field, self.x, slope, u, h, began + self.t)
            if is_blind(near, self.speed, h) and moves < ELSEWHERE:
                self.h, moves = 0.77 * h, moves + 1
                self._stop_below(CRAWLING * self.batch.dt, Fault.BLIND)
                continue
            moves = 0
            lost = min(NOISE * lost_part(near, self.speed, h), MOST_LOST)
            error = self._error(y, k, h, self.tolerance + lost)
            if not error <= 1.0:
                self._shorten(h, error)
                continue
            arrival = self.field.P(y)
            if not arrival[1][LOOP_ERROR] <= TOLERANCE:
                self.h = AFTER_NAN * h
                self._stop_below(SHORTEST, Fault.OPEN)
                continue
            end = until if h == until - self.t else self.t + h
            while len(found) < len(outputs) and outputs[len(found)] <= end + ROUNDING:
                part = min((outputs[len(found)] - self.t) / h, 1.0)
                sample = self.field.sample(interpolate(self.x, y, k, h, part)) if part < 1.0 else arrival
                found.append(self._seen(sample)[0])
            self._pass(y, k, h, end)
            if self.batch.engine.monitor:
                self._book(arrival[0], k, h, u)
            self.t, self.steps = end, self.steps + 1
            slope = k[6]
            self._arrive(arrival)
            grown = h * min(MOST_GROWN, SAFETY * max(error, LEAST_ERROR) ** (-1 / ORDER))
            self.h = grown if h >= self.h or grown < self.h else self.h
        if self.batch.watch.status[self.k] != Status.RUNNING:
            self.t, self.x = self.whole.t, self.whole.state()
            self._note()
        self.batch.watch.steps[self.k] = self._step_at(self.t)
        return found

    def _step_at(self, t: float) -> int:
        """How many steps of the batch a time is after the beginning."""
        since, count = self.counted
        return count + round((t - since) / self.batch.dt)

    def _pass(self, y: Array, k: list[Array], h: float, end: float) -> None:
        """Note the last whole dt within the step to y, at which the row stays if it goes no further."""
        since, dt, x, start = self.counted[0], self.batch.dt, self.x, self.t
        t = since + dt * np.floor((end - since + ROUNDING) / dt)
        if t > start:
            part = min((t - start) / h, 1.0)
            self.whole = Whole(t, lambda: self.field.P(interpolate(x, y, k, h, part) if part < 1.0 else y)[0])

    def _book(self, y: Array, k: list[Array], h: float, u: Array) -> None:
        """Note the energy at y and the work on the way there, by Simpson's rule (`energy_monitor`)."""
        nq, engine, row = self.field.nq, self.batch.engine, self.batch.state.watch[self.k]

        def power(x: Array, part: float) -> float:
            outside = engine.system.outside.at(self.batch.began[self.k] + self.t + part * h)
            f = working_forces(engine.tree.top, engine.system.drive, outside, x[:nq], x[nq:], u)
            return float(f @ x[nq:])

        between = interpolate(self.x, y, k, h, 0.5)
        work = (h / 6.0) * (power(self.x, 0.0) + 4.0 * power(between, 0.5) + power(y, 1.0))
        kinetic, *potential = np.asarray(engine.reading(y[:nq], y[nq:])[1])
        row[:] = Watch.of(row)._replace(**booked(Watch.of(row), kinetic, sum(potential), work)).vector()

    def _note(self) -> None:
        """Say in the batch which state the row has."""
        state, nq = self.batch.state, self.field.nq
        state.q[self.k], state.qd[self.k] = self.x[:nq], self.x[nq:]

    def _shorten(self, h: float, error: float) -> None:
        """A shorter step after one of length h with too large an error; none below `SHORTEST`."""
        self.h = h * (max(MOST_SHRUNK, SAFETY * error ** (-1 / ORDER)) if np.isfinite(error) else AFTER_NAN)
        self._stop_below(SHORTEST, Fault.ROUGH if np.isfinite(error) else Fault.BEYOND)

    def _stop_below(self, shortest: float, fault: Fault) -> None:
        """Stop the row for good where its steps become shorter than this [s]."""
        if self.h < shortest:
            q, qd = self.x[: self.field.nq], self.x[self.field.nq :]
            self.batch.watch.steps[self.k] = self._step_at(self.whole.t)
            self.batch.stop(self.k, Stop(q, qd, fault, self.h, f"with steps of {self.h:.1e} s"))

    def _error(self, y: Array, k: list[Array], h: float, allowed: float) -> float:
        """The estimated error of a step that leads to y, in units of what is allowed; infinite where y has diverged."""
        if not np.max(np.abs(y), initial=0.0) <= MAX_SPEED:
            return float("inf")
        wrong = h * sum((e * s for e, s in zip(E, k, strict=True)), start=np.zeros_like(y))
        size = allowed * (1.0 + np.maximum(np.abs(self.x), np.abs(y)))
        return float(np.sqrt(np.mean((wrong / size) ** 2)))

    def _arrive(self, projected: tuple[Array, Array]) -> None:
        """Go on from a projected state, and note how near it is to a singular configuration."""
        self.x, near, self.speed = self._seen(projected)
        k, watch = self.k, self.batch.watch
        self._note()
        watch.nearest[k] = min(watch.nearest[k], near)
        (t0, r0), (t1, r1) = self.past
        if self.t > t1:
            if passes(r0, r1, near, (self.t - t1) / (t1 - t0)):
                watch.passed[k] = 1.0
            self.past = [(t1, r1), (self.t, near)]

    def _seen(self, projected: tuple[Array, Array]) -> tuple[Array, float, float]:
        """A projected state, its nearness to a singular configuration and its speed in the loops; its peaks count."""
        x, (near, speed, error, turning) = projected
        watch, k = self.batch.watch, self.k
        watch.loop_error[k], watch.turning[k] = max(watch.loop_error[k], error), max(watch.turning[k], turning)
        return x, float(near), float(speed)
