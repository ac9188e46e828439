# %% [markdown]
# # 4. Torque at the motors of a parallel ankle
#
# Many humanoids move the foot by two motors on the shin: each turns a crank, and a rod goes from the crank to the foot. Both
# motors together pitch the foot, against each other they roll it. Engineers think in pitch and roll, the motors need their
# own torques. `MotorSpace` has the exact maps between the two.

# %%
import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl
from kinloop.control import MotorSpace
from kinloop.sim import Motor

b = kl.Builder("ankle")
b.body("foot", mass=0.8, com=(0.04, 0, -0.03), inertia=(1e-3, 3e-3, 3e-3), joint="universal", axis="y", axis2="x")
RODS = {"left": 0.04, "right": -0.04}  # where cranks and rods are along y [m]
for side, y in RODS.items():
    b.body(f"{side}_crank", at=(-0.01, y, 0.2), axis="y", mass=0.05, com=(-0.02, 0, 0), inertia=(1e-6, 1e-5, 1e-5))
    b.rod(f"{side}_rod", f"{side}_crank", "foot", (-0.05, 0, 0), (-0.06, y, 0.0), 0.2)
b.independent = ["left_crank_joint", "right_crank_joint"]
robot = b.build()
print(robot.joint_names, "->", robot.independent_names)
assert robot.nv == 2

# %% [markdown]
# The shin is the world here. The foot hangs on a universal joint, whose first coordinate is pitch and whose second is roll
# (`foot_joint[0]`, `foot_joint[1]`). A *rod* keeps two points at a distance and has no mass.
#
# ## Positions
#
# $x$ = (pitch, roll) are the joints, $y$ the two cranks, all in rad. Both maps close the loops.

# %%
LIMIT = 20.0  # of each motor [N m]
motors = [Motor(f"{side}_crank_joint", limit=LIMIT) for side in RODS]
ankle = MotorSpace(robot, motors, joints=["foot_joint[0]", "foot_joint[1]"])

x = np.array([0.3, 0.1])
y = ankle.motor_position(x)
print("cranks at", np.round(y, 3), "rad for pitch and roll", x)
assert np.allclose(ankle.joint_position(y), x, atol=1e-10)
assert robot.loop_error(ankle.configuration(x)).max() < 1e-9

# %% [markdown]
# ## Torques
#
# With the Jacobian $J = \partial y/\partial x$, velocities are $\dot y = J\dot x$, and since power is the same on both
# sides, torques $f_x = J^T f_y$:

# %%
f_x = np.array([15.0, 2.0])  # wanted about pitch and roll [N m]
f_y = ankle.motor_force(x, f_x)
print("motors give", np.round(f_y, 3), "N m")
J = ankle.jacobian(x)
assert np.allclose(J.T @ f_y, f_x)
xd = np.array([0.7, -0.4])
assert np.isclose(f_y @ ankle.motor_velocity(x, xd), f_x @ xd)

# %% [markdown]
# The maps are not those of one place. This is the torque that each motor needs for the same 15 N m of pitch:

# %%
pitch = np.linspace(-0.7, 0.7, 57)
X = np.stack([pitch, np.zeros_like(pitch)], axis=-1)  # a batch of 57
needed = ankle.motor_force(X, np.tile([15.0, 0.0], (57, 1)))
figure, axes = plt.subplots()
axes.plot(np.degrees(pitch), needed[:, 0])
axes.set(xlabel="pitch [degrees]", ylabel="torque of each motor [N m]", title="for 15 N m about pitch")
print(f"from {needed.min():.2f} to {needed.max():.2f} N m")
assert np.allclose(needed[:, 0], needed[:, 1])

# %% [markdown]
# ## What the motors can do
#
# Within its limits every motor has a range of torque: a box. Seen at the joints it is that box under $J^T$, a polygon in pitch
# and roll. `box()` is the largest rectangle in it: limits that can be promised for each axis whatever the other does.

# %%
figure, axes = plt.subplots(figsize=(4.5, 4))
for at in ([0.0, 0.0], [0.5, 0.0], [0.5, 0.3]):
    corners = ankle.reachable(at).vertices
    around = np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))
    axes.plot(*corners[[*around, around[0]]].T, label=f"pitch {at[0]}, roll {at[1]}")
axes.set(xlabel="pitch torque [N m]", ylabel="roll torque [N m]", aspect="equal")
axes.legend()

level = ankle.reachable([0.0, 0.0])
pitch_alone, roll_alone = (level.largest_along(axis) for axis in np.eye(2))
print(f"alone: pitch {pitch_alone:.1f} N m, roll {roll_alone:.1f} N m")
print("both at once:", np.round(level.box(), 1), "N m")
assert level.contains(ankle.joint_force([0.0, 0.0], [LIMIT, -LIMIT]) * 0.999)
assert not level.contains([1.01 * level.largest_along([1, 0]), 0.0])

# %% [markdown]
# ## Stiffness
#
# A stiffness wanted at the joints needs motor gains. Under load they have one more term, which comes from the change of $J$
# ([control](../control.md)); leaving it out makes the ankle softer or stiffer than wanted.

# %%
K = np.diag([200.0, 100.0])  # wanted about pitch and roll [N m/rad]
bare, _ = ankle.motor_gains(x, K)
loaded, _ = ankle.motor_gains(x, K, force=f_y)
print("gains without load:", np.round(bare, 1).tolist())
print("under 15 N m:      ", np.round(loaded, 1).tolist())

eps = 1e-5  # the stiffness at the joints is the slope of what the motors do there


def at_joints(x_now):
    f_now = f_y - loaded @ (ankle.motor_position(x_now) - y)
    return ankle.joint_force(x_now, f_now)


slope = [(at_joints(x + eps * d) - at_joints(x - eps * d)) / (2 * eps) for d in np.eye(2)]
assert np.allclose(-np.array(slope).T, K, rtol=1e-4, atol=1e-2)

# %% [markdown]
# On a robot without Python, `ankle.compile("map").export_c(folder)` writes these maps as C.
#
# Next: [a foot to a target with loops closed](05_inverse_kinematics.md).
