"""Batches over threads: how many, and the same answer."""

from __future__ import annotations

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
    assert (kernel(x[:64], x[:64], out=few) == 3).all() and used[-1] == 1  # not worth a second thread


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
