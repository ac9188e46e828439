"""The plot of a run: height, energy, contact forces, loops, motors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.cli.timed_run import Run
from kinloop.errors import MethodError
from kinloop.sim.actuators import make_drive, one_motor_forces
from kinloop.sim.rollout_plot import drawing, plain_frame, plot_text

BLOW = 12.0
"""Contact forces are drawn up to so many weights of the robot."""


def checked_plot_path(path: Path) -> Path:
    """The path of a picture; an error, before the work and not after it, where it is none or none can be drawn."""
    if path.suffix not in (".png", ".pdf", ".svg"):
        raise MethodError(f"cannot write a plot to {path.name!r}; give a name that ends in .png, .pdf or .svg")
    pyplot()
    return path


def pyplot() -> Any:
    """The module matplotlib.pyplot, drawing to files."""
    plt = drawing()
    plt.switch_backend("Agg")
    return plt


def plot_run(r: Run, path: Path) -> Path:
    """Curves over time of the first batch row, as a picture: of height, energy, and what else there is."""
    plt, shown = pyplot(), panels(r)
    names = list(range(len(shown)))
    # two in a line; the last one alone takes the whole of it
    mosaic: Any = [[k, min(k + 1, names[-1])] for k in names[::2]]
    figure, axes = plt.subplot_mosaic(mosaic, figsize=(11, 3.25 * len(mosaic)), sharex=True, layout="constrained")
    for draw, ax in zip(shown, axes.values(), strict=True):
        draw(r, ax)
        plain_frame(ax)
    for k in mosaic[-1]:
        axes[k].set_xlabel("time [s]")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def panels(r: Run) -> list[Callable[[Run, Any], None]]:
    """What there is to draw of a run."""
    touches = r.contact_arrows() is not None
    out: list[Callable[[Run, Any], None]] = [heights if touches or not placed(r) else positions, energies]
    out += [contact_forces] if touches else []
    out += [loops] if r.first("loop_error").size else []
    out += [motor_forces] if "qd" in r.rollout.records and servos(r) else []
    return out


def heights(r: Run, ax: Any) -> None:
    """Height of the centre of mass."""
    ax.plot(r.rollout.t, np.asarray(r.sim.robot.center_of_mass(r.first("q")))[:, 2], color="tab:blue")
    ax.set(title="Centre of mass", ylabel="height [m]")


def placed(r: Run) -> list[tuple[str, int]]:
    """Independent coordinates that have a position, and its place in q."""
    places = make_drive(r.sim.robot.tree, None).places
    return [(name, k) for name, k in zip(r.sim.robot.independent_names, places, strict=True) if k >= 0]


def positions(r: Run, ax: Any) -> None:
    """Independent coordinates that have a position."""
    for name, k in placed(r):
        ax.plot(r.rollout.t, r.first("q")[:, k], label=plot_text(name))
    ax.set(title="Independent coordinates", ylabel="[rad, m]")
    if len(placed(r)) <= 6:
        ax.legend(frameon=False, fontsize=8)


def energies(r: Run, ax: Any) -> None:
    """Total, kinetic and potential energy."""
    for name, label, wide in (
        ("energy", "total", 3.0),
        ("kinetic_energy", "kinetic", 1.2),
        ("potential_energy", "potential", 1.2),
    ):
        ax.plot(r.rollout.t, r.first(name), label=label, linewidth=wide, alpha=0.45 if wide > 2 else 1.0)
    ax.set(title="Energy", ylabel="[J]")
    ax.legend(frameon=False)


def contact_forces(r: Run, ax: Any) -> None:
    """Upward force of all contacts together, beside the weight."""
    arrows = r.contact_arrows()
    assert arrows is not None, "drawn where there are contacts"
    up, load = arrows[1][:, :, 2].sum(axis=1), r.weight
    ax.plot(r.rollout.t, up, color="tab:orange", label="all contacts")
    ax.axhline(load, color="gray", linestyle="--", linewidth=1, label="weight")
    ax.legend(frameon=False)
    if up.max() > BLOW * load > 0:
        # a blow that lasts one step says little, and would press all else flat
        ax.set_ylim(-0.2 * load, BLOW * load)
    most = r.rollout.peaks["contact_force"][0]
    ax.set(title=f"Contact force, upwards (at most {most:,.0f} N in a step)", ylabel="[N]")


def loops(r: Run, ax: Any) -> None:
    """How far the worst loop is open."""
    errors = np.maximum(np.max(r.first("loop_error"), axis=1, initial=0.0), 1e-18)
    ax.semilogy(r.rollout.t, errors, color="tab:red")
    ax.axhline(1e-12, color="gray", linestyle="--", linewidth=1)
    ax.set(title="Loops open by", ylabel="[m, rad]", ylim=(1e-18, 1e-9))


def servos(r: Run) -> list[int]:
    """Which of the motors are servos."""
    return [k for k, m in enumerate(r.sim.drive.motors) if m.kind != "torque"]


def motor_forces(r: Run, ax: Any) -> None:
    """Forces of all servos on their joints."""
    drive, q, qd = r.sim.drive, r.first("q"), r.first("qd")
    assert r.controls is not None, "servos are told something"
    for k in servos(r):
        force, name = one_motor_forces(drive, k, q, qd, r.controls[k]), plot_text(drive.motors[k].joint)
        ax.plot(r.rollout.t, force, linewidth=1, linestyle="-" if k < 10 else "--", label=name)
    ax.set(title="Forces of the motors on their joints", ylabel="[N m, N]")
    if len(servos(r)) <= 16:
        ax.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
