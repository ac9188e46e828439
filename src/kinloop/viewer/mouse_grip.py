"""A body held by the mouse: a spring and a damper between the point that was gripped and the mouse.

viser says where a drag began on a shape and where the mouse is, in a plane across the view; the grip makes a wrench of
it, which reaches the simulation through controls of its own (`grip_forces`), a force on every body.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim import ExternalForce
from kinloop.sim.force_state import ForceState
from kinloop.spatial.transform import skew

FREQUENCY = 12.0
"""How fast what is gripped follows the mouse [rad/s], without swinging: slow beside the steps of a simulation."""

WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")
"""Names of the controls of each body."""


class Held(NamedTuple):
    """A body by number, the point of it that is held, in its own frame, and where the mouse is in the world [m].

    `mass` is what is felt at the point [kg], the robot's own joints giving way.
    """

    body: int
    at: Array
    target: Array
    mass: float


class Pull(NamedTuple):
    """What the mouse does: a force [N] at a point of a body, both in the world, and the body by number."""

    body: int
    point: Array
    force: Array
    moment: Array


class MouseGrip:
    """What the mouse holds of a robot, if anything; told by viser's threads, asked by the simulation."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._held: Held | None = None
        self._lock = threading.Lock()

    def take(self, body: int, point: Any, mouse: Any, q: Array) -> None:
        """Hold a body at a point of the world while the robot is at q."""
        name = self.robot.body_names[body]
        T = self.robot.frame_pose(q, name)
        at = T[:3, :3].T @ (np.asarray(point, dtype=float) - T[:3, 3])
        with self._lock:
            self._held = Held(body, at, np.array(mouse, dtype=float), self._felt(q, name, at))

    def move(self, mouse: Any) -> None:
        """The mouse is at another place of the world."""
        with self._lock:
            if self._held is not None:
                self._held = self._held._replace(target=np.array(mouse, dtype=float))

    def release(self) -> None:
        """Let go."""
        with self._lock:
            self._held = None

    def pull(self, q: Array, v: Array) -> Pull | None:
        """What the mouse does to the robot at a state; None where it holds nothing."""
        with self._lock:
            held = self._held
        if held is None:
            return None
        name = self.robot.body_names[held.body]
        T = self.robot.frame_pose(q, name)
        twist = self.robot.frame_velocity(q, v, name, axes="world")
        arm = T[:3, :3] @ held.at
        point, rate = T[:3, 3] + arm, twist[3:] + np.cross(twist[:3], arm)
        force = held.mass * FREQUENCY * (FREQUENCY * (held.target - point) - 2.0 * rate)
        return Pull(held.body, point, force, np.cross(arm, force))

    def controls(self, pull: Pull | None) -> Array:
        """What the controls of `grip_forces` are: six for every body."""
        out = np.zeros((len(self.robot.body_names), 6))
        if pull is not None:
            out[pull.body] = *pull.moment, *pull.force
        return out.ravel()

    def _felt(self, q: Array, name: str, at: Array) -> float:
        """The mass that is felt at a point of a body, in the direction in which it is the smallest."""
        mobility = self.robot.inverse_osim(q, [name])
        J = np.concatenate([skew(at), np.eye(3)])  # a force at the point, as a wrench on the body
        most = float(np.max(np.linalg.eigvalsh(J.T @ mobility @ J)))
        return 1.0 / most if most > 0.0 else 0.0


def grip_forces(robot: Robot) -> list[ExternalForce]:
    """A force on every body whose six numbers are controls, in world axes."""

    def as_told(state: ForceState) -> Array:
        return state.u

    return [ExternalForce(body, as_told, inputs=WRENCH) for body in robot.body_names]
