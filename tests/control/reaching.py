"""An arm with a parallelogram that reaches for a point: a problem that solvers are compared on."""

from __future__ import annotations

from functools import cache

import numpy as np

import kinloop as kl
from kinloop.control import SmoothDynamics

A, M1, C1, I1 = 0.4, 1.5, 0.2, 0.03  # upper arm: length, mass, centre, inertia
B, M2, C2, I2, TIP = 0.15, 1.0, 0.18, 0.02, 0.45  # forearm: where the bar takes hold, ..., where the hand is
MK, S, IK = 0.4, 0.2, 0.005  # bar
MC, IC = 0.5, 0.004  # crank
CC = -MK * B * (A - S) / (A * MC)  # its counterweight, with which a tree of two bodies moves alike
DT, STEPS = 0.02, 40
GOAL = np.array([0.475, 0.0, -0.483])


def arm() -> kl.Robot:
    """A forearm that is driven through a parallelogram: crank and bar beside the upper arm."""

    def planar(mass, centre, inertia):
        return {"mass": mass, "com": (centre, 0, 0), "inertia": (1e-3, inertia, inertia), "axis": "y"}

    b = kl.Builder("arm", gravity=(0.0, 0.0, -9.81))
    b.body("upper", **planar(M1, C1, I1))
    b.body("forearm", "upper", at=(A, 0, 0), **planar(M2, C2, I2))
    b.body("crank", **planar(MC, CC, IC))
    b.body("bar", "crank", at=(B, 0, 0), **planar(MK, S, IK))
    b.loop("pin", "bar", "forearm", axis="y", at=(A, 0, 0), at_successor=(B, 0, 0))
    b.frame("hand", "forearm", at=(TIP, 0, 0))
    b.independent = ["upper_joint", "forearm_joint"]
    return b.build()


@cache
def reaching():
    """The robot, its steps, the costs of reaching, where it begins (elbow bent, bar parallel), what holds it there."""
    robot = arm()
    dynamics = SmoothDynamics(robot, DT)

    def reach(q):
        away = robot.frame_pose(q, "hand")[:3, 3] - GOAL
        return 0.5 * away @ away

    def cost(q, v, u, t):
        return DT * (1e-1 * reach(q) + 0.5e-2 * v @ v + 0.5e-3 * u @ u)

    def terminal(q, v):
        return 1e3 * reach(q) + 0.5e1 * v @ v

    q0 = robot.close([0.6, 0.5, 1.1, -0.5])
    return robot, dynamics, cost, terminal, q0, robot.gravity_force(q0)
