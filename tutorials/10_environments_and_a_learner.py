# %% [markdown]
# # 10. Thousands of environments, and a learner
#
# A pole stands on a cart, and the cart is pushed by a slider-crank: a motor turns the crank, a rod moves the cart. A policy
# shall learn to keep the pole upright by torque at the crank. It learns from a thousand environments at once, each with a
# pole of its own mass.
#
# Needs `pip install 'kinloop[gym]'`.

# %%
import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl
from kinloop import scalar as sc
from kinloop.learn.environments import KinloopVectorEnv, Start, Task, times
from kinloop.sim import Motor, Simulator

b = kl.Builder("crank_cart")
b.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(1e-3, 0.01, 0.01), axis="y")
b.body("rod", "crank", at=(0.2, 0, 0), mass=0.5, com=(0.3, 0, 0), inertia=(1e-3, 0.01, 0.01), axis="y")
b.body("cart", at=(0.7, 0, 0), mass=1.0, inertia=(0.01, 0.01, 0.01), joint="prismatic", axis="x")
b.body("pole", "cart", mass=0.3, com=(0, 0, 0.4), inertia=(0.01, 0.01, 1e-3), axis="y")
b.loop("pin", "rod", "cart", axis="y", at=(0.6, 0, 0))
b.independent = ["crank_joint", "pole_joint"]
robot = b.build()
q_start = robot.close([np.pi / 2, -np.pi / 2 - 0.3, 0.0, 0.0])  # crank up, pole upright
print("positions at the start:", np.round(q_start, 3) + 0.0)

# %% [markdown]
# ## A task
#
# A task is a few small functions of the state of *one* environment. They run once on symbols and become machine code for
# all of them; so they decide with `where`, not with `if`. An action is a number between -1 and 1.
#
# - `vary` draws numbers of the robot anew for every episode: here the mass of the pole, half to twice what the model has.
# - `start` draws where an episode begins. The loop is closed for you.
# - An episode ends when the pole has fallen by 0.5 rad or the crank has turned by 1.2 rad, or after `limit` actions of `hold` steps each.


# %%
class Balance(Task):
    hold, limit, action_size = 4, 100, 1
    vary = {"pole.mass": times(0.5, 2.0)}

    def __init__(self):
        self.sim = Simulator(robot, 5e-3, motors=[Motor("crank_joint")], open=list(self.vary))

    def start(self, random):
        lean = random.uniform(-0.06, 0.06)
        return Start(q=[q_start[0], q_start[1], q_start[2], lean])

    def controls(self, state):
        return 15.0 * state.action  # [N m]

    def observe(self, state):
        crank, pole = state.q_of("crank_joint") - q_start[0], state.q_of("pole_joint")
        return np.array([crank, pole, state.qd_of("crank_joint"), state.qd_of("pole_joint")])

    def reward(self, state):
        return sc.cos(state.q_of("pole_joint")) - 0.2 * (state.q_of("crank_joint") - q_start[0]) ** 2

    def ended(self, state):
        turned = sc.abs(state.q_of("crank_joint") - q_start[0]) > 1.2
        return sc.logical_or(sc.abs(state.q_of("pole_joint")) > 0.5, turned)


ROWS = 1024
env = KinloopVectorEnv(Balance(), ROWS, autoreset="same_step")
seen, _ = env.reset(seed=0)
seen, reward, ended, cut, info = env.step(np.zeros((ROWS, 1)))
print("observations", seen.shape, "rewards", reward.shape)
assert seen.shape == (ROWS, 4)

# %% [markdown]
# ## A learner
#
# The policy is linear: the action is $w^T o$ for the observation $o$, with four weights $w$. The *cross-entropy method* draws
# many weights from a normal distribution, tries each, and fits the distribution to the best of them. Since every row is an
# environment of its own, all 1024 are tried at once. Each weight is tried in 4 rows, with other masses and starts.


# %%
def returns(weights, seed):
    """The sum of rewards of one episode per row, for weights (ROWS, 4); how many actions each lasted."""
    seen, _ = env.reset(seed=seed)
    total, lasted, alive = np.zeros(ROWS), np.zeros(ROWS), np.ones(ROWS, dtype=bool)
    for _ in range(Balance.limit):
        action = np.clip(np.sum(weights * seen, axis=1, keepdims=True), -1.0, 1.0)
        seen, reward, ended, cut, _ = env.step(action)
        total[alive] += reward[alive]
        lasted += alive
        alive &= ~(ended | cut)
    return total, lasted


TRIES, BEST = 4, 16
rng = np.random.default_rng(0)
mean, spread, history = np.zeros(4), np.full(4, 1.5), []
for generation in range(6):
    drawn = mean + spread * rng.normal(size=(ROWS // TRIES, 4))
    total, lasted = returns(np.repeat(drawn, TRIES, axis=0), seed=1000 * generation)
    score = total.reshape(-1, TRIES).mean(axis=1)
    best = drawn[np.argsort(score)[-BEST:]]
    mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05
    history.append([lasted.mean(), np.sort(score)[-BEST:].mean()])

# %% [markdown]
# ## What it learned
#
# On starts and masses that it has not seen, against no action at all:

# %%
_, lasted = returns(np.tile(mean, (ROWS, 1)), seed=10**6)
_, idle = returns(np.zeros((ROWS, 4)), seed=10**6)
stands = np.mean(lasted == Balance.limit)
print("without a policy nearly all fall within 2 s:", bool(np.mean(idle == Balance.limit) < 0.05))
print("with it more than nine of ten stand:        ", bool(stands > 0.9))
assert stands > 0.9 and np.mean(idle == Balance.limit) < 0.05

figure, axes = plt.subplots()
axes.plot(np.array(history)[:, 0] * Balance.hold * 5e-3, "o-", label="mean of all tries")
axes.plot(np.array(history)[:, 1] * Balance.hold * 5e-3, "o-", label="score of the best, as time")
axes.axhline(2.0, color="k", linestyle=":")
axes.set(xlabel="generation", ylabel="pole stands [s]")
axes.legend()

# %% [markdown]
# ## Seeds
#
# Random numbers are drawn inside the kernels, from a stream per row: a run is the same bit for bit, for any number of threads.

# %%
again, _ = returns(np.tile(mean, (ROWS, 1)), seed=7)
same, _ = returns(np.tile(mean, (ROWS, 1)), seed=7)
assert np.array_equal(again, same)

# %% [markdown]
# For walking machines a network and a better learner are needed: `examples/ppo.py` trains Mini Cheetah, with its rotors, by
# proximal policy optimisation in one file with torch. Tasks that come along, terrain, pushes, latency and noise:
# [learning](../learning.md).
#
# Next: [your own joint, loop and algorithm](11_your_own.md).
