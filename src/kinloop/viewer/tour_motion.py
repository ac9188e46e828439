"""A motion that shows what of a robot moves."""

from __future__ import annotations

import numpy as np

from kinloop.errors import KinloopError
from kinloop.robot import Robot
from kinloop.scalar import Array

AMPLITUDE = 0.3
"""How far the coordinates go [rad, m]."""

JUMP = 0.05
"""A step that leads so much farther than twice what its rates say has jumped to another branch [rad, m]."""


def tour(robot: Robot, seconds: float, fps: float = 40.0) -> tuple[Array, Array]:
    """Times and configurations of a motion: every independent coordinate to and fro, loops closed, the base at rest."""
    count = max(1, round(seconds * fps))
    times = np.arange(count) / fps
    moving = np.array([0.0 if "[" in name else 1.0 for name in robot.independent_names])
    moving = moving if moving.any() else np.ones(robot.nv)
    phase = 2 * np.pi * np.arange(robot.nv) / max(robot.nv, 1)
    pace = 2 * np.pi / max(seconds, 1.0 / fps)
    q, Q = robot.neutral(), []
    for t in times:
        Q.append(q)
        q = _ahead(robot, q, AMPLITUDE * pace / fps * np.cos(pace * t + phase) * moving)
    return times, np.array(Q)


def _ahead(robot: Robot, q: Array, step: Array) -> Array:
    """q after a step of its independent coordinates; q itself where the loops do not let it through."""
    try:
        ahead = robot.integrate(q, step)
        robot.check_closed(ahead)
    except KinloopError:
        return q
    # a loop that jumps to another branch goes much farther than its rates say
    expected = float(np.max(np.abs(robot.spanning_velocity(q, step)), initial=0.0))
    return ahead if np.max(np.abs(ahead - q)) < 2 * expected + JUMP else q
