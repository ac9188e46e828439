"""`sweep`: a task at all points of a design, serially or by any executor, with the same results to the bit."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from typing import Any

from kinloop.compiler.keys import parts_digest
from kinloop.errors import KinloopError, MethodError
from kinloop.inputs import checked_count
from kinloop.progress import printable, working
from kinloop.sim.parquet import arrow
from kinloop.sweeps.designs import Design, as_design
from kinloop.sweeps.journal import Journal
from kinloop.sweeps.results import SweepResult, joined, load, table_path, values_of
from kinloop.sweeps.task_calls import (
    BatchTask,
    Failure,
    Outcome,
    Task,
    caller,
    identity,
    only_argument,
    packed,
    run_packed,
    run_points,
)

PARTS, MOST = 64, 256
"""A sweep is cut into so many parts, about, of so many points at most."""

Progress = Callable[[int, int], Any]


class SweepStopped(KinloopError, RuntimeError):
    """A sweep that ended before all of its points were done."""


def sweep(
    task: Task,
    parameters: Any,
    executor: Executor | None = None,
    *,
    seed: int = 0,
    path: str | Path | None = None,
    chunk: int | None = None,
    progress: Progress | None = None,
) -> SweepResult:
    """A task at all points of its parameters.

    `task` is a function of its parameters by name or of one mapping of them, which may take random numbers by an
    argument `rng`, or a `RolloutTask`. `parameters` are lists of values by name (every one with every other), a design
    (`kinloop.sweeps.grid`, `random`, `latin_hypercube`), or a sequence of points. `executor` is any
    `concurrent.futures.Executor`, such as Dask's `client.get_executor()`, or a Dask client; None computes here.

    Results come in the order of the points and are the same to the bit whoever computed them: a point's random numbers
    depend on `seed` and its number alone. With a `path`, they are written there as Parquet; what is done is kept beside
    it on the way, and the same call goes on from there if it was interrupted. `chunk` is how many points go to a worker
    at a time. `progress(done, all)` is called as points are done; without one there is a bar on terminals.
    """
    design, seed = as_design(parameters, only_argument(task)), checked_count("seed", seed, least=0)
    if not isinstance(task, BatchTask):
        caller(task, design.names)
    asked = parts_digest(("sweep", identity(task), _plain(design), seed))
    where = _place(path)
    if where is not None and where.exists():
        return _finished(where, asked)
    journal, total = Journal(where, asked), len(design)
    left = sorted(set(range(total)) - journal.done)
    size = checked_count("chunk", chunk) if chunk is not None else min(max(1, math.ceil(len(left) / PARTS)), MOST)
    chunks = [left[k : k + size] for k in range(0, len(left), size)]
    with working(f"sweep of {total} points", total) as bar:
        done = total - len(left)
        for outcome in _outcomes(task, design, seed, chunks, executor):
            journal.add(outcome.values)
            done += len(outcome.values.indices)
            bar(done)
            if progress is not None:
                progress(done, total)
            if outcome.failure is not None:
                raise _failed(outcome.failure, design, done, where)
    result = SweepResult(design, joined(journal.parts) if journal.parts else values_of((), ()), seed, asked)
    if where is not None:
        result.save(where)
        journal.remove()
    return result


def _outcomes(
    task: Task, design: Design, seed: int, chunks: list[list[int]], executor: Executor | None
) -> Iterator[Outcome]:
    """What comes of all chunks, in the order in which they are done."""
    if executor is None:
        for chunk in chunks:
            yield run_points(task, design.names, seed, chunk, [design.point(k) for k in chunk])
        return
    executor = executor.get_executor() if hasattr(executor, "get_executor") else executor
    payload = packed(task)
    waiting: list[Future[Outcome]] = []
    try:
        for chunk in chunks:
            asked = pickle.dumps((design.names, seed, chunk, [design.point(k) for k in chunk]))
            waiting.append(executor.submit(run_packed, payload, asked))
        for future in as_completed(waiting):
            yield future.result()
    except KinloopError:
        raise
    except Exception as error:  # tasks fail in words: this is about processes and machines
        raise SweepStopped(
            f"workers were lost before the sweep was done ({type(error).__name__}: {printable(str(error))}); what was "
            "done is kept where a path was given: call again with a new executor"
        ) from error
    finally:
        for future in waiting:
            future.cancel()


def _failed(failure: Failure, design: Design, done: int, path: Path | None) -> SweepStopped:
    """The error for a point at which the task failed."""
    at = ", ".join(f"{name} = {value!r}" for name, value in design.point(failure.point).items())
    kept = f"; {done} of {len(design)} points are kept, call again to go on" if path else ""
    error = SweepStopped(f"the task failed at point {failure.point} ({at}): {failure.words}{kept}")
    error.add_note(failure.trace)
    return error


def _place(path: str | Path | None) -> Path | None:
    if path is None:
        return None
    arrow()
    return table_path(path)


def _finished(path: Path, asked: str) -> SweepResult:
    """The result of a sweep that was done before."""
    found = load(path)
    if found.identity != asked:
        raise MethodError(
            f"{path.name!r} holds another sweep: its task, points or seed differ; remove it, or give another path"
        )
    return found


def _plain(design: Design) -> list[Any]:
    """The points as digests take them."""
    return [[name, [repr(value) for value in x]] for name, x in design.columns.items()]
