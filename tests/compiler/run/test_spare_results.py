"""Large results that nobody has any more serve again; what somebody has, in whatever way, never does."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.run.spare_results import LEAST, LIMIT, SpareResults

REAL = np.dtype(np.float64)
SHAPE = (LEAST // 8, 2)


@pytest.fixture
def spares():
    return SpareResults()


def address(x):
    return x.__array_interface__["data"][0]


def test_what_nobody_has_any_more_serves_again(spares):
    first = spares.array(SHAPE, REAL)
    where = address(first)
    second = spares.array(SHAPE, REAL)
    assert address(second) != where
    del first
    assert address(spares.array(SHAPE, REAL)) == where


HELD = {
    "a name": lambda x: x,
    "a view": lambda x: x[3:],
    "a view of a view": lambda x: x.T[1:],
    "a buffer": lambda x: memoryview(x),
    "an element of a container": lambda x: {"x": [x]},
    "a closure": lambda x: lambda: x,
    "a weak reference": lambda x: weakref.ref(x),
    "numbers for C": lambda x: x.ctypes,
    "a frozen generator": lambda x: (y for y in [x]),
}


@pytest.mark.parametrize("hold", HELD.values(), ids=HELD)
def test_what_somebody_has_never_changes(spares, hold):
    first = spares.array(SHAPE, REAL)
    where, held = address(first), hold(first)
    del first
    for _ in range(3):
        assert address(spares.array(SHAPE, REAL)) != where
    del held


def lock(x):
    x.flags.writeable = False


CHANGES = {
    "shape": lambda x: setattr(x, "shape", SHAPE[::-1]),
    "locked": lock,
    "cut": lambda x: x.resize((2, 2), refcheck=False),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.filterwarnings("ignore:Setting the shape")
def test_what_was_changed_does_not_serve_again(spares, change):
    first = spares.array(SHAPE, REAL)
    where = address(first)
    change(first)
    del first
    kept = [spares.array(SHAPE, REAL) for _ in range(3)]
    assert where not in map(address, kept)
    assert all(x.flags.writeable and x.shape == SHAPE for x in kept)


def test_other_shapes_and_precisions_are_others(spares):
    where = address(spares.array(SHAPE, REAL))
    assert address(spares.array((*SHAPE, 1), REAL)) != where
    single = spares.array((SHAPE[0] * 2, SHAPE[1]), np.dtype(np.float32))
    assert single.dtype == np.float32 and address(single) != where


def test_memory_stays_bounded(spares):
    large = (LIMIT // 8 // 4,)
    arrays = [spares.array(large, REAL) for _ in range(12)]
    watched = [weakref.ref(x) for x in arrays]
    del arrays
    assert sum(x() is not None for x in watched) == 4
    small = [spares.array((10,), REAL), spares.array((LIMIT // 8,), REAL)]
    watched = [weakref.ref(x) for x in small]
    del small
    assert all(x() is None for x in watched)  # the one costs nothing, the other is too large to be kept


def test_threads_get_arrays_of_their_own(spares):
    wrong = []

    def work(number):
        for _ in range(300):
            x = spares.array(SHAPE, REAL)
            x.fill(number)
            if (x != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_results_of_kernels_serve_again_and_stay_what_they_are():
    kernel = compile_function(sc.trace(lambda x: x * 2.0, {"x": 40}), cache=False)
    x = np.random.default_rng(0).normal(size=(1 << 14, 40))
    first = kernel(x, threads=2)
    where, kept = address(first), first.copy()
    second = kernel(-x, threads=2)
    assert np.array_equal(first, kept) and np.array_equal(second, -kept)
    del first
    again = kernel(second, threads=2)
    assert address(again) == where and np.array_equal(again, -2 * kept)
    assert np.array_equal(kernel(again, threads=2), -4 * kept)  # a result as an input of the next call
