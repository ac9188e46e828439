"""Motors as a motor space sees them: the coordinate they drive, their gear on it, the forces they can exert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinloop.errors import MethodError
from kinloop.model.topology import Topology
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.file_motors import FileMotor, motor_of
from kinloop.sim.motors import Motor


@dataclass(frozen=True, eq=False)
class Driven:
    """A motor on one coordinate: it moves `gear` times as far, and its force acts `gear` times as strongly."""

    coordinate: str
    gear: float
    motor: Motor | FileMotor

    def force_range(self, speed: float) -> tuple[float, float]:
        """The least and the largest force that it can exert on its own side of the gear at its own speed."""
        return self.motor.force_range(speed)


def as_driven(top: Topology, motor: str | Motor | FileMotor) -> Driven:
    """A motor, or the name of a coordinate whose motor has the limits of its joint."""
    if isinstance(motor, str):
        return Driven(motor, 1.0, motor_of(top, motor))
    if isinstance(motor, Motor):
        gear, name = motor.ratio, motor.coordinate
    elif motor.actuator.coordinate is not None:
        name, gear = motor.actuator.coordinate
    else:
        raise MethodError(f"motor {motor.joint!r} acts along more than one coordinate; name the coordinates it drives")
    if not gear:
        raise MethodError(f"the motor of {name!r} has gear 0 and moves nothing; leave it out")
    return Driven(name, gear, motor)


def force_ranges(motors: Sequence[Driven], speeds: Array) -> tuple[Array, Array]:
    """The least and the largest forces of motors at their speeds."""
    ranges = [m.force_range(float(s)) for m, s in zip(motors, speeds, strict=True)]
    low, high = np.array(ranges).T
    return low, high


def rotor_inertias(robot: Robot, motors: Sequence[Driven]) -> Array:
    """Inertia of each motor along its own motion: armature of its coordinate, and its body about its joint."""
    top, out = robot.tree.top, []
    for m in motors:
        d = top.coordinates.index(m.coordinate)
        i = top.body_of[d]
        S = top.types[i].subspace(top.types[i].neutral())[:, d - top.v_of[i].start]
        out.append((float(S @ top.inertia[i].matrix() @ S) + float(top.armature[d])) / m.gear**2)
    return np.array(out)
