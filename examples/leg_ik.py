"""Inverse kinematics of legs with loops: Tello's feet go where they shall, knees stay within limits."""

import time

import numpy as np

import kinloop as kl
from kinloop.control import CenterOfMassTask, InverseKinematics, OrientationTask, PoseTask, PositionTask

robot = kl.robots.load("tello")
knees = {f"{side}-thigh-to-shin": (0.2, 2.0) for side in ("left", "right")}  # they follow from rotors, through rods

# Stand with both feet flat, the torso upright, and the centre of mass where the first three leave it free to be.
tasks = [PoseTask("left-foot"), PoseTask("right-foot"), OrientationTask("torso"), CenterOfMassTask(level=1)]
ik = InverseKinematics(robot, tasks, limits=knees)


def foot(y: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = [-0.025, y, 0.041]
    return pose


found = ik.solve(robot.neutral(), [foot(0.126), foot(-0.126), np.eye(3), [0.0, 0.0, 0.5]])
q = found.q
print(f"stands after {found.iterations} rounds: feet off by {found.residual[:2].max():.0e} m")
print(f"rods off by {robot.loop_error(q).max():.0e} m, centre of mass at {np.round(robot.center_of_mass(q), 3)}")

# A thousand steps of the left foot at once; the right one and the torso stay.
rng = np.random.default_rng(0)
places = np.tile(foot(0.126), (1000, 1, 1))
places[:, :3, 3] += rng.uniform([-0.25, -0.02, 0.0], [0.25, 0.05, 0.15], (1000, 3))
steps = InverseKinematics(robot, [PositionTask("left-foot"), PoseTask("right-foot"), PoseTask("torso")], limits=knees)
stay = [foot(-0.126), robot.frame_pose(q, "torso")]
steps.solve(q, [places[:2, :3, 3], *stay])  # compiles
start = time.perf_counter()
found = steps.solve(q, [places[:, :3, 3], *stay])
took = (time.perf_counter() - start) / len(places)
bends = found.q[:, robot.q_index("left-thigh-to-shin")]
rods = robot.loop_error(found.q).max()
print(f"{found.reached.sum()} of 1000 places reached, {1e6 * took:.0f} us each; rods off by {rods:.0e} m")
print(f"knee from {bends.min():.3f} to {bends.max():.3f} rad; limits 0.2 and 2.0 kept: {np.all(found.beyond == 0.0)}")
print("where not:", next(reason for reason in found.reasons if reason))
