"""Tables II, III, IV and Figures 9, 10, 12 of [Chignoli2023]: six robots, cluster algorithms beside their rivals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kinloop import robots
from kinloop.bench.number_format import digits, magnitude, percent, percent_range
from kinloop.bench.papers.method_timing import dynamics_case, time_methods
from kinloop.bench.papers.printed_numbers import NAMES, PERCENT, ROBOTS, TABLES
from kinloop.bench.report_elements import Plot, Section, Table
from kinloop.bench.timing import Effort
from kinloop.robot import Robot


def link_coordinates(robot: Robot) -> Robot:
    """The robot with its links' joints as independent coordinates: approximate methods know no others."""
    return robot.with_independent([name for name in robot.joint_names if "rotor" not in name])


def measure(name: str, effort: Effort, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Per quantity and method: operations, microseconds for one state and per state of a batch, relative error."""
    robot = robots.load(name, **(options or {}))
    links = link_coordinates(robot) if name.startswith("tello") else robot
    out: dict[str, Any] = {}
    for quantity, (_, cluster, _) in TABLES.items():
        cases = {
            method: dynamics_case(links if method.startswith("approximate") else robot, quantity, method)
            for method in (cluster, *PERCENT[quantity])
        }
        out[quantity] = time_methods(quantity, cases, effort)
    return out


def tasks(effort: Effort) -> dict[str, Callable[[], Any]]:
    """The six robots."""
    return {name: partial(measure, name, effort) for name in ROBOTS}


def more(entries: dict[str, Any], method: str, cluster: str, key: str) -> float:
    """Percent that a method takes more (+) or less (-) than the cluster algorithm."""
    return 100.0 * float(entries[method][key] / entries[cluster][key] - 1)


def show(data: dict[str, Any]) -> Section:
    """Two tables and a plot per quantity."""
    tables, plots = [], []
    for quantity in TABLES:
        tables.append(relative_table(data, quantity))
        tables.append(absolute_table(data, quantity))
        plots.append(bars(data, quantity))
    return Section(
        "Six robots, three problems (Tables II, III, IV and Figures 9, 10, 12 of Chignoli2023)",
        "Percent more (+) or less (-) than the cluster algorithm of the same problem: first the time of one call from "
        "Python on one core, then the time per state of a batch on one core, then the number of operations of the "
        "kernel, then the paper's own figure. All methods are kernels from the same compiler.",
        tables, plots, notes(data),
    )  # fmt: skip


def relative_table(data: dict[str, Any], quantity: str) -> Table:
    """Percent of the cluster algorithm, ours beside the printed ones."""
    number, cluster, _ = TABLES[quantity]
    columns = ["method", "robot", "call", "batch", "operations", "paper"]
    rows = []
    for method, paper in PERCENT[quantity].items():
        for (name, title), printed in zip(ROBOTS.items(), paper, strict=True):
            if name in data:
                entries = data[name][quantity]
                ours = [percent(more(entries, method, cluster, k)) for k in ("call_us", "batch_us", "operations")]
                rows.append([NAMES[method], title, *ours, percent(printed)])
    return Table(f"Table {number}: compared with {NAMES[cluster]}", columns, rows)


def absolute_table(data: dict[str, Any], quantity: str) -> Table:
    """Times, operations and errors of every method."""
    number, cluster, _ = TABLES[quantity]
    rows = []
    for name, title in ROBOTS.items():
        for method in (cluster, *PERCENT[quantity]) if name in data else ():
            e = data[name][quantity][method]
            rows.append(
                [
                    title, NAMES[method], digits(e["call_us"]), digits(e["batch_us"]), str(e["operations"]),
                    magnitude(e["error"]),
                ]
            )  # fmt: skip
    columns = ["robot", "method", "call [µs]", "batch [µs/state]", "operations", "error against dense_kkt"]
    return Table(f"Table {number}, in microseconds", columns, rows)


def bars(data: dict[str, Any], quantity: str) -> Plot:
    """Times of one call, a bar per robot and method."""
    _, cluster, shown = TABLES[quantity]
    names = [n for n in ROBOTS if n in data]
    series = {
        NAMES[m]: ([ROBOTS[n] for n in names], [data[n][quantity][m]["call_us"] for n in names])
        for m in (cluster, *PERCENT[quantity])
    }
    what = {"9": "Inverse dynamics", "10": "Forward dynamics", "12": "Inverse operational-space inertia"}[shown]
    return Plot(f"figure_{shown}", f"{what} of six robots (Figure {shown})", series, bars=True, y="one call [µs]")


def notes(data: dict[str, Any]) -> list[str]:
    """Where ours differ from the paper, and why."""
    out = []

    def spans(quantity: str, method: str, key: str = "operations") -> str:
        cluster = TABLES[quantity][1]
        return percent_range(more(data[n][quantity], method, cluster, key) for n in ROBOTS if n in data)

    def printed(quantity: str, method: str) -> str:
        return percent_range(PERCENT[quantity][method])

    same = [n for n in data if not more(data[n]["inverse_dynamics"], "projected_rnea", "cluster_rnea", "operations")]
    if same:
        out.append(
            f"Projected RNEA is printed as {printed('inverse_dynamics', 'projected_rnea')} against C-RNEA; ours needs "
            f"exactly as many operations on {len(same)} of {len(data)} robots. The trace folds both into the same "
            "arithmetic: what C-RNEA saves in a library that handles matrices at run time, constant folding saves for "
            "either."
        )
    for quantity, method in (
        ("forward_dynamics", "approximate_aba"), ("forward_dynamics", "projection"), ("forward_dynamics", "lagrange"),
        ("inverse_osim", "projected_osim"), ("inverse_osim", "approximate_efpa"),
    ):  # fmt: skip
        out.append(
            f"{NAMES[method]} against {NAMES[TABLES[quantity][1]]}: printed {printed(quantity, method)}; ours "
            f"{spans(quantity, method)} in operations, {spans(quantity, method, 'call_us')} per call, "
            f"{spans(quantity, method, 'batch_us')} in batches."
        )
    out.append(
        "Exactness costs less here than in the paper (approximate methods save less): rotors that are symmetric about "
        "their axes fold to a few constants. The gap to the cubic methods is wider on the large robots, whose "
        "factorisations do not fold, and narrower on the chains, whose matrices are small."
    )
    return out
