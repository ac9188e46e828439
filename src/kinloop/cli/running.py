"""A simulation from start to figures: what `kinloop sim` and `kinloop demo` share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import kinloop as kl
from kinloop.cli.terminal import add, progress, table, waiting
from kinloop.sim import Plane, Rollout, Simulator
from kinloop.sim.contact.candidates import Candidate, find_candidates
from kinloop.viewer.poses import Poses

LEVEL = Plane()

FRAME = 0.01
"""Time between recorded states [s]."""


@dataclass(frozen=True)
class Run:
    """A simulation that has been run: the rollout, and how long making the kernel and stepping took [s]."""

    sim: Simulator
    rollout: Rollout
    made: float
    stepped: float
    steps: int
    rows: int
    controls: np.ndarray | None = None

    @property
    def rate(self) -> float:
        """Steps per second of wall time, all rows together."""
        return self.steps * self.rows / max(self.stepped, 1e-9)

    @property
    def alive(self) -> np.ndarray:
        """Which recorded times (N,) the first row reached."""
        return self.rollout.t <= self.rollout.stopped[0]

    def first(self, name: str) -> np.ndarray:
        """A recorded quantity of the first row, (N, ...)."""
        x = self.rollout[name]
        return x if self.rollout.single else x[0]


def lands(robot: kl.Robot) -> bool:
    """Whether the robot's base is free and it has something to touch the ground with."""
    try:
        return bool(robot.tree.top.floating_bases) and bool(find_candidates(robot, None))
    except kl.KinloopError:
        return False


def touching(robot: kl.Robot, Q: np.ndarray, candidates: Sequence[Candidate], ground: Any = LEVEL) -> np.ndarray:
    """Points (..., C, 3) with which candidates touch the ground at configurations Q (..., nq), in the world."""
    R, p = Poses(robot)(Q)
    centres = np.stack([p[..., c.body, :] + R[..., c.body, :, :] @ c.at for c in candidates], axis=-2)
    down = -ground.normals(centres[..., 0], centres[..., 1])
    return centres + np.array([c.radius for c in candidates])[:, None] * down


def lowest(robot: kl.Robot, q: np.ndarray, ground: Any = LEVEL) -> float:
    """How high above the ground the lowest point of contact is at q [m]."""
    x = touching(robot, q, find_candidates(robot, None), ground)
    return float(np.min(x[..., 2] - ground.heights(x[..., 0], x[..., 1])))


def raised(robot: kl.Robot, q: np.ndarray, height: float, ground: Any = LEVEL) -> np.ndarray:
    """q with every free base lifted so that the lowest point of contact is `height` above the ground."""
    q = q.copy()
    lift = height - lowest(robot, q, ground)
    top = robot.tree.top
    for i in top.floating_bases:
        q[top.q_of[i].start + 2] += lift
    return q


def run(
    sim: Simulator, q0: Any, v0: Any, controls: Any, seconds: float, record: Sequence[str], threads: int | None = None
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


def figures(r: Run, *more: tuple[str, Any, str]) -> Table:
    """What a run says in numbers, with further lines (quantity, value, unit)."""
    t = table(f"{r.sim.robot.name}: {r.steps} steps of {r.sim.dt:g} s", "quantity", "value", "unit", numbers=("value",))
    add(t, "rows", r.rows, "simulated side by side")
    add(t, "rate", f"{r.rate:,.0f}", "steps/s")
    add(t, "kernel made or found in", f"{r.made:.2f}", "s")
    for line in more:
        add(t, *line)
    rollout = r.rollout
    if "energy" in rollout.records and r.alive.any():
        E = r.first("energy").ravel()[r.alive]
        add(t, "energy at start, at end", f"{E[0]:.6g}, {E[-1]:.6g}", "J, first row")
    if "loop_error" in rollout.records and rollout["loop_error"].size:
        add(t, "loops open by at most", f"{np.max(rollout['loop_error']):.1e}", "m, rad")
    contact_figures(r, t)
    add(t, "changes of chart", int(np.sum(rollout.chart_changes)), "independent coordinates swapped on the way")
    if np.any(rollout.singular):
        add(t, "near singular", int(np.sum(rollout.singular)), "rows where loops came near losing rank")
    if np.any(rollout.diverged):
        first = float(np.min(rollout.stopped))
        add(
            t,
            "stopped",
            int(np.sum(rollout.diverged)),
            f"rows that diverged or could not be closed, from {first:g} s on",
        )
    return t


def contact_figures(r: Run, t: Table) -> None:
    """How deep, how hard, how exactly solved: of a run that has contacts."""
    _, forces = contact_arrows(r)
    if forces is None or not r.alive.any():
        return
    up = forces[r.alive, :, 2].sum(axis=1)
    add(
        t,
        "contact force, most and last",
        f"{up.max():.1f}, {up[-1]:.1f}",
        f"N upwards, first row; weight {weight(r):.1f}",
    )
    if "gap" in r.rollout.records:
        add(t, "deepest penetration", f"{1e3 * max(0.0, -float(np.min(r.rollout['gap']))):.3g}", "mm")
    if "residual" in r.rollout.records:
        add(t, "contact residual", f"{float(np.max(r.rollout['residual'])):.3g}", "at most")


def weight(r: Run) -> float:
    """The robot's weight [N]."""
    m = r.sim.robot.mechanism
    return float(np.linalg.norm(m.gravity)) * sum(b.mass for b in m.bodies)


def write_page(r: Run, path: Path, title: str | None = None, notes: str | None = None) -> Path:
    """The first row's motion as a page that plays by itself, with its contact forces."""
    from kinloop import viewer

    contacts, forces = contact_arrows(r)
    with progress("recording") as report:
        return viewer.record(
            r.sim.robot, r.rollout.t, r.first("q"), path, contacts, forces, ground=r.sim.ground, title=title,
            notes=notes, progress=report,
        )  # fmt: skip


def contact_arrows(r: Run) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Points and forces of contact of the first row, each (N, C, 3) in the world, if there are any."""
    if "contact_force" not in r.rollout.records or r.sim.contact is None or not r.sim.contact.candidates:
        return None, None
    return touching(r.sim.robot, r.first("q"), r.sim.contact.candidates, r.sim.ground), r.first("contact_force")
