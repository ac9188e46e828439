"""Batches in chunks over threads; machine code runs without the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from kinloop.errors import MethodError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_WORK_PER_THREAD = 4_000_000  # operations that make another thread worth waking: about a millisecond
SINGLE_THREAD_WORK = 2 * _WORK_PER_THREAD - 1  # the most that is left to one thread by default
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_for(given: int | None, work: int) -> int:
    """How many threads: as given, else as many as the work is worth, up to KINLOOP_THREADS or all cores."""
    if given is None:
        wanted = work // _WORK_PER_THREAD
        if wanted < 2:
            return 1
        text = os.environ.get("KINLOOP_THREADS", "").strip() or str(_cores())
        if not text.isdigit() or int(text) < 1:
            raise MethodError(f"KINLOOP_THREADS={text!r} is not a number of threads; give a whole number from 1 on")
        return min(wanted, int(text))
    if not isinstance(given, int) or given < 1:
        raise MethodError(f"threads={given!r} is not a number of threads; give a whole number from 1 on")
    return given


def run_chunks(chunk: Callable[[int, int], int], rows: int, step: int, threads: int) -> int:
    """Run `chunk(start, stop)` over all rows; the smallest answer that is not negative, or -1."""
    blocks = -(-rows // step)
    threads = min(threads, blocks)
    if threads <= 1:
        return chunk(0, rows)
    edges = [min(rows, step * (blocks * i // threads)) for i in range(threads + 1)]
    answers = list(_pool(threads).map(chunk, edges[:-1], edges[1:]))
    return min((a for a in answers if a >= 0), default=-1)


def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that stay; a forked process makes its own."""
    key = (os.getpid(), threads)
    if key not in _pools:
        from concurrent.futures import ThreadPoolExecutor  # here, since it takes 5 ms of every start

        _pools[key] = ThreadPoolExecutor(threads, thread_name_prefix="kinloop")
    return _pools[key]
