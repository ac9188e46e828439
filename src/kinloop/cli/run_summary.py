"""The table that `kinloop sim` and `kinloop demo` print of a run: rate, energy, loops, contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from kinloop.cli.terminal_output import add, table
from kinloop.cli.timed_run import Run


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
    if "loop_error" in rollout.records and rollout["loop_error"].size:
        add(t, "loops open by at most", f"{np.max(rollout['loop_error']):.1e}", "m, rad")
    _add_contacts(r, t)
    if np.any(rollout.substeps):
        add(t, "shorter steps", int(np.sum(rollout.substeps)), "taken where dt was too long")
    if np.any(rollout.singular):
        add(t, "through singular", int(np.sum(rollout.singular)), "rows that passed where a loop loses rank")
    if np.any(rollout.diverged):
        first = float(np.min(rollout.stopped))
        add(
            t,
            "stopped",
            int(np.sum(rollout.diverged)),
            f"rows that diverged or could not be closed, from {first:g} s on",
        )
    return t


def _add_contacts(r: Run, t: Table) -> None:
    """How hard, how deep, how exactly solved: lines of a run that has contacts."""
    arrows = r.contact_arrows()
    if arrows is None or not r.alive.any():
        return
    _, forces = arrows
    up = forces[r.alive, :, 2].sum(axis=1)
    add(
        t,
        "contact force, most and last",
        f"{up.max():.1f}, {up[-1]:.1f}",
        f"N upwards, first row; weight {r.weight:.1f}",
    )
    if "gap" in r.rollout.records:
        add(t, "deepest penetration", f"{1e3 * max(0.0, -float(np.min(r.rollout['gap']))):.3g}", "mm")
    if "residual" in r.rollout.records:
        add(t, "contact residual", f"{float(np.max(r.rollout['residual'])):.3g}", "at most")
