"""The accurate integrator: Dormand and Prince's pair of orders 5 and 4 with step control and dense output.

It integrates x = (q, qd), positions and velocities of all joints, by (1) of `flight`; what is recorded
between steps comes from the pair's own interpolant of order 4, closed afterwards. Rows go one by one, each
with its own steps. (Dormand and Prince 1980; Hairer, Norsett, Wanner 1993, II.4 to II.6.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.clusters.closing import closest, project_velocity
from kinloop.errors import MethodError
from kinloop.sim.batch import Rows
from kinloop.sim.engine import Engine
from kinloop.sim.integrators.flight import state_rate
from kinloop.sim.integrators.stepper import DIVERGED, MAX_SPEED, RUNNING
from kinloop.sim.recorder import Recorder
from kinloop.sim.rollout import Rollout, State
from kinloop.spatial.transform import Array

if TYPE_CHECKING:
    from kinloop.sim.simulator import Simulator

A = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
E = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
D = (
    -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
    701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
)  # fmt: skip
SMALLEST = 1e-12


class Field:
    """f(P(x)) and P(x) of a robot in certain charts, compiled."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        tree, drive = engine.tree, engine.stepper.drive
        self.nq = tree.top.nq
        sizes = {"q": self.nq, "qd": tree.top.n_spanning}

        def rate(q: Array, qd: Array, u: Array) -> dict[str, Any]:
            rates = state_rate(tree, drive, (q, qd), u)
            return {"dq": rates[0], "dqd": rates[1]}

        def project(q: Array, qd: Array) -> dict[str, Any]:
            q, _ = closest(tree, q)
            qd = project_velocity(tree, q, qd)
            reach, volume = engine.gauge(q)
            gauge = np.array([reach, volume])
            return {"q_on": np.asarray(q), "qd_on": np.asarray(qd), "gauge": gauge}

        self.rate = engine.kernel("rate", rate, sizes | {"u": len(drive.motors)})
        self.project = engine.kernel("project", project, sizes)

    def f(self, x: Array, u: Array) -> Array:
        return np.concatenate(self.rate(x[: self.nq], x[self.nq :], u))

    def P(self, x: Array) -> tuple[Array, float, float]:
        q, qd, gauge = self.project(x[: self.nq], x[self.nq :])
        return np.concatenate([q, qd]), float(gauge[0]), float(gauge[1])


def attempt(field: Field, x: Array, k1: Array, u: Array, h: float) -> tuple[Array, list[Array]]:
    """The step of order 5 and its seven slopes."""
    k = [k1]
    y = x
    for row in A:
        slope = row[0] * k[0]
        for a, b in zip(row[1:], k[1:], strict=True):
            slope = slope + a * b
        y = x + h * slope
        k.append(field.f(y, u))
    return y, k


def interpolate(x: Array, y: Array, k: list[Array], h: float, part: float) -> Array:
    """The state at a part of the step, of order 4."""
    jump = y - x
    bend = h * k[0] - jump
    far = jump - h * k[6] - bend
    rest = h * sum((d * s for d, s in zip(D, k, strict=True)), start=np.zeros_like(x))
    back = 1.0 - part
    return x + part * (jump + back * (bend + part * (far + back * rest)))


class Course:
    """One row on its way: state, step length, and the charts in force."""

    def __init__(self, sim: Simulator, rows: Rows, k: int) -> None:
        self.sim, self.rows, self.k = sim, rows, k
        self.field = sim.field(rows.engines[rows.engine_of[k]])
        self.x = np.concatenate([rows.state["q"][k], rows.state["qd"][k]])
        self.t, self.h, self.steps = 0.0, sim.dt, 0

    def run(self, u: Array, until: float, outputs: Array) -> list[Array]:
        """Go to the time `until` under the control u; the closed states at the times `outputs`."""
        found: list[Array] = []
        self._check()
        slope = self.field.f(self.x, u)
        while self.t < until - 1e-13 and self.rows.state["watch"][self.k, 0] == RUNNING:
            h = min(self.h, until - self.t)
            y, k = attempt(self.field, self.x, slope, u, h)
            error = self._error(y, k, h)
            if not error <= 1.0:
                self.h = h * (max(0.2, 0.9 * error**-0.2) if np.isfinite(error) else 0.1)
                if self.h < SMALLEST:
                    self.rows.state["watch"][self.k, 0] = DIVERGED
                continue
            end = until if h == until - self.t else self.t + h
            while len(found) < len(outputs) and outputs[len(found)] <= end + 1e-13:
                part = min((outputs[len(found)] - self.t) / h, 1.0)
                found.append(self.field.P(interpolate(self.x, y, k, h, part) if part < 1.0 else y)[0])
            self.x, self.t, self.steps = y, end, self.steps + 1
            slope = k[6]
            if self._check():
                slope = self.field.f(self.x, u)
            grown = h * min(5.0, 0.9 * max(error, 1e-10) ** -0.2)
            self.h = grown if h >= self.h or grown < self.h else self.h
        return found

    def _error(self, y: Array, k: list[Array], h: float) -> float:
        wrong = h * sum((e * s for e, s in zip(E, k, strict=True)), start=np.zeros_like(y))
        size = self.sim.tolerance * (1.0 + np.maximum(np.abs(self.x), np.abs(y)))
        if np.max(np.abs(y), initial=0.0) > MAX_SPEED:
            return float("inf")
        return float(np.sqrt(np.mean((wrong / size) ** 2)))

    def _check(self) -> bool:
        """Close the state and change charts where they are bad; True if the charts changed."""
        self.x, reach, volume = self.field.P(self.x)
        rows, k = self.rows, self.k
        watch = rows.state["watch"]
        if volume < watch[k, 2]:
            watch[k, 2] = volume
        rows.state["q"][k], rows.state["qd"][k] = self.x[: self.field.nq], self.x[self.field.nq :]
        if not self.field.engine.gauge.typical or (reach <= watch[k, 3] and volume >= watch[k, 4]):
            return False
        before = self.field
        rows.recharted(k)
        self.field = self.sim.field(rows.engines[rows.engine_of[k]])
        return self.field is not before


def rollout_adaptive(sim: Simulator, state: State, u: Any, steps: int, recorder: Recorder, single: bool) -> Rollout:
    """A rollout whose steps follow the wanted accuracy; controls hold for dt, records are at multiples of it."""
    if callable(u):
        raise MethodError("the adaptive integrator takes controls as arrays, not as a function")
    rows = sim.rows_of(state)
    taken = []
    for k in range(len(state)):
        course, held = Course(sim, rows, k), u.shape[1] == 1
        for start in range(0, steps, steps if held else 1):
            stop = steps if held else start + 1
            due = np.arange(start // recorder.every + 1, stop // recorder.every + 1) * recorder.every
            found = course.run(u[k, 0 if held else start], stop * sim.dt, due * sim.dt)
            recorder.put(rows, k, due, found)
        rows.state["v"][k] = course.x[course.field.nq :][rows.engines[rows.engine_of[k]].tree.independent_dofs]
        rows.state["watch"][k, 1] = round(course.t / sim.dt)
        taken.append(course.steps)
    result = recorder.result(sim.read(rows, state), rows, state, single)
    result.info["steps"] = taken
    return result
