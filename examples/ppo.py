"""Mini Cheetah, with its rotors, learns to walk as a joystick asks: proximal policy optimisation in one file.

    pip install 'kinloop[gym,torch]'
    python examples/ppo.py                       # trains until the return is reached, writes walk.html
    python examples/ppo.py --seed 1 --quick      # a few updates

A policy and a value function, two small networks each, learn from 1024 environments that run side by side. Every
update takes 24 actions of each, estimates advantages [Schulman2016] and improves both by some passes over the samples
with the clipped objective of [Schulman2017]. The length of the policy's steps follows the divergence of the policies.
"""

import argparse
import time

import numpy as np
import torch
from torch import nn

from kinloop.learn.tasks.legged_machine import mini_cheetah
from kinloop.learn.tasks.walking_task import Walking
from kinloop.learn.vector_env import KinloopVectorEnv
from kinloop.viewer import record

ENVS, HORIZON, PASSES, PARTS = 1024, 24, 4, 4
GAMMA, LAMBDA, CLIP, ENTROPY, KL_TARGET = 0.99, 0.95, 0.2, 0.003, 0.01
REWARD_SCALE = 0.1  # keeps values, sums of about a hundred rewards, near one
GOAL = 0.80
"""The mean reward per action at which the machine walks well; 1 is the most there is."""


