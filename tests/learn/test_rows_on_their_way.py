"""Environments as rows of a batch: resets touch nobody else, and rewards that are no numbers are named."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.errors import MethodError
from kinloop.learn.learning_task import Start, Task
from kinloop.learn.random_numbers import streams
from kinloop.learn.rows_on_their_way import RowsOnTheirWay
from kinloop.learn.task_kernels import TaskKernels
from kinloop.sim import ContactPoint, Plane, Simulator
from tests.learn.small_tasks import Balancing


def test_rows_that_begin_anew_leave_the_others_alone():
    task = Balancing()
    kernels = TaskKernels(task)
    rows, other = (RowsOnTheirWay(task, kernels, streams(range(11)), 1) for _ in range(2))
    for k in range(4):
        a, b = rows.act(np.full((11, 1), 0.2)), other.act(np.full((11, 1), 0.2))
        if k == 1:
            rows.begin(np.array([3, 7]))
    stay = np.setdiff1d(np.arange(11), [3, 7])
    assert np.array_equal(a.observations[stay], b.observations[stay])
    assert np.all(a.observations[[3, 7], 5] == 2.0) and np.all(a.observations[stay, 5] == 4.0)


def test_a_reward_that_is_no_number_is_named():
    task = Balancing(vary=False)
    task.reward = lambda state: sc.sqrt(-1.0 - state.q[0] ** 2)
    rows = RowsOnTheirWay(task, TaskKernels(task), streams([0, 1]), 1)
    with pytest.raises(MethodError, match=r"the reward of environment 0 is .* a reward must be finite at every state"):
        rows.act(np.zeros((2, 1)))


class Weighing(Task):
    """A ball lies on the ground; forces and sensors tell its weight."""

    hold, limit, action_size = 20, 100, 1

    def __init__(self, robot):
        self.sim = Simulator(robot, ground=Plane(), contacts=[ContactPoint("ball", radius=0.1)])

    def start(self, random):
        return Start([0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0])

    def controls(self, state):
        return np.zeros(6)

    def observe(self, state):
        return np.concatenate([state.contact_force[0], state.sensors["felt"]])

    def reward(self, state):
        return 0.0

    def ended(self, state):
        return False


def test_forces_and_sensors_of_the_last_step_are_seen(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "ball.xml"
    path.write_text(
        '<mujoco><worldbody><body name="ball"><freejoint/><geom size="0.1" mass="2"/><site name="s"/></body>'
        '</worldbody><sensor><accelerometer name="felt" site="s"/></sensor></mujoco>'
    )
    task = Weighing(kl.load(path))
    rows = RowsOnTheirWay(task, TaskKernels(task), streams([0, 1, 2]), 1)
    assert not np.any(rows.observations(slice(None))[:, :3])
    for _ in range(3):
        seen = rows.act(np.zeros((3, 1))).observations
    np.testing.assert_allclose(seen[:, :3], [[0, 0, 2 * 9.81]] * 3, atol=1e-6)
    np.testing.assert_allclose(seen[:, 3:], [[0, 0, 9.81]] * 3, atol=1e-6)
