# %% [markdown]
# # 8. Identification: masses from a motion
#
# CAD models are wrong: cables, screws, a battery elsewhere. This tutorial shakes a leg with geared motors, measures its torques,
# and finds the numbers of its bodies that explain them.

# %%
import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl
from kinloop.identification import fit, is_possible

leg = kl.robots.load("mit_humanoid_leg")
truth = leg.inertial_parameters()
print(len(leg.body_names), "bodies,", len(truth), "numbers, for example", leg.parameter_names[:4])

# %% [markdown]
# ## What forces can show
#
# Torques are linear in those numbers: $\tau = Y(q, v, a)\,\pi$, with the *regressor* $Y$ and $\pi$ all masses, first and second
# moments of mass, armatures, dampings and frictions. Not all of $\pi$ matters: a body that only turns about one axis shows
# nothing about its other moments of inertia. `base_parameters` finds the combinations that forces can show.

# %%
rng = np.random.default_rng(1)
q, v = leg.random_state(rng)
a = rng.normal(size=leg.nv)
assert np.allclose(leg.regressor(q, v, a) @ truth, leg.inverse_dynamics(q, v, a))
base = leg.base_parameters()
print("forces show", len(base.kept), "combinations")

# %% [markdown]
# ## A motion that shakes everything
#
# A PD controller follows sums of sines. Positions, velocities and torques are recorded; on a robot, accelerations come from
# differentiating filtered velocities, here from the simulated dynamics.

# %%

RATES, SIZES = rng.uniform(2.0, 12.0, (5, leg.nv)), rng.uniform(-0.25, 0.25, (5, leg.nv))
start = leg.neutral()
at = [leg.q_index(name).start for name in leg.independent_names]
applied = []


def control(t, state):
    wanted = start[at] + np.sum(SIZES * np.sin(RATES * t), axis=0)
    applied.append(400.0 * (wanted - state.q[:, at]) - 10.0 * leg.independent(state.qd))
    return applied[-1]


run = kl.Simulator(leg, dt=1e-3).rollout(start, None, control, steps=2000)
q, v = run.q[:-1:20], run.v[:-1:20]  # every twentieth sample
tau = np.concatenate(applied)[1::20]
a = leg.forward_dynamics(q, v, tau)
print(len(q), "samples, joints at up to", np.round(np.abs(v).max(), 1), "rad/s")

# %% [markdown]
# ## Without noise
#
# Least squares on the combinations that forces show gives them exactly:

# %%
Y = leg.regressor(q, v, a)
columns = Y[..., base.kept].reshape(-1, len(base.kept))
found = np.linalg.lstsq(columns, tau.ravel(), rcond=None)[0]
error = np.abs(found - base.combination @ truth).max() / np.abs(found).max()
print("combinations found to a part in a million:", error < 1e-6)
assert error < 1e-6

# %% [markdown]
# ## With noise, and bodies that can exist
#
# Noise makes least squares give negative masses sooner or later. `fit` finds likely bodies instead: every body has a
# positive mass and moments that some solid has, and where the data say nothing it stays near `start`, the model one
# believes in. Here that model is wrong by up to a third.

# %%
NOISE = 0.5  # standard deviation of the measured torques [N m]
measured = tau + NOISE * rng.normal(size=tau.shape)
bodies = len(leg.body_names)
wrong = np.repeat(rng.uniform(0.67, 1.5, bodies), 10)  # ten numbers per body come first
believed = truth * np.concatenate([wrong, np.ones(len(truth) - 10 * bodies)])
likely = fit(leg, q, v, a, measured, noise=NOISE, start=believed)
rms = {name: np.sqrt(np.mean((Y @ pi - tau) ** 2)) for name, pi in (("believed", believed), ("fitted", likely))}
print(f"torques foretold to {rms['believed']:.2f} N m before, {rms['fitted']:.2f} N m after; noise {NOISE} N m")
assert rms["fitted"] < 0.3 * NOISE < rms["believed"]
assert all(is_possible(pi) for pi in likely[: 10 * bodies].reshape(-1, 10))

figure, axes = plt.subplots()
time = 2e-2 * np.arange(len(q))
axes.plot(time, measured[:, 0], ".", color="C7", markersize=3, label="measured")
axes.plot(time, (Y @ believed)[:, 0], "C3", label="believed model")
axes.plot(time, (Y @ likely)[:, 0], "C0", label="fitted model")
axes.set(xlabel="t [s]", ylabel=f"torque at {leg.independent_names[0]} [N m]")
axes.legend()

# %% [markdown]
# ## A robot with the new numbers

# %%
fitted = leg.with_inertial_parameters(likely)
assert np.allclose(fitted.inverse_dynamics(q[0], v[0], a[0]), Y[0] @ likely)
masses = [pi[: 10 * bodies : 10].sum() for pi in (truth, believed, likely)]
print("mass in all: {:.2f} kg true, {:.2f} believed, {:.2f} fitted".format(*masses))

# %% [markdown]
# Of a leg fixed at the hip, forces do not show every mass: bodies near the hip can weigh anything, and the total is no
# measurement, while torques are right. How it works: [regressor and identification](../algorithms/regressor.md).
#
# Next: [whole-body control](09_whole_body_control.md).
