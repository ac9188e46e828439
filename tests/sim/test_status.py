"""Statuses are small integers with names, the same in kernels, rollouts and files."""

from __future__ import annotations

import numpy as np

import kinloop as kl
from kinloop.sim import Simulator, Status
from kinloop.sim.status import Fault
from tests.sim.mechanisms import pendulum


def test_statuses_are_the_integers_of_rollouts():
    names = ["RUNNING", "TOO_LONG", "OPEN", "DIVERGED", "SINGULAR", "UNBALANCED", "UNSOLVED", "CROWDED"]
    assert [(s.name, s.value) for s in Status] == list(zip(names, range(1, 9), strict=True))
    assert kl.sim.Status is Status


def test_faults_are_small_integers_too():
    assert [(f.name, f.value) for f in Fault] == [("OPEN", 1), ("ROUGH", 2), ("FAST", 3), ("BEYOND", 4), ("BLIND", 5)]


def test_rollouts_hold_integers_that_compare_with_names():
    controls = np.zeros((2, 3, 1))
    controls[1] = 1e12
    run = Simulator(pendulum(), 1e-3).rollout(np.zeros(1), np.ones(1), controls)
    assert run.status.dtype.kind == "i"
    assert [Status(s) for s in run.status] == [Status.RUNNING, Status.DIVERGED]
    assert run.diverged.tolist() == [False, True]
