"""Masses and inertias of a geared leg from a motion: what forces can show, exactly; and likely bodies under noise."""

import numpy as np

import kinloop as kl
from kinloop.identification import fit, is_possible

leg = kl.robots.load("mit_humanoid_leg")
truth, bodies = leg.inertial_parameters(), len(leg.body_names)
base = leg.base_parameters()
print(f"{len(truth)} numbers of {bodies} bodies and their joints; forces show {len(base.kept)} combinations")

# A motion that shakes everything: a servo follows sums of sines in simulation.
rng = np.random.default_rng(1)
rates, sizes = rng.uniform(2.0, 12.0, (5, leg.nv)), rng.uniform(-0.25, 0.25, (5, leg.nv))
joints = [leg.joint_names.index(name) for name in leg.independent_names]  # every joint has one coordinate
start = leg.neutral()
applied = []


def control(t, state):
    wanted = start[joints] + np.sum(sizes * np.sin(rates * t), axis=0)
    applied.append(400.0 * (wanted - state.q[..., joints]) - 10.0 * state.qd[..., joints])
    return applied[-1]


run = kl.Simulator(leg, dt=1e-3).rollout(start, None, control, steps=4000)
q, v = run.q[:-1][::10], run.v[:-1][::10]
tau = np.concatenate(applied)[1::10]  # at each recorded state, not the start
a = leg.forward_dynamics(q, v, tau)
print(f"{len(q)} samples, joints at up to {np.abs(v).max():.1f} rad/s, torques up to {np.abs(tau).max():.0f} N m")

# Without noise: least squares on the combinations that forces show gives them exactly.
Y = leg.regressor(q, v, a)[..., base.kept].reshape(-1, len(base.kept))
found = np.linalg.lstsq(Y, tau.ravel(), rcond=None)[0]
error = np.abs(found - base.combination @ truth).max() / np.abs(found).max()
print(f"without noise: combinations found with relative error {error:.1e}")

# With noise, and a model that is off by a third to begin with: bodies that can exist, as likely as possible.
noise = 0.5
measured = tau + noise * rng.normal(size=tau.shape)
believed = truth * np.concatenate([np.repeat(rng.uniform(0.67, 1.5, bodies), 10), np.ones(len(truth) - 10 * bodies)])
likely = fit(leg, q, v, a, measured, noise=noise, start=believed)
rms = [np.sqrt(np.mean((leg.regressor(q, v, a) @ pi - tau) ** 2)) for pi in (believed, likely)]
possible = sum(is_possible(pi) for pi in likely[: 10 * bodies].reshape(-1, 10))
print(f"with noise of {noise} N m: torques predicted to {rms[1]:.3f} N m (before: {rms[0]:.3f})")
print(f"{possible} of {bodies} bodies can exist")
same = leg.with_inertial_parameters(likely).inverse_dynamics(q[0], v[0], a[0])
print(f"the leg with these numbers needs {np.round(same, 2)} N m at the start")
