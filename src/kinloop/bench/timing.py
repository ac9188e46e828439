"""Timing that is fair: one core, warmed up, all contenders in turn, the best of several rounds."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


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


def seconds_per_call(cases: dict[str, Callable[[], Any]], rounds: int = 7, budget: float = 0.02) -> dict[str, float]:
    """Seconds per call of each case: the smallest mean over `rounds` turns of about `budget` seconds each."""
    counts = {}
    for name, call in cases.items():
        call()
        start = time.perf_counter()
        call()
        counts[name] = max(1, int(budget / max(time.perf_counter() - start, 1e-7)))
    best = dict.fromkeys(cases, np.inf)
    for _ in range(rounds):
        for name, call in cases.items():
            n = counts[name]
            start = time.perf_counter()
            for _ in range(n):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / n)
    return {name: float(t) for name, t in best.items()}


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as f:
        cpu = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), cpu)
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    for name, module in (("kinloop", "kinloop"), ("llvmlite", "llvmlite"), ("pin", "pinocchio"), ("mujoco", "mujoco")):
        with contextlib.suppress(ImportError):
            versions[name] = str(getattr(__import__(module), "__version__", "?"))
    return {"cpu": cpu, "cores": str(os.cpu_count()), **versions}
