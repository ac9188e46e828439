"""How long it takes from a model to its first answers, each in a process of its own, on one core.

    python benchmarks/building.py [robot ...]

Robots are those of `kinloop.bench.model_files.TREES` ("Talos"), or chains of so many four-bars ("100"). Columns: the
import of kinloop, the mechanism (from its file, or the builder), the best of five more loads, the robot with its
clusters and charts, a closed configuration, the first forward dynamics, the first random state; then the sum of the
mechanism, robot, configuration and forward dynamics, which is held against a limit. "cold" begins with an empty cache
of kernels, "warm" finds all in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROBOTS = ("Panda", "Go1", "Talos", "20", "100", "400")
LIMITS = {
    ("Talos", "cold"): 1.5, ("100", "cold"): 3.0, ("400", "cold"): 12.0, ("Talos", "warm"): 0.25, ("100", "warm"): 0.6,
}  # fmt: skip
"""What load and first forward dynamics may take at most [s]."""
LOADS = {"Talos": 0.015}
"""What reading the file again may take at most [s]."""
STAGES = ("import", "mechanism", "again", "robot", "neutral", "forward_dynamics", "random_state")


def measure(name: str, repeats: int = 5) -> dict[str, float]:
    """Seconds of each stage in this process, which has not imported kinloop before."""
    import numpy as np

    spent: dict[str, float] = {}

    def timed(stage: str, call: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        out = call()
        seconds = time.perf_counter() - start
        spent[stage] = min(seconds, spent.get(stage, seconds))
        return out

    kinloop = timed("import", partial(__import__, "kinloop"))
    make = _maker(name)
    mechanism = timed("mechanism", make)
    for _ in range(repeats):
        timed("again", make)
    robot = timed("robot", lambda: kinloop.Robot(mechanism))
    q, v = timed("neutral", robot.neutral), np.zeros(robot.nv)
    timed("forward_dynamics", lambda: robot.forward_dynamics(q, v, v))
    timed("random_state", lambda: robot.random_state(0))
    return spent


def _maker(name: str) -> Callable[[], Any]:
    """What makes the mechanism of a robot; it is imported here, since that is not what is timed."""
    from kinloop.bench.model_files import TREES, wheel_file
    from kinloop.io.load import load
    from kinloop.robots.link_chains import four_bar_chain

    if name.isdecimal():
        return lambda: four_bar_chain(int(name)).mechanism()
    ending, free = TREES[name]
    path = wheel_file(ending)
    if path is None:
        raise SystemExit(f"{name} needs the file {ending!r} of the wheel: pip install 'kinloop[peers]'")
    return lambda: load(path, floating_base=free)


def in_a_process(name: str, cache: Path) -> dict[str, float]:
    """`measure` in a new process that keeps its kernels in a folder."""
    command = [sys.executable, "-W", "ignore", __file__, "--measure", name]
    run = subprocess.run(command, env=os.environ | {"KINLOOP_CACHE_DIR": str(cache)}, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{name} could not be built: {run.stderr.strip().splitlines()[-1]}")
    spent: dict[str, float] = json.loads(run.stdout)
    return spent


def row(name: str, state: str, spent: dict[str, float]) -> list[str]:
    """A line of the table."""
    total = sum(spent[stage] for stage in ("mechanism", "robot", "neutral", "forward_dynamics"))
    limit, load = LIMITS.get((name, state)), LOADS.get(name, float("inf"))
    cells = {stage: f"{1e3 * spent[stage]:.1f}" for stage in STAGES}
    if spent["again"] > load:
        cells["again"] += f" > {1e3 * load:g}"
    kept = "" if limit is None else f"{limit:g}" if total <= limit else f"{limit:g} MISSED"
    return [name, state, *cells.values(), f"{total:.3f}", kept]


def main(names: list[str]) -> None:
    """Print the table."""
    from kinloop.bench.report_elements import Section, Table
    from kinloop.bench.timing import machine
    from kinloop.cli.bench_command import WIDE, print_section
    from kinloop.cli.terminal_output import console

    rows = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            for state in ("cold", "warm"):
                rows.append(row(name, state, in_a_process(name, Path(folder))))
    columns = ["robot", "cache", *(f"{stage} [ms]" for stage in STAGES), "load + first dynamics [s]", "limit [s]"]
    print_section(
        Section("Building", str(machine()), [Table("From a model to first answers", columns, rows)]), console(WIDE)
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main(sys.argv[1:] or list(ROBOTS))
