"""Batches in chunks over threads; machine code runs without the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from kinloop.errors import MethodError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_WORK_PER_THREAD = 4_000_000  # operations that make another thread worth waking: about a millisecond
SINGLE_THREAD_WORK = 2 * _WORK_PER_THREAD - 1  # the most that is left to one thread by default


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def allowed_threads() -> int:
    """How many threads may work at once: KINLOOP_THREADS, or one for each core."""
    text = os.environ.get("KINLOOP_THREADS", "").strip() or str(cores())
    if not text.isdigit() or int(text) < 1:
        raise MethodError(f"KINLOOP_THREADS={text!r} is not a number of threads; give a whole number from 1 on")
    return int(text)


def threads_for(given: int | None, work: int) -> int:
    """How many threads: as given, else as many as the work is worth, up to KINLOOP_THREADS or all cores."""
    if given is None:
        wanted = work // _WORK_PER_THREAD
        return 1 if wanted < 2 else min(wanted, allowed_threads())
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
    pool = _WORKERS.pool(threads - 1)
    others = [pool.submit(chunk, a, b) for a, b in pairwise(edges[1:])]
    first = chunk(edges[0], edges[1])  # the calling thread need not be woken
    answers = [first, *(other.result() for other in others)]
    return min((a for a in answers if a >= 0), default=-1)


class Workers:
    """Threads that wait for chunks: as many as the widest call so far asked for.

    There is one such set for the whole process, because threads share its cores: a set for each kernel would
    multiply them, and a set for each call would cost a small batch more than its work. No result depends on
    it. A forked process, which inherits no threads, starts its own.
    """

    def __init__(self) -> None:
        self._made: tuple[int, int, ThreadPoolExecutor] | None = None

    def pool(self, threads: int) -> ThreadPoolExecutor:
        """A pool with at least so many threads; a narrower one before it ends with the last call that uses it."""
        made = self._made  # one read, since another thread may replace it
        if made is None or made[0] != os.getpid() or made[1] < threads:
            from concurrent.futures import ThreadPoolExecutor  # here, since it takes 5 ms of every start

            made = (os.getpid(), threads, ThreadPoolExecutor(threads, thread_name_prefix="kinloop"))
            self._made = made
        return made[2]


_WORKERS = Workers()
