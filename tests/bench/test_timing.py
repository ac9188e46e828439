"""Timing: contenders take turns, slow ones get fewer."""

import gc
import os
import time

import pytest

from kinloop.bench.timing import LEAST_TURNS, machine, no_collector, one_core, seconds_per_call


def test_timing_takes_turns():
    calls = []
    found = seconds_per_call({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=3, budget=0.0)
    assert set(found) == {"a", "b"} and "".join(calls).endswith("ababab")


def test_slow_contenders_get_fewer_turns():
    calls = []

    def slow():
        calls.append(1)
        time.sleep(2e-3)

    found = seconds_per_call({"slow": slow}, rounds=50, budget=0.0, limit=1e-3)
    assert found["slow"] >= 2e-3
    assert len(calls) == 1 + 3 + LEAST_TURNS


def test_the_collector_rests_and_comes_back():
    assert gc.isenabled()
    with no_collector():
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins no processes")
def test_cores_are_given_back():
    before = os.sched_getaffinity(0)
    with one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_the_machine_is_described():
    assert {"cpu", "cores", "system", "load", "python", "numpy"} <= set(machine())
