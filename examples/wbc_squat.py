"""Whole-body control: Tello squats and shifts its weight, simulated with contact; torques reach its joints by rods."""

import numpy as np

import kinloop as kl
from kinloop.control import CenterOfMassTask, InverseKinematics, OrientationTask, PoseTask, Reference, WholeBodyControl
from kinloop.sim import ContactPoint, Motor, Plane, Simulator

robot = kl.robots.load("tello")
sides = {"left": 0.126, "right": -0.126}
soles = [ContactPoint(f"{side}-foot", (x, 0.0, -0.041)) for side in sides for x in (0.1, -0.05)]
motors = [Motor(joint, limit=3.0) for joint in robot.joint_names if "rotor" in joint]  # [N m] at the rotors

# Both feet flat on the ground, the torso upright, the centre of mass above the middle of the feet.
feet = [PoseTask(f"{side}-foot") for side in sides]
poses = np.tile(np.eye(4), (2, 1, 1))
poses[:, :3, 3] = [[-0.025, y, 0.041] for y in sides.values()]
start = InverseKinematics(robot, [*feet, OrientationTask("torso"), CenterOfMassTask(level=1)])
q = start.solve(robot.neutral(), [*poses, np.eye(3), [0.0, 0.0, 0.5]]).q
com = robot.center_of_mass(q)


def reference(t: float) -> Reference:
    """Down by 6 cm and up again, to the left and to the right by 4 cm, within 2 s."""
    c, s, w = np.cos(np.pi * t), np.sin(np.pi * t), np.pi
    y, dy, ddy = 0.04 * s**3, 0.12 * w * s * s * c, 0.12 * w * w * (2 * s * c * c - s**3)
    return Reference(com + [0, y, -0.03 * (1 - c)], [0, dy, -0.03 * w * s], [0, ddy, -0.03 * w * w * c])


wbc = WholeBodyControl(robot, [CenterOfMassTask(), OrientationTask("torso")], soles, motors, friction=0.6)
torques = []


def control(t, state):
    v = robot.independent(state.qd)[0]
    step = wbc.step(state.q[0], v, [reference(t), np.eye(3)])  # an error where no torques do it
    torques.append(step.torque)
    return step.torque


sim = Simulator(robot, dt=1e-3, ground=Plane(friction=0.8), contacts=soles, motors=motors)
run = sim.rollout(q, np.zeros(robot.nv), control, steps=2000, record=["q", "loop_error"])
wanted = np.array([reference(1e-3 * (k + 1)).target for k in range(2000)])
moved = robot.center_of_mass(run.q) - com
slip = max(np.ptp(robot.frame_pose(run.q, f"{side}-heel_contact")[:, :2, 3], axis=0).max() for side in sides)
print(
    f"centre of mass went {-1e2 * moved[:, 2].min():.1f} cm down, {1e2 * np.ptp(moved[:, 1]):.1f} cm from side to side"
)
print(f"it was off by {1e3 * np.abs(moved + com - wanted).max():.2f} mm at most; feet slipped by {1e3 * slip:.2f} mm")
print(f"torques up to {np.abs(torques).max():.2f} of 3 N m; rods off by {run.loop_error.max():.0e} m")
print(f"status {run.status[0]}")
