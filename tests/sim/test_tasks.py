"""The example task: a quadruped that learns to stand."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl

pytest.importorskip("gymnasium")

from kinloop.sim.tasks import Standing, posed


def test_a_pose_is_closed_and_has_the_angles_asked_for():
    b = kl.Builder("geared")
    b.body("link", axis="z", mass=1.0, inertia=(1, 1, 1), joint_name="joint")
    b.body("rotor", axis="z", mass=0.1, inertia=(1, 1, 1), joint_name="motor")
    b.gear("motor", "joint", 6.0)
    b.independent = ["joint"]
    assert posed(b.build().tree, {"joint": 0.5}) == pytest.approx([0.5, 3.0])


@pytest.fixture(scope="module")
def task():
    return Standing(kl.robots.load("mini_cheetah"))


def test_episodes_begin_closed_just_above_the_ground(task):
    robot = task.sim.robot
    q, v = task.start(4, np.random.default_rng(0))
    assert q.shape == (4, robot.nq) and v.shape == (4, robot.nv)
    assert np.max(robot.loop_error(q)) < 1e-12
    feet = [f for f in robot.frame_names if f.endswith("foot_contact")]
    heights = np.array([[robot.frame_pose(x, f)[2, 3] for f in feet] for x in q])
    assert np.all(np.min(heights, axis=1) >= -1e-12) and np.all(np.min(heights, axis=1) <= 0.05)


def test_standing_is_seen_rewarded_and_not_the_end(task):
    state = task.sim.state(task.home)
    action = np.zeros((1, task.action_size))
    seen = task.observe(state, action)
    assert seen.shape == (1, task.observation_size)
    np.testing.assert_allclose(seen[0, 1:4], [0, 0, 1])
    assert task.reward(state, action)[0] > 0.5 and not task.ended(state)[0]
    lying = task.home.copy()
    lying[3:7] = 0.0, 1.0, 0.0, 0.0
    over = task.sim.state(lying)
    assert task.ended(over)[0] and task.reward(over, action)[0] < 0.0
    assert np.array_equal(task.controls(action)[0], task.pose)
