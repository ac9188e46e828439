"""Batches over threads: how many, and the same answer."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import threading

import numpy as np
import pytest

from kinloop.compiler import compile_function
from kinloop.compiler.run import threads
from kinloop.errors import MethodError
from tests.compiler.graphs import double, random_function, random_states


def test_threads_come_from_the_environment(monkeypatch):
    kernel, x = double(), np.ones((2_000_000, 3))
    used = []
    run = threads.run_chunks
    monkeypatch.setattr("kinloop.compiler.run.variant.run_chunks", lambda *a: used.append(a[-1]) or run(*a))
    for text, most in (("2", 2), ("1", 1), ("", threads.cores())):
        monkeypatch.setenv("KINLOOP_THREADS", text)
        assert (kernel(x, x) == 3).all() and used[-1] <= most
    monkeypatch.setenv("KINLOOP_THREADS", "many")
    with pytest.raises(MethodError, match="KINLOOP_THREADS"):
        kernel(x, x)
    few = np.empty((64, 3))
    assert (kernel(x[:64].tolist(), x[:64], out=few) == 3).all() and used[-1] == 1  # not worth a second thread


def test_many_python_threads_may_share_a_new_kernel():
    kernel = compile_function(random_function(7), cache=False)
    q, v = random_states(np.random.default_rng(3), 64)
    answers: list = [None] * 8

    def work(k):
        answers[k] = kernel(q, v) if k % 2 else [np.array(x) for x in zip(*[kernel(*s) for s in zip(q, v)])]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    assert len({b"".join(np.ascontiguousarray(x).tobytes() for x in a) for a in answers}) == 1


def test_there_are_no_more_threads_than_the_widest_call_asked_for(monkeypatch):
    monkeypatch.setattr(threads, "_WORKERS", threads.Workers())
    before = set(threading.enumerate())
    kernel, x = double(), np.ones((1000, 3))
    for wanted in (2, 3, 2, 5, 4, 2):
        assert (kernel(x, x, threads=wanted) == 3).all()
    pool = threads._WORKERS.pool(4)  # besides the thread that calls
    assert threads._WORKERS.pool(2) is pool
    gc.collect()  # narrower pools end with their last call
    for t in set(threading.enumerate()) - before - set(pool._threads):
        t.join(10)
        assert not t.is_alive()
    assert 1 <= len(pool._threads) <= 4


def add_in_child(kernel, x, answers):
    answers.put(bool((kernel(x, x, threads=2) == 3).all()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_starts_threads_of_its_own():
    """A process that is forked inherits the pool, but none of its threads: work given to it would wait for ever."""
    kernel, x = double(), np.ones((1000, 3))
    assert (kernel(x, x, threads=2) == 3).all()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=add_in_child, args=(kernel, x, answers))
    child.start()
    try:
        assert answers.get(timeout=30)
        child.join(30)
        assert child.exitcode == 0
    finally:
        child.kill()


def test_chunks_cover_all_rows_once_in_whole_steps():
    for rows in (1, 7, 8, 9, 100):
        for count in (1, 2, 3, 7):
            seen = []
            threads.run_chunks(lambda a, b, seen=seen: seen.append((a, b)) or -1, rows, 4, count)
            seen.sort()
            assert seen[0][0] == 0 and seen[-1][1] == rows and all(a % 4 == 0 for a, _ in seen)
            assert all(first[1] == second[0] for first, second in itertools.pairwise(seen)) and len(seen) <= count


def test_the_smallest_answer_of_all_chunks_counts():
    assert threads.run_chunks(lambda a, b: a if a else -1, 100, 4, 3) == 32
    assert threads.run_chunks(lambda a, b: -1, 100, 4, 3) == -1
