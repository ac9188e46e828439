"""A Gymnasium vector environment: Mini Cheetah stands, under servos whose targets a policy may shift."""

import time

import numpy as np

from kinloop.learn.tasks.legged_machine import mini_cheetah
from kinloop.learn.tasks.standing_task import Standing
from kinloop.learn.vector_env import KinloopVectorEnv

task = Standing(mini_cheetah())
env = KinloopVectorEnv(task, num_envs=64, autoreset="same_step")
print("observations", env.single_observation_space.shape, "actions", env.single_action_space.shape)

env.reset(seed=0)
env.step(np.zeros((64, 12)))  # compiles

rng = np.random.default_rng(0)
for name, noise in (("servos alone", 0.0), ("random actions", 0.6)):
    env.reset(seed=0)
    total, episodes, start = np.zeros(64), 0, time.perf_counter()
    for _ in range(200):
        observations, rewards, ended, cut, _ = env.step(noise * rng.normal(size=(64, 12)))
        total += rewards
        episodes += int(np.sum(ended))
    rate = 200 * 64 * task.hold / (time.perf_counter() - start)
    print(f"{name}: mean reward {np.mean(total) / 200:.3f}, {episodes} falls, {rate:,.0f} simulated steps per second")
env.close()
