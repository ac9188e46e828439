"""What `kinloop sim` and `kinloop demo` say of a run: rate, energy, loops, contacts, and why rows stopped."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from rich.table import Table

from kinloop.cli.terminal_output import add, table
from kinloop.cli.timed_run import Run
from kinloop.sim import Status

SHOWN = 5
"""So many rows say why they stopped."""


def summary(r: Run, *more: tuple[str, Any, str]) -> Table:
    """The table of a run, with further lines (quantity, value, unit)."""
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
    if "imbalance" in rollout.peaks:
        row = int(np.argmax(rollout.peaks["imbalance"]))
        add(t, "energy unexplained", f"{rollout.peaks['imbalance'][row]:.1e}", f"J at most, in row {row}")
    if "loop_error" in rollout.peaks:
        add(t, "loops open by at most", f"{np.max(rollout.peaks['loop_error']):.1e}", "m, rad")
    add(t, "joints turned at most at", f"{np.max(rollout.peaks['turning']):.4g}", "rad/s")
    _add_contacts(r, t)
    if np.any(rollout.substeps):
        add(t, "shorter steps", int(np.sum(rollout.substeps)), "taken where dt was too long")
    if np.any(rollout.singular):
        add(t, "through singular", int(np.sum(rollout.singular)), "rows that passed where a loop loses rank")
    if np.any(wrong := rollout.status == Status.UNBALANCED):
        add(t, "energy out of balance", int(np.sum(wrong)), "rows that are not to be trusted")
    if np.any(unsolved := rollout.status == Status.UNSOLVED):
        add(t, "contacts not solved", int(np.sum(unsolved)), "rows that are not to be trusted")
    if np.any(stopped := np.isfinite(rollout.stopped)):
        kinds = Counter(Status(int(k)).name.lower() for k in rollout.status[stopped])
        counted = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        add(t, "stopped", int(np.sum(stopped)), f"rows, from {np.min(rollout.stopped):g} s on: {counted}")
    return t


def _add_contacts(r: Run, t: Table) -> None:
    """How hard, how deep, how exactly solved, over all steps: lines of a run that has contacts."""
    arrows, peaks = r.contact_arrows(), r.rollout.peaks
    if arrows is not None and r.alive.any():
        last = float(np.linalg.norm(arrows[1][r.alive][-1].sum(axis=0)))
        most = f"{peaks['contact_force'][0]:.1f}, {last:.1f}"
        add(t, "contact force, most and last", most, f"N, first row; weight {r.weight:.1f}")
        if r.rows > 1:
            hit = int(np.argmax(peaks["contact_force"]))
            add(t, "contact force, most of all rows", f"{peaks['contact_force'][hit]:.1f}", f"N, in row {hit}")
    if "penetration" in peaks:
        add(t, "deepest penetration", f"{1e3 * np.max(peaks['penetration']):.3g}", "mm")
    if "residual" in peaks:
        add(t, "contact residual", f"{np.max(peaks['residual']):.3g}", "m/s, at most")


def stops(r: Run) -> list[str]:
    """Why rows stopped: a sentence for each of the first few."""
    found = [(k, reason) for k, reason in enumerate(r.rollout.reasons) if reason]
    out = [f"row {k} {reason}" for k, reason in found[:SHOWN]]
    more = len(found) - SHOWN
    return out + ([f"and {more} rows more; `reasons` of the saved rollout has all of them"] if more > 0 else [])


def page_notes(r: Run) -> str:
    """What is said under the title of a page: what the first row does not show in its recorded motion."""
    peaks, said = r.rollout.peaks, [f"steps of {r.sim.dt:g} s"]
    if "contact_force" in peaks:
        said.append(f"contact force at most {peaks['contact_force'][0]:,.1f} N")
    if "loop_error" in peaks:
        said.append(f"loops open by at most {peaks['loop_error'][0]:.1e}")
    return "; ".join([*said, *(reason for reason in r.rollout.reasons[:1] if reason)])
