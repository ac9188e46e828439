"""Standing: servos alone stand, pushes move, what has fallen ends."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from kinloop.learn.tasks.legged_machine import mini_cheetah
from kinloop.learn.tasks.standing_task import Standing
from kinloop.learn.vector_env import KinloopVectorEnv


@pytest.fixture(scope="module")
def machine():
    return mini_cheetah()


def test_servos_alone_stand(machine):
    env = KinloopVectorEnv(Standing(machine), 5)
    env.reset(seed=0)
    for _ in range(60):
        _, reward, ended, _, _ = env.step(np.zeros((5, 12)))
        assert not np.any(ended)
    assert np.all(reward > 0.5)


def test_pushes_come_now_and_then_and_move_the_base(machine):
    calm, pushed = (KinloopVectorEnv(Standing(machine, push=p, push_every=0.1), 40) for p in (1e-9, 80.0))
    for env in (calm, pushed):
        env.reset(seed=0)
        pushes = []
        for _ in range(20):
            env.step(np.zeros((40, 12)))
            pushes.append(env.kernels.carried.split(env.rows.carried)["push"].copy())
    often = np.mean(np.any(np.array(pushes) != 0.0, axis=-1))
    assert 0.1 < often < 0.3 and np.abs(pushes).max() <= 80.0
    speed = [np.abs(env.rows.state().qd[:, 4]).mean() for env in (calm, pushed)]
    assert speed[1] > 2 * speed[0]


def test_what_lies_on_its_back_ends(machine):
    env = KinloopVectorEnv(Standing(machine), 3)
    env.reset(seed=0)
    env.rows.batch.state.q[1, 2:7] = [0.5, 0, 1, 0, 0]
    _, _, ended, _, _ = env.step(np.zeros((3, 12)))
    assert ended.tolist() == [False, True, False]
