"""The vector environment, by gymnasium's own checker and by hand."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl

gymnasium = pytest.importorskip("gymnasium")


@pytest.fixture(scope="module")
def env():
    from kinloop.sim.tasks import standing

    return standing(kl.robots.load("mini_cheetah"), num_envs=5)


def test_environment_passes_gymnasiums_checker(env):
    from gymnasium.utils.env_checker import check_env

    from kinloop.sim.gym import KinloopEnv

    check_env(KinloopEnv(env.task), skip_render_check=True)


def test_vector_environment_keeps_gymnasiums_contract(env):
    obs, info = env.reset(seed=1)
    assert obs in env.observation_space and isinstance(info, dict)
    again, _ = env.reset(seed=1)
    assert np.array_equal(obs, again)
    env.action_space.seed(0)
    for _ in range(3):
        obs, reward, ended, cut, info = env.step(env.action_space.sample())
        assert obs in env.observation_space
        assert reward.shape == ended.shape == cut.shape == (5,)
    from gymnasium.vector.utils import batch_space

    assert env.observation_space == batch_space(env.single_observation_space, 5)
    assert env.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.NEXT_STEP


def test_doing_nothing_stands(env):
    env.reset(seed=0)
    for _ in range(60):
        _, reward, ended, _, _ = env.step(np.zeros((5, 12)))
    assert not np.any(ended) and np.all(reward > 0.5)


def test_rows_are_set_back_one_by_one(env):
    env.reset(seed=0)
    env._state.q[2, 3:7] = [0, 1, 0, 0]  # one robot on its back
    env._state.q[2, 2] = 0.5
    _, _, ended, _, _ = env.step(np.zeros((5, 12)))
    assert ended.tolist() == [False, False, True, False, False]
    other = env._state.q[0].copy()
    obs, reward, ended, _, _ = env.step(np.zeros((5, 12)))
    assert not ended[2] and reward[2] == 0.0 and obs[2, 3] > 0.99
    assert not np.array_equal(other, env._state.q[0])
