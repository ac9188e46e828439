# %% [markdown]
# # 2. Your URDF, with a loop
#
# URDF describes trees only. This tutorial writes a loop into a URDF, loads it, holds it with a PD controller and plots
# the result.
#
# The mechanism is a finger of a gripper: `finger` and `support` turn on the base, `tip` turns on the finger, and a pin
# between tip and support keeps the tip nearly upright while the finger closes.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl


def link(name):
    inertia = '<inertia ixx="1e-4" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/>'
    return f'<link name="{name}"><inertial><origin xyz="0.1 0 0"/><mass value="0.3"/>{inertia}</inertial></link>'


def hinge(name, parent, child, at):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="continuous">{ends}<origin xyz="{at}"/><axis xyz="0 1 0"/></joint>'


# %% [markdown]
# ## How to write the loop
#
# A `<loop>` stands beside the joints. It names the link on either side and where the joint that closes the loop sits on
# each: `predecessor` and `successor`. Its type is any joint type (`revolute` leaves one freedom, `spherical` three, `fixed`
# none). Other dialects that kinloop reads are listed under [model files](../formats.md).

# %%
LOOP = """
  <loop name="pin" type="revolute">
    <axis xyz="0 1 0"/>
    <predecessor link="tip"><origin xyz="0.02 0 0.06"/></predecessor>
    <successor link="support"><origin xyz="0.2 0 0"/></successor>
  </loop>"""

URDF = "\n".join(
    [
        '<robot name="finger">',
        '<link name="base"/>',
        *map(link, ("finger", "tip", "support")),
        hinge("finger_joint", "base", "finger", "0 0 0"),
        hinge("tip_joint", "finger", "tip", "0.2 0 0"),
        hinge("support_joint", "base", "support", "0.05 0 0.06"),
        LOOP,
        "</robot>",
    ]
)
Path("finger.urdf").write_text(URDF)
robot = kl.load("finger.urdf").with_independent(["finger_joint"])
print("loops:", robot.loop_names, " joints:", robot.joint_names, " independent:", robot.independent_names)
assert robot.nv == 1

# %% [markdown]
# `with_independent` says which coordinates `v` and `tau` belong to: the joint with the motor. A mistake in the file is
# answered with the line it is in:

# %%
Path("broken.urdf").write_text(URDF.replace('<predecessor link="tip">', '<predecessor link="tipp">'))
try:
    kl.load("broken.urdf")
except kl.ModelError as error:
    print(error)
    assert "tipp" in str(error)

# %% [markdown]
# ## PD control
#
# The finger shall go from where it is to 0.5 rad further. A PD controller is a spring towards the target and a damper,
# $\tau = k_p (y_{target} - y) - k_d \dot y$, with $y$ the position of the motor's joint [rad].
#
# A control function gets the time and the state and returns the forces. `state.q` and `state.qd` have a row per simulated
# robot, here one: positions and velocities of *all* joints.

# %%
q0 = robot.neutral()
here = robot.q_index("finger_joint")
target = q0[here] + 0.5
KP, KD = 6.0, 0.3  # [N m/rad], [N m s/rad]


def pd(t, state):
    return KP * (target - state.q[:, here]) - KD * robot.independent(state.qd)


def pd_and_weight(t, state):
    return pd(t, state) + robot.gravity_force(state.q)  # what holds the linkage still, loop included


sim = kl.Simulator(robot, dt=1e-3)
runs = {
    f.__name__: sim.rollout(q0, None, f, steps=1500, record=["q", "loop_error"], record_start=True)
    for f in (pd, pd_and_weight)
}
time = 1e-3 * np.arange(1501)

figure, axes = plt.subplots()
for name, run in runs.items():
    axes.plot(time, run.q[:, here], label=name)
axes.axhline(target[0], color="k", linestyle=":", label="target")
axes.set(xlabel="t [s]", ylabel="finger_joint [rad]")
axes.legend()

for name, run in runs.items():
    print(f"{name}: off by {abs(np.degrees(run.q[-1, here] - target)[0]):.2f} degrees at the end")
off = {name: abs(run.q[-1, here] - target)[0] for name, run in runs.items()}
assert off["pd_and_weight"] < 1e-3 < off["pd"]
assert max(run.loop_error.max() for run in runs.values()) < 1e-9

# %% [markdown]
# Gravity pulls the PD controller off its target; adding the force that holds the linkage still takes that away.
# `gravity_force` knows the loop: it is the torque at this one joint that carries all three links.
#
# ## The same as a servo
#
# Real servos run a PD law themselves. `Motor(joint, "position", kp, kd)` is one, told its target; the simulator takes its gains
# implicitly, so that any gain is stable, and the whole run is one native call.

# %%
from kinloop.sim import Motor

servo = kl.Simulator(robot, dt=1e-3, motors=[Motor("finger_joint", "position", KP, KD)])
run = servo.rollout(q0, None, target, steps=1500, record=["q"])
print(f"servo: off by {abs(np.degrees(run.q[-1, here] - target)[0]):.2f} degrees at the end")
assert np.allclose(run.q[-1], runs["pd"].q[-1], atol=1e-4)

# %% [markdown]
# Next: [a humanoid's leg, and control that knows its dynamics](03_computed_torque.md).
