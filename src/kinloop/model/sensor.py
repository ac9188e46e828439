"""Sensors: what a model file wants measured, as it names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.frame import WORLD, Frame

if TYPE_CHECKING:
    from kinloop.model.mechanism import Mechanism

SENSOR_KINDS = {
    "joint_position": 1, "joint_velocity": 1, "joint_actuator_force": 1, "ball_quaternion": 4, "ball_velocity": 3,
    "tendon_position": 1, "tendon_velocity": 1,
    "actuator_position": 1, "actuator_velocity": 1, "actuator_force": 1,
    "gyro": 3, "velocimeter": 3, "accelerometer": 3, "magnetometer": 3,
    "frame_position": 3, "frame_quaternion": 4, "frame_x_axis": 3, "frame_y_axis": 3, "frame_z_axis": 3,
    "frame_velocity": 3, "frame_angular_velocity": 3, "frame_acceleration": 3, "frame_angular_acceleration": 3,
    "subtree_com": 3, "subtree_velocity": 3, "subtree_angular_momentum": 3,
    "touch": 1, "force": 3, "torque": 3, "contact_force": 3, "clock": 1,
}  # fmt: skip
"""Kinds of sensors, and how many numbers each gives."""

IN_STEPS = ("accelerometer", "frame_acceleration", "frame_angular_acceleration", "actuator_force",
            "joint_actuator_force", "touch", "force", "torque", "contact_force")  # fmt: skip
"""Kinds that are measured over a step: they depend on what is told to motors, and on contacts."""

UNBOUNDED_KINDS = ("frame_quaternion", "ball_quaternion", "frame_x_axis", "frame_y_axis", "frame_z_axis")
"""Kinds that no cutoff bounds."""

OF_CONTACT = ("touch", "force", "torque", "contact_force")
"""Kinds that depend on the forces of contacts."""

ZONES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}
"""Volumes in which contacts are felt, and how many numbers are their size."""

OF_PART = {"joint", "ball", "tendon", "actuator", "contact", "subtree"}
"""First words of kinds that are of a named part."""


@dataclass(frozen=True, eq=False)
class Sensor:
    """A sensor of a `kind` (`SENSOR_KINDS`): of the joint, tendon, actuator or body named `part`, or of a `frame`.

    Of a frame are measured: a gyro, velocimeter, accelerometer and magnetometer in its own axes; pose, velocity and
    acceleration of its origin in the axes of the world, poses and velocities also relative to the frame `reference`.
    Accelerations are those that a body feels: upward where it is held against gravity. A `cutoff` above zero bounds
    what it tells in both directions; `field` is the magnetic field in the world.

    Of a subtree, the body `part` and all that it carries (everything where that is "world"), are measured: the centre
    of mass and its velocity in the world, and the angular momentum about it in the axes of the world.

    A `touch` sums the normal forces of contacts on the link named `link` that lie in its `zone` (a kind and size of
    `Geometry`, at its frame), or whose line along the normal, away from the link, meets that. A `force` or `torque` is
    what holds the frame's body, with all that it carries, on its parent, in the axes and about the origin of the frame.
    A `contact_force` is the force [N], in the axes of the world, with which `part` (a link, a shape or "world")
    presses on whatever it touches, or on another one, `against`, alone.
    """

    name: str
    kind: str
    part: str = ""
    frame: Frame | None = None
    reference: Frame | None = None
    cutoff: float = 0.0
    field: tuple[float, float, float] = (0.0, 0.0, 0.0)
    link: str = ""
    zone: tuple[str, tuple[float, ...]] | None = None
    against: str = ""

    def __post_init__(self) -> None:
        what = f"sensor {self.name!r}"
        if self.kind not in SENSOR_KINDS:
            raise ModelError(f"{what} has the kind {self.kind!r}; it must be one of {', '.join(SENSOR_KINDS)}")
        of_part = self.kind.partition("_")[0] in OF_PART
        if of_part != bool(self.part) or (of_part or self.kind == "clock") == (self.frame is not None):
            raise ModelError(f"{what} is a {self.kind} and needs {'a part' if of_part else 'a frame'} alone; give that")
        if (self.kind == "touch") != (self.zone is not None and bool(self.link)):
            raise ModelError(f"{what} is a {self.kind}; a touch, and nothing else, has a link and a zone")
        if self.zone is not None and not _is_zone(*self.zone):
            sizes = ", ".join(f"{kind} ({count})" for kind, count in ZONES.items())
            raise ModelError(f"{what} has the zone {self.zone!r}; give a kind and as many positive lengths: {sizes}")
        if not 0 <= self.cutoff < np.inf:
            raise ModelError(f"{what} has the cutoff {self.cutoff!r}; it must be a number not below zero")

    @property
    def count(self) -> int:
        """How many numbers it gives."""
        return SENSOR_KINDS[self.kind]


def _is_zone(kind: str, size: tuple[float, ...]) -> bool:
    return ZONES.get(kind) == len(size) and all(0.0 < x < np.inf for x in size)


def cut_loops(m: Mechanism, s: Sensor) -> list[str]:
    """Loops that hold the body of a force or torque sensor, or what it carries, besides its parent."""
    if s.kind not in ("force", "torque") or s.frame is None or not m.loops:
        return []
    carried = {s.frame.body}
    for j in m.joints:  # parents before children
        carried |= {j.child} if j.parent in carried else set()
    found = [loop for loop in m.loops if loop.ends is not None and s.frame.body != WORLD]
    return [loop.name for loop in found if loop.ends and (loop.ends[0] in carried) != (loop.ends[1] in carried)]
