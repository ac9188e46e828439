"""Figures 11 and 13 of [Chignoli2023] and Figure 3 of [Chignoli2023b]: chains from 2 to 24 links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kinloop import robots
from kinloop.bench.number_format import digits, magnitude
from kinloop.bench.papers.method_timing import dynamics_case, time_methods
from kinloop.bench.papers.printed_numbers import NAMES
from kinloop.bench.report_elements import Plot, Section, Table
from kinloop.bench.timing import Effort
from kinloop.model import LinearCoupling
from kinloop.robot import Robot

METHODS = {
    "forward_dynamics": ("cluster_aba", "approximate_aba", "projection", "lagrange"),
    "inverse_osim": ("cluster_efpa", "approximate_efpa", "projected_osim"),
}
CHAINS = {"geared_chain": "geared motors", "belt_chain": "parallel belts"}
RANDOM = {"geared_chain": "Robot A", "belt_chain": "Robot B"}


def sizes(effort: Effort) -> list[int]:
    """Numbers of links."""
    return [2, 6, 12, 24] if effort.quick else [2, 4, 6, 8, 12, 16, 20, 24]


def randomised(robot: Robot, seed: int) -> Robot:
    """The same robot with random gear ratios, between 2 and 10 where there was one [Chignoli2023b, (16), (17)]."""
    rng = np.random.default_rng(seed)
    couplings = []
    for c in robot.mechanism.couplings:
        assert isinstance(c, LinearCoupling)
        ratios = rng.uniform(2.0, 10.0, size=c.matrix.shape) * (c.matrix != 0)
        couplings.append(replace(c, matrix=ratios))
    return Robot(replace(robot.mechanism, couplings=tuple(couplings)))


def measure(
    name: str, links: int, wanted: Mapping[str, tuple[str, ...]], effort: Effort, random: bool = False
) -> dict[str, Any]:
    """Per quantity and method: operations, microseconds for one state, relative error."""
    robot = robots.load(name, links=links)
    robot = randomised(robot, links) if random else robot
    return {
        quantity: time_methods(quantity, {m: dynamics_case(robot, quantity, m) for m in methods}, effort, batches=False)
        for quantity, methods in wanted.items()
    }


def tasks(effort: Effort) -> dict[str, Callable[[], Any]]:
    """Both chains at every length, as they are and with random ratios."""
    out: dict[str, Callable[[], Any]] = {}
    exact = {"forward_dynamics": ("cluster_aba", "projection", "lagrange")}
    for n in sizes(effort):
        for name in CHAINS:
            out[f"{name} {n}"] = partial(measure, name, n, METHODS, effort)
            out[f"{RANDOM[name]} {n}"] = partial(measure, name, n, exact, effort, random=True)
    return out


def curve(data: dict[str, Any], name: str, quantity: str, method: str, key: str) -> tuple[list[int], list[float]]:
    """A quantity over the number of links."""
    points = sorted(
        (int(label.rsplit(" ", 1)[1]), entry[quantity][method][key])
        for label, entry in data.items()
        if label.rsplit(" ", 1)[0] == name and method in entry.get(quantity, ())
    )
    return [n for n, _ in points], [y for _, y in points]


def growth(x: list[int], y: list[float]) -> float:
    """The exponent of the curve's last doubling."""
    big, half = len(x) - 1, int(np.argmin([abs(n - x[-1] / 2) for n in x]))
    return float(np.log(y[big] / y[half]) / np.log(x[big] / x[half])) if big != half else float("nan")


PLOTS = [
    ("figure_11_geared", "geared_chain", "forward_dynamics", "Forward dynamics, geared motors (Figure 11 left)"),
    ("figure_11_belts", "belt_chain", "forward_dynamics", "Forward dynamics, parallel belts (Figure 11 right)"),
    ("figure_13_geared", "geared_chain", "inverse_osim", "Inverse OSIM, geared motors"),
    ("figure_13_belts", "belt_chain", "inverse_osim", "Inverse OSIM, parallel belts (Figure 13)"),
    ("figure_3_robot_a", "Robot A", "forward_dynamics", "Robot A, random gears (Figure 3 of Chignoli2023b)"),
    ("figure_3_robot_b", "Robot B", "forward_dynamics", "Robot B, random belts (Figure 3 of Chignoli2023b)"),
]


def show(data: dict[str, Any]) -> Section:
    """Curves over the links, and a table of their ends."""
    plots, rows = [], []
    for plot, name, quantity, title in PLOTS:
        methods = [m for m in METHODS[quantity] if curve(data, name, quantity, m, "call_us")[0]]
        series = {NAMES[m]: curve(data, name, quantity, m, "call_us") for m in methods}
        plots.append(Plot(plot, title, series, x="links", y="one call [µs]"))
        for m in methods:
            rows.append(_row(data, name, quantity, m))
    columns = ["chain", "method", "µs at the shortest", "µs at 12", "µs at 24", "operations at 24", "growth", "error"]
    return Section(
        "Chains of 2 to 24 links (Figures 11, 13 of Chignoli2023; Figure 3 of Chignoli2023b)",
        "One call from Python on one core. Growth is the exponent of the operation count from 12 to 24 links: 1 is "
        "linear, 3 cubic. Robots A and B have random gear ratios.",
        [Table("Chains", columns, rows)], plots, notes(data),
    )  # fmt: skip


def _row(data: dict[str, Any], name: str, quantity: str, method: str) -> list[str]:
    x, y = curve(data, name, quantity, method, "call_us")
    _, operations = curve(data, name, quantity, method, "operations")
    _, errors = curve(data, name, quantity, method, "error")
    at = dict(zip(x, y, strict=True))
    label = f"{CHAINS.get(name, name)}, {'inverse OSIM' if quantity == 'inverse_osim' else 'forward dynamics'}"
    return [
        label, NAMES[method], digits(y[0]), digits(at.get(12)), digits(at.get(24)), str(operations[-1]),
        f"{growth(x, operations):.2f}", magnitude(max(errors)),
    ]  # fmt: skip


def notes(data: dict[str, Any]) -> list[str]:
    """From which length on the cluster algorithm wins."""
    out = []
    for name, title in (*CHAINS.items(), ("Robot A", "Robot A"), ("Robot B", "Robot B")):
        x, ours = curve(data, name, "forward_dynamics", "cluster_aba", "call_us")
        _, rival = curve(data, name, "forward_dynamics", "projection", "call_us")
        if x:
            first = next((n for n, a, b in zip(x, ours, rival, strict=True) if b > 1.05 * a), None)
            where = f"from {first} links on" if first else "at no length measured"
            out.append(
                f"{title}: C-ABA beats the projection method by more than 5 % {where}, {rival[-1] / ours[-1]:.1f} "
                f"times at {x[-1]} links."
            )
    out.append(
        "In the paper C-ABA wins at every length. Folded to bare arithmetic, small dense systems are cheap; what "
        "remains is the order of growth."
    )
    return out
