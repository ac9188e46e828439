"""Control beside what is asked of it: every line says what was measured, and the limit that must hold.

python -m benchmarks.control [motors ik wbc]
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

import numpy as np

import kinloop as kl
from benchmarks import control_tasks
from kinloop.bench.timing import no_collector, one_core, seconds_per_call
from kinloop.control import MotorSpace, SmoothDynamics

ROWS = 4096
NODES = 100
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ROTORS = [f"left-thigh-to-knee-ankle-rotor-{k}" for k in (1, 2)]
ANKLE = ["left-thigh-to-shin", "left-shin-to-foot"]


class Line(NamedTuple):
    """What was measured, in which unit, and the most that it may be; None where nothing is asked."""

    what: str
    value: float
    unit: str
    limit: float | None = None

    def __str__(self) -> str:
        asked = "" if self.limit is None else f"  (limit {self.limit:g}){'' if self.value <= self.limit else ' MISSED'}"
        return f"{self.what:64s} {self.value:10.3g} {self.unit:5s}{asked}"


def motors() -> Iterable[Line]:
    """Tello's knee and ankle: maps of positions and forces with J, one call and batched, and their exactness."""
    space, rng = MotorSpace(kl.robots.load("tello"), ROTORS, ANKLE), np.random.default_rng(0)
    X, F, V = rng.uniform(-0.5, 0.5, (ROWS, 2)), rng.normal(size=(ROWS, 2)), rng.normal(size=(ROWS, 2))
    x, f = X[0].copy(), F[0].copy()
    kernel, out = space.compile("map"), (np.empty(2), np.empty(2), np.empty((2, 2)))
    Y = space.motor_position(X)
    y = Y[0].copy()
    times = seconds_per_call(
        {
            "map in ready arrays": partial(kernel, x, f, *out),
            "map": lambda: space.map(x, f),
            "motor_position": lambda: space.motor_position(x),
            "jacobian": lambda: space.jacobian(x),
            "motor_force": lambda: space.motor_force(x, f),
            "joint_position": lambda: space.joint_position(y),
        }
    )
    for name, seconds in times.items():
        yield Line(f"Tello's ankle, {name}", 1e6 * seconds, "us", 0.4)
    batched = seconds_per_call({"map": lambda: space.map(X, F), "back": lambda: space.joint_position(Y)}, rounds=40)
    yield Line("Tello's ankle, map, per state of a batch", 1e9 * batched["map"] / ROWS, "ns", 60.0)
    yield Line("Tello's ankle, joint_position, per state of a batch", 1e9 * batched["back"] / ROWS, "ns", 60.0)
    yield Line("round trip of positions", float(np.abs(space.joint_position(Y) - X).max()), "rad", 1e-12)
    force = space.motor_force(X, F)
    yield Line("round trip of forces", float(np.abs(space.joint_force(X, force) - F).max()), "N m", 1e-12)
    power = np.sum(force * space.motor_velocity(X, V), axis=1) - np.sum(F * V, axis=1)
    yield Line("power balance", float(np.abs(power).max()), "W", 1e-12)


def trajectories() -> Iterable[Line]:
    """Derivatives of 100 steps of Tello, and the examples that optimise a motion, from the starts they document."""
    tello = kl.robots.load("tello")
    dynamics, (q, v) = SmoothDynamics(tello, 0.01), tello.random_state(0, size=NODES)
    u = np.random.default_rng(0).normal(size=(NODES, dynamics.nu))
    out = np.empty((NODES, 32, 32)), np.empty((NODES, 32, 16))
    kernel = dynamics.slopes_kernel
    times = seconds_per_call(
        {"in ready arrays": lambda: kernel(q, v, u, out=out, threads=1), "": lambda: dynamics.slopes(q, v, u, None, 1)}
    )
    for name, seconds in times.items():
        yield Line(f"linearise {NODES} smooth steps of Tello {name}".rstrip(), 1e3 * seconds, "ms", 0.6)
    servos = [kl.sim.Motor(name, "position", kp=40.0, kd=1.0) for name in tello.independent_names[6:]]
    for name, motors in (("with torques", None), ("with servos", servos)):
        sim = kl.Simulator(tello, dt=1e-3, motors=motors)
        call = partial(sim.linearize, sim.state(q, v), u[:, : sim.nu], threads=1)
        taken = seconds_per_call({name: call}, rounds=5)
        yield Line(f"linearise {NODES} steps of the simulator of Tello, {name}", 1e3 * taken[name], "ms", 0.6)
    for name in ("swing_up", "jump"):
        with contextlib.redirect_stdout(io.StringIO()):
            example = runpy.run_path(str(EXAMPLES / f"{name}.py"))
        found = example["found"]
        yield Line(f"{name}: not converged", float(not found.converged), "", 0.0)
        yield Line(f"{name}: iterations", float(found.iterations), "")


SECTIONS: dict[str, Callable[[], Iterable[Line]]] = {
    "motors": motors,
    "ik": lambda: starmap(Line, control_tasks.inverse_kinematics()),
    "wbc": lambda: starmap(Line, control_tasks.whole_body()),
    "trajectories": trajectories,
}
"""Everything that is measured, by name."""


def main(names: list[str]) -> None:
    """Print all lines of some sections."""
    os.environ["KINLOOP_THREADS"] = "1"
    with one_core(), no_collector():
        for name in names or SECTIONS:
            for line in SECTIONS[name]():
                print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
