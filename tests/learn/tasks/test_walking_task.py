"""Walking: commands, gait and reward of Mini Cheetah and Tello."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from kinloop import scalar as sc
from kinloop.learn.learning_task import between, times
from kinloop.learn.tasks.legged_machine import mini_cheetah, tello
from kinloop.learn.tasks.walking_task import Walking
from kinloop.learn.vector_env import KinloopVectorEnv
from kinloop.sim import HeightField


def test_everything_at_once_runs_and_reproduces():
    """Masses, friction, motors, terrain, latency, pushes and noise of every row."""
    machine = mini_cheetah()
    ground = HeightField(lambda x, y, rough: rough * sc.sin(9.0 * x) * sc.sin(7.0 * y), numbers={"rough": 0.0})
    vary = {
        "Floating Base.mass": times(0.8, 1.3),
        "ground.friction": between(0.4, 1.2),
        "ground.rough": between(0, 0.02),
    }
    vary |= {f"{m.joint}.strength": times(0.8, 1.1) for m in machine.servos}
    task = Walking(machine, ground=ground, vary=vary, latency=(0.0, 0.02), push=60.0, push_every=0.2, noise=0.01)
    found = []
    for threads in (1, 2):
        env = KinloopVectorEnv(task, 20, autoreset="same_step", threads=threads)
        env.reset(seed=1)
        rng = np.random.default_rng(0)
        total = [env.step(rng.uniform(-1, 1, (20, 12)))[:4] for _ in range(25)]
        found.append(total)
        assert np.all(np.isfinite(total[-1][0]))
    assert all(np.array_equal(a, b) for x, y in zip(*found, strict=True) for a, b in zip(x, y, strict=True))
    assert np.ptp(env.rows.numbers, axis=0).min() > 0.005


@pytest.mark.parametrize("make", [mini_cheetah, tello])
def test_commands_are_drawn_within_their_ranges_and_seen(make):
    task = Walking(make(), command=((0.2, 0.4), (0.0, 0.0), (-1.0, 1.0)), command_every=0.1)
    env = KinloopVectorEnv(task, 30, autoreset="same_step")
    seen, _ = env.reset(seed=0)
    first = seen[:, -5:-2]
    assert np.all((first[:, 0] >= 0.2) & (first[:, 0] <= 0.4)) and not np.any(first[:, 1]) and np.ptp(first[:, 2]) > 1.0
    for _ in range(10):
        seen, reward, *_ = env.step(np.zeros((30, task.action_size)))
    assert np.mean(seen[:, -3] != first[:, 2]) > 0.5 and np.all(reward <= 1.0)
    turn = 2 * np.pi * 10 * task.period / task.machine.stride
    np.testing.assert_allclose(seen[:, -2:], [[np.sin(turn), np.cos(turn)]] * 30, atol=1e-12)


def test_standing_still_is_worth_most_where_nothing_is_asked_but_a_gait():
    still, fast = (KinloopVectorEnv(Walking(mini_cheetah(), command=((v, v), (0, 0), (0, 0))), 8) for v in (0.0, 1.0))
    rewards = []
    for env in (still, fast):
        env.reset(seed=0)
        rewards.append(np.mean([env.step(np.zeros((8, 12)))[1].mean() for _ in range(25)]))
    assert 0.75 < rewards[0] < 1.0 and rewards[1] < 0.5
