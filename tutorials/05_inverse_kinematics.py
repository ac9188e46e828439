# %% [markdown]
# # 5. A foot to a target, with loops closed
#
# Inverse kinematics: find the configuration at which feet, torso and centre of mass are where they shall be. For a robot with
# loops it must be one at which every loop is closed. Here Tello stands up and takes a step.

# %%
import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl
from kinloop.control import CenterOfMassTask, InverseKinematics, OrientationTask, PoseTask, PositionTask

robot = kl.robots.load("tello")

# %% [markdown]
# ## Tasks
#
# A task says what shall be where: `PoseTask(frame)` a pose (4, 4) of a frame in the world, `OrientationTask(frame)` its rotation
# (3, 3), `PositionTask(frame)` its origin [m], `CenterOfMassTask()` the centre of mass. Tasks of `level` 1 get what
# freedom those of level 0 leave. Limits hold for joints that follow from others too: Tello's knee is moved by rotors through
# rods, yet its range can be said directly.


# %%
def foot(x, y, z=0.041):
    """A foot flat on the ground: its frame is 4.1 cm above the sole."""
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


knees = {f"{side}-thigh-to-shin": (0.2, 2.0) for side in ("left", "right")}
tasks = [PoseTask("left-foot"), PoseTask("right-foot"), OrientationTask("torso"), CenterOfMassTask(level=1)]
stand = InverseKinematics(robot, tasks, limits=knees)
found = stand.solve(robot.neutral(), [foot(-0.025, 0.126), foot(-0.025, -0.126), np.eye(3), [0.0, 0.0, 0.5]])
q = found.q

print("reached:", bool(found.reached), " loops closed:", robot.loop_error(q).max() < 1e-9)
print("centre of mass:", np.round(robot.center_of_mass(q), 3) + 0.0, "m")
assert found.reached and np.allclose(robot.frame_pose(q, "left-foot"), foot(-0.025, 0.126), atol=1e-8)

# %% [markdown]
# ## A step
#
# The left foot moves along an arc while the right foot and the torso stay. All 60 configurations are solved in one call: a
# target with a leading axis is a batch.

# %%
s = np.linspace(0.0, 1.0, 60)
path = np.stack([-0.025 + 0.15 * s, np.full(60, 0.126), 0.041 + 0.06 * np.sin(np.pi * s)], axis=-1)
step = InverseKinematics(robot, [PositionTask("left-foot"), PoseTask("right-foot"), PoseTask("torso")], limits=knees)
found = step.solve(q, [path, foot(-0.025, -0.126), robot.frame_pose(q, "torso")])
Q = found.q
print(found.reached.sum(), "of 60 reached; Q has the shape", Q.shape)
assert found.reached.all() and robot.loop_error(Q).max() < 1e-9
assert np.abs(robot.frame_pose(Q, "left-foot")[:, :3, 3] - path).max() < 1e-8

# %%
CHAIN = ["torso", "left-hip-clamp", "left-thigh", "left-shin", "left-foot"]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
for k in range(0, 60, 12):
    points = np.array([robot.frame_pose(Q[k], name)[:3, 3] for name in CHAIN])
    left.plot(points[:, 0], points[:, 2], "o-", color=plt.cm.viridis(k / 60), markersize=3)
left.plot(path[:, 0], path[:, 2], "k:")
left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="left leg")
for name in ("left-thigh-to-knee-ankle-rotor-1", "left-thigh-to-knee-ankle-rotor-2", "left-thigh-to-shin"):
    right.plot(s, Q[:, robot.q_index(name)], label=name.removeprefix("left-"))
right.set(xlabel="part of the step", ylabel="position [rad]", title="rotors, and the knee that follows")
right.legend(fontsize=7)

# %% [markdown]
# ## What cannot be reached
#
# The nearest configuration comes back, with a sentence about why it is not at the target:

# %%
far = step.solve(q, [[0.6, 0.126, 0.041], foot(-0.025, -0.126), robot.frame_pose(q, "torso")])
print(far.reasons)
assert not far.reached and robot.loop_error(far.q).max() < 1e-9

# %% [markdown]
# The search is local: it finds what is reached from where it begins. `attempts=5` lets it begin again elsewhere. More under
# [inverse kinematics](../control.md#inverse-kinematics).
#
# Next: [feet welded, hands tied](06_constrained_motion.md).
