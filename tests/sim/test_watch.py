"""Names for the columns of what kernels watch."""

from __future__ import annotations

import numpy as np

from kinloop import scalar as sc
from kinloop.sim.status import Status
from kinloop.sim.watch import PEAKS, Watch
from tests.sim.mechanisms import begin_watch

N = len(Watch._fields)


def test_names_and_vector_are_inverse():
    x = np.arange(float(N))
    w = Watch.of(x)
    assert (w.status, w.steps, w.nearest, w.passed, w.last, w.before_last) == tuple(range(6))
    assert set(PEAKS) < set(Watch._fields) and [getattr(w, name) for name in Watch._fields] == x.tolist()
    assert np.array_equal(w.vector(), x)


def test_symbols_pass_through():
    x = sc.Graph().inputs("watch", N)
    w = Watch.of(x)
    assert w.steps is x[1] and all(a is b for a, b in zip(w.vector(), x, strict=True))


def test_columns_of_a_batch_are_views():
    x = np.arange(3.0 * N).reshape(3, N)
    w = Watch.of(x)
    assert np.array_equal(w.nearest, [2.0, 2.0 + N, 2.0 + 2 * N])
    w.status[1] = Status.OPEN
    w.steps[[0, 2]] += 100.0
    assert x[1, 0] == 3.0 and x[0, 1] == 101.0 and x[2, 1] == 101.0 + 2 * N
    assert np.array_equal(w.vector().T, x)


def test_rows_with_a_status_are_found():
    x = begin_watch(3)
    Watch.of(x).status[1] = Status.TOO_LONG
    assert Watch.of(x).has(Status.TOO_LONG).tolist() == [False, True, False]
    assert Watch.of(x[0]).has(Status.RUNNING) and not Watch.of(x[1]).has(Status.RUNNING)


def test_rows_begin_running_with_no_step_taken():
    x = begin_watch(4)
    assert x.shape == (4, N)
    w = Watch.of(x)
    assert np.all(w.status == Status.RUNNING) and np.all(w.steps == 0.0) and np.all(w.work == 0.0)
    assert not np.any([getattr(w, name) for name in (*PEAKS, "fault")]), "nothing has been large yet"
    assert np.all(w.nearest == 1.0) and not np.any(w.passed), "no singular configuration has been met yet"
    x[0, 0] = 7.0
    assert begin_watch(4)[0, 0] == Status.RUNNING, "every batch has its own"
