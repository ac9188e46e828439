"""Hopping: a planar leg whose foot is driven by a parallelogram jumps on the spot, as high as it is asked to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.learn.learning_task import Start, Task, TaskState, Varied
from kinloop.learn.random_numbers import Draws
from kinloop.model import Builder
from kinloop.robot import Robot
from kinloop.robots.linkages import add_planar_leg
from kinloop.sim.contact.candidates import ContactPoint
from kinloop.sim.contact.ground import Plane
from kinloop.sim.motors import Motor
from kinloop.sim.simulator import Simulator

HIP, KNEE = "thigh_joint", "shank_driver_joint"
BENT = {HIP: -0.5, KNEE: 1.2}
"""Angles of the motors' joints at the beginning [rad]."""


def hopping_leg(carriage: float = 0.5) -> Robot:
    """The planar leg of the zoo below a carriage of some mass [kg] that slides up and down and to and fro."""
    b = Builder("hopping_leg")
    solid: dict[str, Any] = {"mass": 0.5 * carriage, "inertia": (1e-3, 1e-3, 1e-3)}
    b.body("slide", joint="prismatic", axis="x", joint_name="along", **solid)
    b.body("carriage", "slide", joint="prismatic", axis="z", joint_name="up", **solid)
    # the leg's x, along which it is stretched, points down, its joints turn about the world's y
    add_planar_leg(b, "planar_leg_linkage", "carriage", rpy=(-0.5 * np.pi, 0.5 * np.pi, 0.0))
    return b.build()


class Hopping(Task):
    """The foot leaves the ground, up to a height that is drawn for every episode, again and again.

    Two servos drive the thigh and the parallelogram. `rise` is the range of heights [m] that are asked of the foot.
    """

    hold, limit = 20, 300
    memory = {"rise": 1}

    def __init__(
        self, robot: Robot | None = None, *, rise: tuple[float, float] = (0.02, 0.08),
        vary: Mapping[str, Varied] | None = None, latency: tuple[float, float] = (0.0, 0.0),
    ) -> None:  # fmt: skip
        robot = hopping_leg() if robot is None else robot
        self.rise, self.vary, self.latency = rise, dict(vary or {}), latency
        motors = [Motor(j, "position", kp=4.0, kd=0.04, limit=2.0) for j in (HIP, KNEE)]
        foot = ContactPoint("end-effector")
        self.sim = Simulator(robot, 5e-4, ground=Plane(0.9), contacts=[foot], motors=motors, open=list(self.vary))
        q = robot.neutral()
        for joint, angle in BENT.items():
            q[robot.q_index(joint)] = angle
        q = robot.close(q)
        q[robot.q_index("up")] -= robot.frame_pose(q, "end-effector")[2, 3]
        self.home, self.action_size = q, len(motors)
        self._up, self._along = (int(robot.q_index(name).start) for name in ("up", "along"))

    def start(self, random: Draws) -> Start:
        """The leg stands, bent a little more or less."""
        q = self.home.astype(object)
        q[self._up] = q[self._up] + random.uniform(0.0, 0.02)
        return Start(q, None, {"rise": [random.uniform(*self.rise)]})

    def controls(self, state: TaskState) -> Any:
        """Targets of the two servos."""
        return np.array(list(BENT.values())) + 0.8 * state.action

    def observe(self, state: TaskState) -> Any:
        """Where the carriage and the motors are, how fast, what is asked, whether the foot stands."""
        body = [state.q[self._up] - self.home[self._up], state.q[self._along], state.qd_of("up"), state.qd_of("along")]
        motors = [state.q_of(HIP), state.q_of(KNEE), 0.1 * state.qd_of(HIP), 0.1 * state.qd_of(KNEE)]
        asked = [10.0 * state.memory["rise"][0], sc.where(state.contact_force[0, 2] > 0.0, 1.0, 0.0)]
        return np.array([10.0 * body[0], body[1], *body[2:], *motors, *asked, *state.action])

    def reward(self, state: TaskState) -> Any:
        """For the height of the foot above the ground, up to what is asked; and for staying where it began."""
        height = state.pose("end-effector").p[2]
        high = sc.maximum(sc.minimum(height / state.memory["rise"][0], 1.0), 0.0)
        away = 2.0 * sc.abs(state.q[self._along])
        return high + 0.1 - sc.minimum(away, 0.5) - 0.005 * sc.squared(state.action - state.last_action)

    def ended(self, state: TaskState) -> Any:
        """The carriage has sunk, or slid away."""
        return sc.logical_or(state.q[self._up] < 0.4 * self.home[self._up], sc.abs(state.q[self._along]) > 0.5)
