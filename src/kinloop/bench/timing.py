"""Timing that is fair: one core, warmed up, all contenders in turn, the best of several rounds."""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Effort:
    """How long to measure: turns per contender, seconds per turn, states per batch.

    Many short turns find the moments when nobody else is on the core; a few long ones do not.
    """

    rounds: int = 200
    budget: float = 5e-4
    batch: int = 512
    quick: bool = False


QUICK = Effort(rounds=40, quick=True)

CLOCK = 1e-7
"""Times below this are not told apart by the clock [s]."""
LEAST_TURNS = 5
"""Turns that even the slowest contender gets."""


@contextlib.contextmanager
def no_collector() -> Iterator[None]:
    """Keep Python's garbage collector out of the measurements, as timeit does."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core while the block runs, where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def seconds_per_call(
    cases: Mapping[Any, Callable[[], Any]], rounds: int = 200, budget: float = 5e-4, limit: float = 2.0
) -> dict[Any, float]:
    """Seconds per call of each case: the smallest mean over `rounds` turns of about `budget` seconds each.

    A case whose turns would take more than `limit` seconds in all gets fewer, but at least LEAST_TURNS.
    """
    counts, turns = {}, {}
    for name, call in cases.items():
        call()
        once = min(_seconds(call, 1) for _ in range(3))
        counts[name] = max(1, int(budget / max(once, CLOCK)))
        turns[name] = min(rounds, max(LEAST_TURNS, int(limit / max(once * counts[name], CLOCK))))
    best = dict.fromkeys(cases, np.inf)
    for k in range(rounds):
        for name, call in cases.items():
            if k < turns[name]:
                best[name] = min(best[name], _seconds(call, counts[name]) / counts[name])
    return {name: float(t) for name, t in best.items()}


def _seconds(call: Callable[[], Any], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return time.perf_counter() - start


def machine() -> dict[str, str]:
    """The machine that measures: processor, cores, system, load at the moment, versions of what takes part."""
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as f:
        cpu = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), cpu)
    versions = {"python": platform.python_version()}
    for name in ("kinloop", "numpy", "llvmlite", "pin", "mujoco"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "?"
    return {"cpu": cpu, "cores": str(os.cpu_count()), "system": platform.system(), "load": load, **versions}