class Policy(nn.Module):
    """A normal distribution of actions for an observation, and the value of it."""

    def __init__(self, seen: int, actions: int) -> None:
        super().__init__()
        self.mean = network(seen, actions, 0.01)
        self.value = network(seen, 1, 1.0)
        self.log_std = nn.Parameter(torch.full((actions,), -0.7))

    def act(self, seen: torch.Tensor) -> torch.Tensor:
        """Actions drawn for observations."""
        mean = self.mean(seen)
        return mean + self.log_std.exp() * torch.randn_like(mean)

    def log_density(self, seen: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        """How likely actions are, as the logarithm of their density, but for a constant."""
        off = (action - self.mean(seen)) / self.log_std.exp()
        return -0.5 * off.square().sum(-1) - self.log_std.sum()


def network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Two hidden layers."""
    layers = [nn.Linear(inputs, 128), nn.ELU(), nn.Linear(128, 64), nn.ELU(), nn.Linear(64, outputs)]
    nn.init.orthogonal_(layers[-1].weight, gain)
    nn.init.zeros_(layers[-1].bias)
    return nn.Sequential(*layers)


def collect(env: KinloopVectorEnv, policy: Policy, seen: torch.Tensor) -> tuple[dict, torch.Tensor]:
    """HORIZON actions of all environments, as arrays (HORIZON, ENVS, ...), and what is seen after them."""
    kept = {name: [] for name in ("seen", "action", "log_p", "value", "reward", "over", "beyond")}
    for _ in range(HORIZON):
        with torch.no_grad():
            action = policy.act(seen)
            log_p, value = policy.log_density(seen, action), policy.value(seen)[:, 0]
            after, reward, ended, cut, info = env.step(action)
            beyond = torch.zeros_like(value)  # the value beyond an episode that was cut, not ended
            if bool((late := cut & ~ended).any()):
                beyond[late] = policy.value(info["final_obs"][late])[:, 0]
        found = (seen, action, log_p, value, REWARD_SCALE * reward, ended | cut, beyond)
        for name, x in zip(kept, found, strict=True):
            kept[name].append(x)
        seen = after
    return {name: torch.stack(x) for name, x in kept.items()}, seen


def advantages(kept: dict, last_value: torch.Tensor) -> torch.Tensor:
    """How much better actions were than expected, over all later differences [Schulman2016, (16)]."""
    out, sum_, next_value = torch.empty_like(kept["value"]), 0.0, last_value
    for k in reversed(range(HORIZON)):
        goes_on = (~kept["over"][k]).float()
        change = kept["reward"][k] + GAMMA * (next_value * goes_on + kept["beyond"][k]) - kept["value"][k]
        sum_ = change + GAMMA * LAMBDA * goes_on * sum_
        out[k], next_value = sum_, kept["value"][k]
    return out


def improve(policy: Policy, optimiser: torch.optim.Optimizer, kept: dict, advantage: torch.Tensor) -> float:
    """PASSES over the samples; the divergence of the policy from the one before."""
    target = (advantage + kept["value"]).reshape(-1)
    flat = {name: kept[name].reshape(-1, *kept[name].shape[2:]) for name in ("seen", "action", "log_p")}
    gain = advantage.reshape(-1)
    gain = (gain - gain.mean()) / (gain.std() + 1e-6)
    divergence = 0.0
    for _ in range(PASSES):
        for some in torch.randperm(len(gain)).chunk(PARTS):
            change = policy.log_density(flat["seen"][some], flat["action"][some]) - flat["log_p"][some]
            ratio = change.exp()
            clipped = ratio.clamp(1.0 - CLIP, 1.0 + CLIP)
            actor = -torch.minimum(ratio * gain[some], clipped * gain[some]).mean()
            critic = (policy.value(flat["seen"][some])[:, 0] - target[some]).square().mean()
            loss = actor + critic - ENTROPY * policy.log_std.sum()  # the entropy, but for a constant
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimiser.step()
            with torch.no_grad():
                divergence = float((ratio - 1.0 - change).mean())
                for group in optimiser.param_groups:  # longer steps while policies hardly differ, else shorter ones
                    if divergence > 2.0 * KL_TARGET:
                        group["lr"] = max(1e-5, group["lr"] / 1.5)
                    elif 0.0 < divergence < 0.5 * KL_TARGET:
                        group["lr"] = min(1e-2, group["lr"] * 1.5)
    return divergence


def train(seed: int, updates: int, envs: int = ENVS, threads: int | None = None) -> tuple[Policy, list[tuple]]:
    """A policy, and for every update the samples so far, seconds, mean reward and mean length of episodes."""
    torch.manual_seed(seed)
    task = Walking(mini_cheetah())
    env = KinloopVectorEnv(task, envs, autoreset="same_step", dtype="float32", output="torch", threads=threads)
    policy = Policy(env.single_observation_space.shape[0], task.action_size)
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-3)
    seen, _ = env.reset(seed=seed * envs)
    history, began, recent = [], time.perf_counter(), []
    for update in range(1, updates + 1):
        kept, seen = collect(env, policy, seen)
        with torch.no_grad():
            advantage = advantages(kept, policy.value(seen)[:, 0])
        divergence = improve(policy, optimiser, kept, advantage)
        reward = float(kept["reward"].mean()) / REWARD_SCALE
        falls = float((kept["over"] & (kept["beyond"] == 0.0)).float().mean())
        seconds, samples = time.perf_counter() - began, update * HORIZON * envs
        history.append((samples, seconds, reward, falls))
        recent = [*recent, reward][-5:]
        if update % 5 == 0 or update == updates:
            print(f"{update:4d}  {samples / 1e6:6.2f} M actions  {seconds:6.1f} s  reward {reward:6.3f}  "
                  f"falls {100 * falls:5.2f} %  divergence {divergence:.4f}", flush=True)  # fmt: skip
        if len(recent) == 5 and min(recent) >= GOAL:
            print(
                f"reward above {GOAL} in five updates after {samples / 1e6:.2f} M actions, {seconds:.0f} s", flush=True
            )
            break
    return policy, history


COMMANDS = [(0.8, 0.0, 0.0), (0.5, 0.0, 0.7), (0.0, 0.3, 0.0), (0.8, 0.0, -0.7)]
"""Forward and to the left [m/s], turning to the left [rad/s]; each for 2.5 seconds."""


def show(policy: Policy, path: str) -> None:
    """Ten seconds of walking as a page: straight on, turning, sideways; and how well commands are followed."""
    task = Walking(mini_cheetah(), command_every=1e9)
    env = KinloopVectorEnv(task, 1, dtype="float32", output="torch")
    seen, _ = env.reset(seed=1)
    places, off = [], []
    for k in range(500):
        env.kernels.carried.split(env.rows.carried)["command"][:] = COMMANDS[k // 125]
        with torch.no_grad():
            seen, *_ = env.step(policy.mean(seen))
        state = env.rows.state()
        places.append(state.q[0])
        moves = state.qd[0, [3, 4, 2]]  # of the base, in its own axes
        off += [np.abs(moves - COMMANDS[k // 125])] if k % 125 >= 50 else []
    forward, left, turning = np.mean(off, axis=0)
    print(f"off by {forward:.2f} m/s forward, {left:.2f} m/s to the left, {turning:.2f} rad/s in the mean")
    t = task.period * np.arange(1, len(places) + 1)
    record(task.sim.robot, t, np.array(places), path, ground=task.sim.ground, title="Mini Cheetah walks")
    print(f"wrote {path}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--updates", type=int, default=400)
    options.add_argument("--envs", type=int, default=ENVS)
    options.add_argument("--threads", type=int, default=None)
    options.add_argument("--quick", action="store_true", help="a few updates of a few environments")
    options.add_argument("--page", default="walk.html")
    options.add_argument("--policy", default="walk.pt")
    options.add_argument("--curve", default="", help="a file for the mean reward of every update, .csv")
    given = options.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    many = (3, 64) if given.quick else (given.updates, given.envs)
    learned, history = train(given.seed, many[0], many[1], given.threads)
    if given.curve:
        np.savetxt(given.curve, history, delimiter=",", header="actions,seconds,reward,falls", comments="", fmt="%.6g")
    if not given.quick:
        show(learned, given.page)
        torch.save(learned.state_dict(), given.policy)
