"""Rollouts as a task: the same as rollouts by hand, to the bit, in whatever parts."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim.status import Status
from kinloop.sweeps import RolloutTask, SweepStopped
from kinloop.sweeps.rollout_task import NOT_BEGUN
from tests.sim.mechanisms import crank_rocker, parallelograms, pendulum, turned
from tests.sweeps.test_run_sweep import same


@pytest.fixture(scope="module")
def task():
    return RolloutTask(kl.Simulator(crank_rocker("crank_joint"), 1e-3), 50, record=("q", "v", "energy"))


def test_points_are_rollouts_by_hand(task):
    sim, robot = task.simulator, task.simulator.robot
    done = kl.sweep(task, {"v.crank_joint": [1.0, -2.0], "u.crank_joint": [0.0, 0.1, 0.2]})
    for k, point in enumerate(map(done.design.point, range(6))):
        run = sim.rollout(
            robot.neutral(), [point["v.crank_joint"]], [point["u.crank_joint"]], steps=50, record=task.record
        )
        np.testing.assert_array_equal(done["q"][k], run.q[-1])
        np.testing.assert_array_equal(done["v"][k], run.v[-1])
        assert done["energy"][k] == run.energy[-1] and done["peak_turning"][k] == run.peaks["turning"][0]
    assert set(done["status"]) == {Status.RUNNING} and set(done["reason"]) == {""}


def test_parts_change_no_bit(task):
    points = kl.sweeps.latin_hypercube({"q.crank_joint": (-1.0, 1.0), "v.crank_joint": (-3.0, 3.0)}, 19)
    pushed = RolloutTask(task.simulator, 50, push=0.3)
    whole = kl.sweep(pushed, points, seed=1, chunk=19)
    for chunk in (1, 4):
        assert same(whole, kl.sweep(pushed, points, seed=1, chunk=chunk))
    assert np.max(task.simulator.robot.loop_error(whole["q"])) < 1e-9


def test_a_start_that_cannot_be_is_told_and_the_others_go_on():
    robot = parallelograms(1)
    task = RolloutTask(kl.Simulator(robot, 1e-3), 5)
    starts = [turned(robot, angle, 0.0)[0] for angle in (0.3, np.pi / 2, 0.4)]
    done = kl.sweep(task, [{f"q.{n}": x for n, x in zip(robot.position_names, q, strict=True)} for q in starts])
    assert done["status"].tolist() == [Status.RUNNING, NOT_BEGUN, Status.RUNNING]
    assert "a dead centre; move off it" in done["reason"][1] and np.isnan(done["q"][1]).all()
    assert np.isfinite(done["q"][[0, 2]]).all() and NOT_BEGUN not in [int(s) for s in Status]


def test_unknown_parameters_list_near_names(task):
    with pytest.raises(
        SweepStopped, match=r"no parameter of a rollout named 'v\.crank'; did you mean 'v\.crank_joint'"
    ):
        kl.sweep(task, {"v.crank": [1.0]})


def test_tasks_are_told_apart_by_all_that_matters(task):
    sim = task.simulator
    others = [
        RolloutTask(sim, 51, record=task.record), RolloutTask(sim, 50),
        RolloutTask(sim, 50, record=task.record, push=0.1),
        RolloutTask(sim, 50, record=task.record, controls=[1.0]),
        RolloutTask(kl.Simulator(sim.robot, 2e-3), 50, record=task.record),
    ]  # fmt: skip
    assert len({t.identity for t in [task, *others]}) == 6
    again = RolloutTask(kl.Simulator(crank_rocker("crank_joint"), 1e-3), 50, record=task.record)
    assert again.identity == task.identity


def test_numbers_that_are_left_open_are_parameters():
    sim = kl.Simulator(pendulum(), 1e-3, open=["rod.mass"])
    done = kl.sweep(RolloutTask(sim, 40), {"rod.mass": [0.5, 1.0, 2.0], "u.rod_joint": [0.1]})
    usual = kl.sweep(RolloutTask(sim, 40), {"u.rod_joint": [0.1]})
    np.testing.assert_allclose(done["q"][1], usual["q"][0], rtol=1e-12)
    by_hand = sim.rollout(np.zeros(1), None, [0.1], steps=40, numbers={"rod.mass": [2.0]})
    np.testing.assert_array_equal(done["q"][2], by_hand.q[-1])
    assert len(np.unique(done["q"][:, 0])) == 3
