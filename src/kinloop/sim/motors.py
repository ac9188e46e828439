"""Motors on one coordinate: forces, and servos for position or velocity, with limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.errors import MethodError
from kinloop.inputs import checked_number


@dataclass(frozen=True)
class Motor:
    """An actuator on one coordinate of the spanning tree: `joint`, "joint" or "joint[2]", link or rotor.

    "torque": the control is the force [N m, N]. "position": the control is a target, followed with gains
    kp and kd. "velocity": the control is a target rate, followed with gain kd. `limit` bounds the force.
    With `gear` g the motor turns g times as fast as the coordinate and its force acts g times as strongly; gains,
    limit, target are its own.
    """

    joint: str
    kind: str = "torque"
    kp: float = 0.0
    kd: float = 0.0
    limit: float = np.inf
    gear: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in LAWS:
            raise MethodError(f"motor kind {self.kind!r} of {self.joint!r} is not one of {', '.join(LAWS)}")
        for name, x in (("kp", self.kp), ("kd", self.kd)):
            checked_number(f"{name} of the motor of {self.joint!r}", x, "not be negative or infinite", 0.0)
        if self.limit != np.inf:
            checked_number(f"limit of the motor of {self.joint!r}", self.limit, "not be negative", 0.0)
        checked_number(f"gear of the motor of {self.joint!r}", self.gear, "be a finite number")

    @property
    def stiffness(self) -> float:
        """That of the spring which a position servo is."""
        return self.kp if LAWS[self.kind].needs_position else 0.0


AHEAD = 1.1
"""By how much more than in the last step a servo at its limit may accelerate before it is taken as at it still. In the
step in which it leaves its limit it pushes by so much more at most."""


class Law(NamedTuple):
    """What a kind of motor does, on its own side of the gear and before its limit.

    `force(motor, u, q, qd)` is the force under the control u at position q and rate qd, `armature(motor, h)` what an
    implicit step of length h adds to the inertia by (1); `needs_position` says whether q must be a plain position.
    """

    force: Callable[[Motor, Any, Any, Any], Any]
    armature: Callable[[Motor, float], float]
    needs_position: bool = False
    is_servo: bool = True


LAWS = {
    "torque": Law(
        force=lambda motor, u, q, qd: u,
        armature=lambda motor, h: 0.0,
        is_servo=False,
    ),
    "position": Law(
        force=lambda motor, u, q, qd: motor.kp * (u - q) - motor.kd * qd,
        armature=lambda motor, h: h * motor.kd + 0.25 * h * h * motor.kp,
        needs_position=True,
    ),
    "velocity": Law(
        force=lambda motor, u, q, qd: motor.kd * (u - qd),
        armature=lambda motor, h: h * motor.kd,
    ),
}
"""Every kind of motor by name."""


def motor_force(motor: Motor, u: Any, q: Any, qd: Any, linear: Any = False, damping: Any = 0.0) -> Any:
    """The force of one motor on its coordinate, for the control u, at position q and rate qd, with some more damping;
    its limit is left out where `linear` holds."""
    q, qd = motor.gear * q, motor.gear * qd
    f = LAWS[motor.kind].force(motor, u, q, qd)
    f = f if isinstance(damping, float) and not damping else f - damping * qd
    if np.isfinite(motor.limit):
        f = unless(linear, f, sc.minimum(sc.maximum(f, -motor.limit), motor.limit))
    return motor.gear * f


def unless(linear: Any, f: Any, bounded: Any) -> Any:
    """f where `linear` holds, else `bounded`."""
    return bounded if linear is False else sc.where(linear, f, bounded)


def stays_within(asked: Any, change: Any, low: float, high: float) -> Any:
    """Whether a force that is `asked` at the beginning of a step is between its bounds at the end, or beyond the other.

    Motion that follows the force lets it fall by `change`, if it accelerates as much as in the step before; `AHEAD` is
    in favour of that. A servo taken as linear does not overshoot, whatever its gain; one with a constant force may.
    """
    return sc.logical_and(asked - AHEAD * change <= high, asked + AHEAD * change >= low)
