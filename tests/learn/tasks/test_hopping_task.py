"""Hopping: the leg is closed, stands on its foot, and jumps when its knee is stretched."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from kinloop.learn.tasks.hopping_task import Hopping, hopping_leg
from kinloop.learn.vector_env import KinloopVectorEnv


@pytest.fixture(scope="module")
def env():
    return KinloopVectorEnv(Hopping(), 4)


def test_the_leg_stands_closed_in_the_upright_plane():
    robot = hopping_leg()
    q = Hopping(robot).home
    foot, hip = robot.frame_pose(q, "end-effector")[:3, 3], robot.frame_pose(q, "thigh")[:3, 3]
    assert robot.loop_error(q).max() < 1e-12 and foot[2] == pytest.approx(0.0, abs=1e-12) and hip[2] > 0.1
    assert abs(foot[1]) < 1e-12, "it stays in the plane"


def test_a_stretched_knee_lifts_the_foot_and_is_rewarded(env):
    seen, _ = env.reset(seed=0)
    assert seen.shape == (4, 12)
    for _ in range(30):
        env.step(np.zeros((4, 2)))
    quiet = env.step(np.zeros((4, 2)))[1]
    best, flew = np.full(4, -np.inf), np.zeros(4, dtype=bool)
    for _ in range(15):
        seen, reward, *_ = env.step(np.tile([0.5, -1.0], (4, 1)))
        best, flew = np.maximum(best, reward), flew | (seen[:, 9] == 0.0)
    assert np.all(flew) and np.all(best > quiet + 0.1)
