"""`kinloop sweep`: a task at many points, on all cores of this machine or on a cluster."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from kinloop.cli.output_paths import writable
from kinloop.cli.terminal_output import progress, say
from kinloop.errors import MethodError
from kinloop.sweeps import SweepResult
from kinloop.sweeps import sweep as run_sweep
from kinloop.sweeps.results import table_path
from kinloop.sweeps.sweep_file import read_sweep


def sweep(
    file: Annotated[Path, typer.Argument(help="A sweep in TOML (docs/learning.md).")],
    out: Annotated[Path | None, typer.Option(help="Where results go: .parquet. Default: as the file says.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes on this machine. Default: one per core.")] = None,
    serial: Annotated[bool, typer.Option("--serial", help="One point after the other, in this process.")] = False,
    scheduler: Annotated[str | None, typer.Option(help="Address of a running Dask scheduler: tcp://host:8786.")] = None,
) -> None:
    """Run a task at many points of its parameters; interrupted, the same command goes on where it was."""
    if workers is not None and workers < 1:
        raise MethodError(f"--workers must be at least 1, received {workers}")
    if serial and (workers or scheduler):
        raise MethodError("--serial takes no --workers and no --scheduler; remove one of them")
    if workers and scheduler:
        raise MethodError("a scheduler has workers of its own; remove --workers or --scheduler")
    asked = read_sweep(file)
    path = writable(table_path(out)) if out else writable(asked.out)
    began = time.perf_counter()
    with _executor(serial, workers, scheduler) as executor, progress(f"sweep {file.name}") as report:
        found = run_sweep(
            asked.task, asked.design, executor, seed=asked.seed, path=path, chunk=asked.chunk, progress=report
        )
    say(f"wrote {path}: {_told(found)}, in {time.perf_counter() - began:.1f} s")


def _told(found: SweepResult) -> str:
    """What a sweep found, in a line."""
    told = f"{len(found)} points of {', '.join(found.design.names)}"
    if "status" not in found.values.arrays:
        return told
    lost = int((found["status"] != 1).sum())
    return f"{told}, {lost} not well (column reason)" if lost else f"{told}, all well"


@contextlib.contextmanager
def _executor(serial: bool, workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Who computes: this process, Dask's workers on this machine, or those of a scheduler."""
    if serial:
        yield None
        return
    try:
        import distributed
    except ImportError:
        raise MethodError("sweeps on many cores need Dask; pip install 'kinloop[dask]', or use --serial") from None
    dask: Any = distributed
    if scheduler is not None:
        with dask.Client(scheduler) as client:
            yield client.get_executor()
        return
    count = workers or os.cpu_count() or 1
    local = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0"}
    with dask.LocalCluster(n_workers=count, **local) as cluster, dask.Client(cluster) as client:
        yield client.get_executor()
