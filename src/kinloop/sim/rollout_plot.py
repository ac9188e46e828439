"""Rollouts as curves over time, a panel per recorded quantity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.inputs import checked_count
from kinloop.progress import printable

if TYPE_CHECKING:
    from kinloop.sim.rollout import Rollout

UNITS = {
    "q": "[rad, m]", "v": "[rad/s, m/s]", "qd": "[rad/s, m/s]", "a": "[rad/s², m/s²]", "qdd": "[rad/s², m/s²]",
    "motor_force": "[N m, N]", "energy": "[J]", "kinetic_energy": "[J]", "potential_energy": "[J]",
    "loop_error": "[m, rad]", "contact_force": "[N]", "gap": "[m]", "residual": "[m/s]",
}  # fmt: skip

NAMED = 10
"""So many curves at most are named in a panel."""


def drawing() -> Any:
    """The module matplotlib.pyplot, or one sentence about what to install."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise MethodError("the plot needs matplotlib; pip install matplotlib") from None
    return matplotlib.pyplot


def plot_text(name: str) -> str:
    """A name as matplotlib shows it unchanged: dollars in it begin no formula."""
    return printable(name).replace("$", r"\$")


def plain_frame(ax: Any) -> None:
    """A light grid, and lines where numbers stand."""
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelbottom=True)


def plot_rollout(run: Rollout, names: tuple[str, ...], row: int, path: str | Path | None) -> Any:
    """The figure of recorded quantities of a row over time."""
    shown = {name: run[name] for name in names or run.records}  # an error names what was not recorded
    if not shown or not len(run.t):
        raise MethodError("nothing was recorded, so there is nothing to draw; name it in record=[...]")
    if checked_count("row", row, least=0) >= len(run.status):
        raise MethodError(f"row {row} is not there; the rollout has rows 0 to {len(run.status) - 1}")
    plt = drawing()
    figure, axes = plt.subplots(
        len(shown), 1, figsize=(8, 2.2 * len(shown)), sharex=True, layout="constrained", squeeze=False
    )
    for (name, x), ax in zip(shown.items(), axes[:, 0], strict=True):
        curves = np.reshape(x if run.single else x[row], (len(run.t), -1))
        labels = run.entries.get(name, [f"[{k}]" for k in range(curves.shape[1])])
        for label, y in zip(labels, curves.T, strict=True):
            ax.plot(run.t, y, linewidth=1.2, label=plot_text(label))
        ax.set(title=plot_text(name), ylabel=UNITS.get(name, ""))
        plain_frame(ax)
        if 1 < len(labels) <= NAMED:
            ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes[-1, 0].set_xlabel("time [s]")
    if path is not None:
        figure.savefig(path, dpi=120)
        plt.close(figure)
    return figure
