"""Sensors: what a model file wants measured, as it names it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.frame import Frame

SENSOR_KINDS = {
    "joint_position": 1, "joint_velocity": 1, "joint_actuator_force": 1, "ball_quaternion": 4, "ball_velocity": 3,
    "tendon_position": 1, "tendon_velocity": 1,
    "actuator_position": 1, "actuator_velocity": 1, "actuator_force": 1,
    "gyro": 3, "velocimeter": 3, "accelerometer": 3, "magnetometer": 3,
    "frame_position": 3, "frame_quaternion": 4, "frame_x_axis": 3, "frame_y_axis": 3, "frame_z_axis": 3,
    "frame_velocity": 3, "frame_angular_velocity": 3, "frame_acceleration": 3, "frame_angular_acceleration": 3,
    "clock": 1,
}  # fmt: skip
"""Kinds of sensors, and how many numbers each gives."""

IN_STEPS = ("accelerometer", "frame_acceleration", "frame_angular_acceleration", "actuator_force",
            "joint_actuator_force")  # fmt: skip
"""Kinds that are measured over a step: they depend on what is told to motors, and on contacts."""

UNBOUNDED_KINDS = ("frame_quaternion", "ball_quaternion", "frame_x_axis", "frame_y_axis", "frame_z_axis")
"""Kinds that no cutoff bounds."""

OF_PART = {"joint", "ball", "tendon", "actuator"}
"""First words of kinds that are of a named part."""


@dataclass(frozen=True, eq=False)
class Sensor:
    """A sensor of a `kind` (`SENSOR_KINDS`): of the joint, tendon or actuator named `part`, or of a `frame`.

    Of a frame are measured: a gyro, velocimeter, accelerometer and magnetometer in its own axes; pose, velocity and
    acceleration of its origin in the axes of the world, poses and velocities also relative to the frame `reference`.
    Accelerations are those that a body feels: upward where it is held against gravity. A `cutoff` above zero bounds
    what it tells in both directions; `field` is the magnetic field in the world.
    """

    name: str
    kind: str
    part: str = ""
    frame: Frame | None = None
    reference: Frame | None = None
    cutoff: float = 0.0
    field: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        what = f"sensor {self.name!r}"
        if self.kind not in SENSOR_KINDS:
            raise ModelError(f"{what} has the kind {self.kind!r}; it must be one of {', '.join(SENSOR_KINDS)}")
        of_part = self.kind.partition("_")[0] in OF_PART
        if of_part != bool(self.part) or (of_part or self.kind == "clock") == (self.frame is not None):
            raise ModelError(f"{what} is a {self.kind} and needs {'a part' if of_part else 'a frame'} alone; give that")
        if not 0 <= self.cutoff < np.inf:
            raise ModelError(f"{what} has the cutoff {self.cutoff!r}; it must be a number not below zero")

    @property
    def count(self) -> int:
        """How many numbers it gives."""
        return SENSOR_KINDS[self.kind]
