"""Plots of a report as SVG, drawn by matplotlib where it is installed."""

from __future__ import annotations

import io
import math
from typing import Any

from kinloop.bench.report_elements import Plot

COLORS = ("#0b6e99", "#e07b39", "#6a994e", "#a4243b", "#7b6fb0", "#8d8d8d")
INSTALL = "matplotlib is not installed, so there are no plots: pip install matplotlib"


def available() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def svg(plot: Plot, width: float = 7.2, height: float = 3.6) -> str:
    """The plot as SVG text, the same bytes for the same data."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "kinloop", "svg.fonttype": "none", "font.size": 9}):
        figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
        (_bars if plot.bars else _lines)(ax, plot)
        ax.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
        if plot.log:
            ax.set_yscale("log")
        if plot.log_x:
            ax.set_xscale("log")
        ax.grid(axis="y", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        if len(plot.series) > 1:
            beside: dict[str, Any] = {} if plot.bars else {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
            ax.legend(frameon=False, fontsize=8, **beside)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    text = out.getvalue()
    return "\n".join(line.rstrip() for line in text[text.index("<svg") :].splitlines()) + "\n"


def _lines(ax: Any, plot: Plot) -> None:
    for k, (label, (x, y)) in enumerate(plot.series.items()):
        few = len(x) < 40
        ax.plot(x, y, marker="o" if few else None, markersize=3, color=COLORS[k % len(COLORS)], label=label)
    if not plot.log and all(min(y, default=0.0) >= 0 for _, y in plot.series.values()):
        ax.set_ylim(bottom=0)


def _bars(ax: Any, plot: Plot) -> None:
    names = next(iter(plot.series.values()))[0]
    share = 0.8 / len(plot.series)
    for k, (label, (_, y)) in enumerate(plot.series.items()):
        at = [i + (k - (len(plot.series) - 1) / 2) * share for i in range(len(names))]
        heights = [0.0 if math.isnan(v) else v for v in y]
        ax.bar(at, heights, share, color=COLORS[k % len(COLORS)], label=label)
    tilt = {"rotation": 35, "ha": "right"} if len(names) > 6 else {}
    ax.set_xticks(
        range(len(names)),
        [n.replace("12-link ", "12-link\n").replace(" with", "\nwith") for n in names],
        fontsize=8,
        **tilt,
    )
