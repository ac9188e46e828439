"""A simulation with a progress bar and a clock: what `kinloop sim` and `kinloop demo` share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinloop.cli.terminal_output import progress, waiting
from kinloop.errors import MethodError
from kinloop.sim import Rollout, Simulator
from kinloop.viewer.contact_arrows import contact_arrows

FRAME = 0.01
"""Time between recorded states [s]."""


@dataclass(frozen=True)
class Run:
    """A simulation that has been run: the rollout, and how long making the kernel and stepping took [s].

    `rows` is the number of batch rows; tables and pictures are of the first one.
    """

    sim: Simulator
    rollout: Rollout
    made: float
    stepped: float
    steps: int
    rows: int
    controls: np.ndarray | None = None

    @property
    def rate(self) -> float:
        """Steps per second of wall time, all batch rows together."""
        return self.steps * self.rows / max(self.stepped, 1e-9)

    @property
    def alive(self) -> np.ndarray:
        """Which recorded times (N,) the first batch row reached."""
        return np.asarray(self.rollout.t <= self.rollout.stopped[0])

    def first(self, name: str) -> np.ndarray:
        """A recorded quantity of the first batch row, (N, ...)."""
        x = self.rollout[name]
        return x if self.rollout.single else x[0]

    @property
    def weight(self) -> float:
        """The robot's weight [N]."""
        m = self.sim.robot.mechanism
        return float(np.linalg.norm(m.gravity)) * sum(b.mass for b in m.bodies)

    def contact_arrows(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Points and forces of contact of the first batch row, each (N, C, 3) in the world, if there are any."""
        return contact_arrows(self.sim, self.rollout)


def check_run(seconds: float, rows: int) -> None:
    """Complain about a run without time, without end or without robots."""
    if not seconds > 0 or rows < 1:
        raise MethodError(f"--time must be positive and --batch at least 1, received {seconds:g} and {rows}")
    if np.isinf(seconds):
        raise MethodError("--time must be finite, received inf; give a number of seconds")


def run(
    sim: Simulator,
    q0: np.ndarray,
    v0: np.ndarray | None,
    controls: np.ndarray | None,
    seconds: float,
    record: Sequence[str],
    threads: int | None = None,
) -> Run:
    """Simulate, with a bar; the kernel is made before the clock starts."""
    steps = max(1, round(seconds / sim.dt))
    every = max(1, min(steps, round(FRAME / sim.dt)))
    begin = time.perf_counter()
    with waiting(f"making the kernel of {sim.robot.name}"):
        sim.rollout(q0, v0, controls, steps=min(steps, 16 * every), record=record, every=every, threads=threads)
    made = time.perf_counter() - begin
    with progress("simulating") as report:
        begin = time.perf_counter()
        rollout = sim.rollout(
            q0, v0, controls, steps=steps, record=record, every=every, threads=threads, progress=report
        )  # fmt: skip
        stepped = time.perf_counter() - begin
    return Run(sim, rollout, made, stepped, steps, len(rollout.status), controls)


def record_page(r: Run, path: Path, title: str | None = None, notes: str | None = None) -> Path:
    """The first batch row's motion as a page that plays by itself, with its contact forces."""
    from kinloop import viewer

    contacts, forces = r.contact_arrows() or (None, None)
    with progress("recording") as report:
        return viewer.record(
            r.sim.robot, r.rollout.t, r.first("q"), path, contacts, forces, ground=r.sim.ground, title=title,
            notes=notes, progress=report,
        )  # fmt: skip
