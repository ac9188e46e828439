"""Large mechanisms: what a link costs in chains of four-bars, in calls and in batches, in code and in compile time.

    python benchmarks/large.py [links ...]

Forward dynamics of chains of equal four-bars, and of four-bars whose masses and lengths all differ. All chains are
timed in turn, in one process, on one core. Ratios are to the shortest chain; times per link are held against 1.15.
Trace and compile times are of kernels that no cache has, the latter for one state and for lanes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import kinloop
from kinloop.bench.report_elements import Section, Table
from kinloop.bench.timing import machine, no_collector, one_core, seconds_per_call
from kinloop.cli.bench_command import WIDE, print_section
from kinloop.cli.terminal_output import console
from kinloop.model import Builder, Mechanism
from kinloop.robots import zoo

LINKS = (20, 100, 400)
ROWS = 512
MOST = 1.15
"""What a link may cost at most, in times what it costs in the shortest chain."""
COLUMNS = ["chain", "links", "operations", "call [us/link]", "ratio", "batch [us/link]", "ratio", "code [kB]",
           "ratio", "trace [s]", "compile [s]", "ratio"]  # fmt: skip


def unequal(links: int) -> Mechanism:
    """Planar four-bars, each on the rocker of the one before, of which no two are equal."""
    rng = np.random.default_rng(0)
    b = Builder("unequal_four_bars")
    parent, x = "world", 0.0
    for k in range(links):
        crank, coupler, rocker = rng.uniform((0.35, 0.95, 0.75), (0.45, 1.05, 0.85))
        for name, on, at, length in (
            ("crank", parent, x, crank), ("coupler", f"crank-{k}", crank, coupler), ("rocker", parent, x + 1.2, rocker),
        ):  # fmt: skip
            mass = rng.uniform(1.0, 2.0)
            across = mass * length * length / 12.0
            inertia = (1e-3 * mass, across, across)
            b.body(f"{name}-{k}", on, axis="y", at=(at, 0, 0), mass=mass, com=(length / 2, 0, 0), inertia=inertia)
        pins = {"at": (coupler, 0, 0), "at_successor": (rocker, 0, 0)}
        b.loop(f"pin-{k}", f"coupler-{k}", f"rocker-{k}", axis="y", **pins)
        b.independent.append(f"crank-{k}_joint")
        parent, x = f"rocker-{k}", rng.uniform(0.1, 0.2)
    return b.mechanism()


CHAINS: dict[str, Callable[[int], Mechanism]] = {
    "equal": lambda links: zoo.mechanism("four_bar_chain", links=links),
    "unequal": unequal,
}


@dataclass(frozen=True)
class Chain:
    """A chain, its calls, and what its kernel cost."""

    links: int
    operations: int
    code: int
    trace: float
    compile: float
    call: Callable[[], Any]
    batch: Callable[[], Any]


def build(mechanism: Mechanism, links: int) -> Chain:
    """The kernel of a chain, traced and compiled here."""
    robot = kinloop.Robot(mechanism)
    start = time.perf_counter()
    kernel = robot.compile("forward_dynamics", cache=False)
    traced = time.perf_counter()
    kernel.compile().compile(batch=True)
    compiled = time.perf_counter()
    q, v = robot.random_state(0)
    rows = [np.tile(x, (ROWS, 1)) for x in (q, v, v)]
    state = (q, v, v, np.empty(robot.nv))
    return Chain(
        links, kernel.operations["total"], kernel.nbytes, traced - start, compiled - traced,
        partial(kernel, *state), partial(kernel, *rows, np.empty((ROWS, robot.nv)), threads=1),
    )  # fmt: skip


def row(
    kind: str, chain: Chain, least: Chain, per_link: tuple[float, float], shortest: tuple[float, float]
) -> list[str]:
    """A line of the table: a chain beside the shortest; seconds per link of a call and of a row of a batch."""
    ratios = [mine / its for mine, its in zip(per_link, shortest, strict=True)]
    call, batch = (f"{1e6 * seconds:.4f}" for seconds in per_link)
    kept = [f"{ratio:.2f}{'' if ratio <= MOST else ' MISSED'}" for ratio in ratios]
    code, compiled = chain.code / least.code, chain.compile / least.compile
    return [
        kind, str(chain.links), f"{chain.operations:,}", call, kept[0], batch, kept[1], f"{chain.code / 1e3:.1f}",
        f"{code:.2f}", f"{chain.trace:.2f}", f"{chain.compile:.2f}", f"{compiled:.1f}",
    ]  # fmt: skip


def main(sizes: list[int]) -> None:
    """Print the table."""
    with one_core():
        chains = {(kind, n): build(make(n), n) for kind, make in CHAINS.items() for n in sizes}
        with no_collector():
            calls = seconds_per_call({key: chain.call for key, chain in chains.items()})
            batches = seconds_per_call({key: chain.batch for key, chain in chains.items()}, rounds=40)
    each = {(kind, n): (calls[kind, n] / n, batches[kind, n] / n / ROWS) for kind, n in chains}
    first = sizes[0]
    rows = [
        row(kind, chain, chains[kind, first], each[kind, n], each[kind, first]) for (kind, n), chain in chains.items()
    ]
    table = Table(f"Forward dynamics of chains of four-bars; ratios to {first} links", COLUMNS, rows)
    print_section(Section("Large mechanisms", str(machine()), [table]), console(WIDE))


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or list(LINKS))
