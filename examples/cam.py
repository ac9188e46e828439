"""A loop of your own: a cam lifts a spring-loaded follower, written as one Python function of two joints."""

import numpy as np

import kinloop as kl
from kinloop import scalar as sc

RADIUS, LIFT = 0.03, 0.012


def contact(cam, follower):
    """Zero where the follower rests on the cam: its height is the cam's profile at this angle."""
    return follower - (RADIUS + LIFT * (0.5 - 0.5 * sc.cos(cam)) ** 2)


b = kl.Builder("valve train")
b.body("cam", mass=0.4, com=(0, 0, 0.004), inertia=(2e-4, 1.5e-4, 1.5e-4), axis="x")
b.body("valve", mass=0.1, inertia=(1e-5, 1e-5, 1e-5), joint="prismatic", axis="z")
b.loop_function("contact", ["cam_joint", "valve_joint"], contact)
b.independent = ["cam_joint"]
robot = b.build()

SPRING, PRELOAD = 8e3, 60.0  # N/m, N
speed = np.array([2 * np.pi * 50])  # 3000 turns of the cam per minute
print(" cam [deg]   lift [mm]  valve [m/s]  torque on the cam [N m]  contact force [N]")
for angle in np.radians(np.arange(0, 361, 45)):
    q = np.array([angle, 0.0])
    q[1] = robot.close(q)[1] if angle == 0 else RADIUS + LIFT * (0.5 - 0.5 * np.cos(angle)) ** 2
    robot.check_closed(q)
    spring = np.zeros((2, 6))
    spring[1, 5] = -(PRELOAD + SPRING * (q[1] - RADIUS))
    tau = robot.inverse_dynamics(q, speed, [0.0], spring)  # constant speed
    valve = robot.spanning_velocity(q, speed)[1]
    force = robot.reactions(q, speed, tau, spring).transmissions["contact"]["valve_joint"]
    note = "  lifts off!" if force < 0 else ""
    print(f"{np.degrees(angle):9.0f} {1e3 * (q[1] - RADIUS):11.2f} {valve:12.2f} {tau[0]:17.2f} {force:22.1f}{note}")
