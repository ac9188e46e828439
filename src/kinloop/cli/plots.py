"""The plot of a run: height, energy, contact forces, loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kinloop.cli.running import Run, contact_arrows, weight
from kinloop.errors import MethodError


def plot(r: Run, path: Path) -> Path:
    """Four curves over time of the first row, as a picture."""
    try:
        import matplotlib
    except ImportError:
        raise MethodError("the plot needs matplotlib; pip install matplotlib") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 6.5), sharex=True, layout="constrained")
    for draw, ax in zip((heights, energies, pushes, loops), axes.flat, strict=True):
        draw(r, ax)
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[1]:
        ax.set_xlabel("time [s]")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def heights(r: Run, ax: Any) -> None:
    ax.plot(r.rollout.t, np.asarray(r.sim.robot.center_of_mass(r.first("q")))[:, 2], color="tab:blue")
    ax.set(title="Centre of mass", ylabel="height [m]")


def energies(r: Run, ax: Any) -> None:
    for name, label in (("energy", "total"), ("kinetic_energy", "kinetic"), ("potential_energy", "potential")):
        ax.plot(r.rollout.t, r.first(name), label=label)
    ax.set(title="Energy", ylabel="[J]")
    ax.legend(frameon=False)


def pushes(r: Run, ax: Any) -> None:
    _, forces = contact_arrows(r)
    if forces is not None:
        ax.plot(r.rollout.t, forces[:, :, 2].sum(axis=1), color="tab:orange", label="all contacts")
        ax.axhline(weight(r), color="gray", linestyle="--", linewidth=1, label="weight")
        ax.legend(frameon=False)
    ax.set(title="Contact force, upwards", ylabel="[N]")


def loops(r: Run, ax: Any) -> None:
    errors = np.maximum(np.max(r.first("loop_error"), axis=1, initial=0.0), 1e-18)
    ax.semilogy(r.rollout.t, errors, color="tab:red")
    ax.axhline(1e-12, color="gray", linestyle="--", linewidth=1)
    ax.set(title="Loops open by", ylabel="[m, rad]", ylim=(1e-18, 1e-9))
