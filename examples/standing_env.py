"""A Gymnasium vector environment: Mini Cheetah stands, under servos whose targets a policy may shift."""

import time

import numpy as np

import kinloop as kl
from kinloop.sim.tasks import standing

env = standing(kl.robots.load("mini_cheetah"), num_envs=64)
print("observations", env.single_observation_space.shape, "actions", env.single_action_space.shape)

observations, _ = env.reset(seed=0)
env.step(np.zeros((64, 12), dtype=np.float32))  # compiles

rng = np.random.default_rng(0)
for name, noise in (("servos alone", 0.0), ("random actions", 0.6)):
    env.reset(seed=0)
    total, episodes, start = np.zeros(64), 0, time.perf_counter()
    for _ in range(200):
        actions = np.clip(noise * rng.normal(size=(64, 12)), -1.0, 1.0).astype(np.float32)
        observations, rewards, ended, cut, _ = env.step(actions)
        total += rewards
        episodes += int(np.sum(ended | cut))
    rate = 200 * 64 * env.task.hold / (time.perf_counter() - start)
    print(f"{name}: mean reward {np.mean(total) / 200:.3f}, {episodes} falls, {rate:,.0f} simulated steps per second")
env.close()
