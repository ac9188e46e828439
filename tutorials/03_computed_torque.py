# %% [markdown]
# # 3. Tello's leg: feed-forward and computed torque
#
# A leg of the humanoid Tello follows a fast motion. Three controllers are compared: PD alone, PD with the torque that
# the model foretells (*feed-forward*), and *computed torque*, which asks the model at every instant.
#
# Tello's motors do not sit at its joints. Two rotors move hip roll and pitch together through a differential, two others knee
# and ankle. These are loops: the position of the joints follows from that of the rotors and the other way round.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl
from kinloop.model.joints import Fixed

tello = kl.robots.mechanism("tello")
base, *others = tello.joints
robot = replace(tello, joints=(replace(base, type=Fixed()), *others)).build()  # hung up by its torso
motors = robot.independent_names[:5]
print("motors of the left leg:", *motors, sep="\n  ")
assert robot.nv == 10

# %% [markdown]
# `v` and `tau` of this robot are those of the motors. Thinking is easier in joints; the same robot with other independent
# coordinates has `v` and `tau` of joints:

# %%
PARTS = ["hip-clamp-to-gimbal", "gimbal-to-thigh", "thigh-to-shin", "shin-to-foot"]
legs = [[f"torso-to-{side}-hip-clamp", *(f"{side}-{part}" for part in PARTS)] for side in ("left", "right")]
names = legs[0]
joints = robot.with_independent([*legs[0], *legs[1]])
at = [joints.v_index(name).start for name in names]  # where the five joints are in its v

# %% [markdown]
# ## The motion
#
# Hip pitch, knee and ankle swing as a smooth step, at once in position, velocity and acceleration. With $x$ the five joint
# positions,
#
# $$x(t) = x_0 + s(t)\,\Delta,\qquad s(t) = \tfrac12\,(1 - \cos\omega t),$$
#
# and the loops turn $x$, $\dot x$, $\ddot x$ into the positions $q$ of all joints, and into $v$ and $a$ of the motors:
# velocities of all joints are $\dot q = G v$, accelerations $\ddot q = G a + g$ ([notation](../notation.md)).

# %%
q0 = robot.neutral()
DELTA, RATE = np.array([0.0, 0.1, -0.7, 1.2, -0.5]), 2 * np.pi  # [rad], [rad/s]


def of_joints(t):
    """(q, xd, xdd) of the motion: positions of all joints, velocities and accelerations of the chosen ones."""
    s, sd, sdd = 0.5 * (1 - np.cos(RATE * t)), 0.5 * RATE * np.sin(RATE * t), 0.5 * RATE**2 * np.cos(RATE * t)
    x, xd, xdd = (np.zeros(joints.nv) for _ in range(3))
    x[at], xd[at], xdd[at] = s * DELTA, sd * DELTA, sdd * DELTA
    return joints.integrate(q0, x), xd, xdd


def of_motors(q, xd, xdd):
    """The same motion by the velocities and accelerations of the motors: (q, v, a)."""
    qdd = joints.spanning_jacobian(q) @ xdd + joints.spanning_bias(q, xd)
    return q, robot.independent(joints.spanning_velocity(q, xd)), robot.independent(qdd)


def wanted(t):
    return of_motors(*of_joints(t))


q, v, a = wanted(0.3)
assert robot.loop_error(q).max() < 1e-9
h = 1e-5  # a and v are the slopes of v and q
assert np.allclose((wanted(0.3 + h)[1] - wanted(0.3 - h)[1]) / (2 * h), a, atol=1e-5 * np.abs(a).max())
assert np.allclose(robot.difference(wanted(0.3 - h)[0], wanted(0.3 + h)[0]) / (2 * h), v, atol=1e-6 * np.abs(v).max())

# %% [markdown]
# ## Three controllers
#
# Let $e$ be what leads from the state to the wanted one: `robot.difference(q, q_wanted)`, in motor coordinates, and $\dot e$
# the difference of velocities.
#
# | controller | $\tau$ |
# |---|---|
# | PD | $k_p e + k_d\dot e$ |
# | feed-forward | $\mathrm{ID}(q_w, v_w, a_w) + k_p e + k_d\dot e$ |
# | computed torque | $\mathrm{ID}(q, v, a_w + \omega_0^2 e + 2\omega_0\dot e)$ |
#
# ID is inverse dynamics: the torques at the motors that give an acceleration. With computed torque the error obeys
# $\ddot e + 2\omega_0\dot e + \omega_0^2 e = 0$, as if the leg had no inertia of its own.

# %%
KP, KD, OMEGA = 0.2, 0.01, 40.0  # [N m/rad], [N m s/rad], [rad/s]


def pd(t, q, v):
    q_w, v_w, _ = wanted(t)
    return KP * robot.difference(q, q_w) + KD * (v_w - v)


def feed_forward(t, q, v):
    return robot.inverse_dynamics(*wanted(t)) + pd(t, q, v)


def computed_torque(t, q, v):
    q_w, v_w, a_w = wanted(t)
    e, ed = robot.difference(q, q_w), v_w - v
    return robot.inverse_dynamics(q, v, a_w + OMEGA**2 * e + 2 * OMEGA * ed)


sim = kl.Simulator(robot, dt=1e-3)
knee = robot.q_index("left-thigh-to-shin")
time = 1e-3 * np.arange(1, 1001)
shown = np.array([wanted(t)[0] for t in time])
start = robot.integrate(q0, 0.5 * np.eye(10)[3])  # one rotor begins 0.5 rad beside
off = {}
for law in (pd, feed_forward, computed_torque):

    def control(t, state, law=law):
        return law(t, state.q[0], robot.independent(state.qd[0]))

    run = sim.rollout(start, None, control, steps=1000, record=["q"])
    assert run.status[0] == 1
    off[law.__name__] = np.abs(run.q[:, knee] - shown[:, knee])[:, 0]

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(time, np.degrees(shown[:, knee]))
left.set(xlabel="t [s]", ylabel="knee, wanted [degrees]")
for name, error in off.items():
    right.semilogy(time, np.degrees(np.maximum(error, 1e-9)), label=name)
right.set(xlabel="t [s]", ylabel="knee, error [degrees]")
right.legend()

for name, error in off.items():
    late = np.degrees(error[500:].max())
    print(f"{name:16s} error of the knee: {np.degrees(error[0]):.2f} degrees at first, up to {late:.3f} after 0.5 s")
assert off["computed_torque"][500:].max() < off["feed_forward"][500:].max() < off["pd"][500:].max()

# %% [markdown]
# ## What the loops are worth
#
# Many programs replace rotors and differentials by a larger inertia at each joint. `approximate_rnea` does that, for the
# torques at the joints. How wrong are they?

# %%
exact, approximate = (
    np.array([joints.inverse_dynamics(*of_joints(t), method=m)[at] for t in time[::10]])
    for m in (None, "approximate_rnea")
)
for name, e, d in zip(names, exact.T, (approximate - exact).T, strict=True):
    print(f"{name:24s} torques up to {np.abs(e).max():.3f} N m, approximate ones off by {np.abs(d).max():.3f}")
assert (np.abs(approximate - exact).max(axis=0) > 0.05 * np.abs(exact).max(axis=0)).any()

# %% [markdown]
# Next: [which torques motors can give at such joints](04_parallel_ankle.md).
