"""Motors on one coordinate: forces, and servos for position or velocity, with limits, gears, windings and delays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.errors import MethodError
from kinloop.inputs import checked_number
from kinloop.sim.windings import Winding


@dataclass(frozen=True)
class Motor:
    """An actuator on one coordinate of the spanning tree: `joint`, "joint" or "joint[2]", link or rotor.

    "torque": the control is the force [N m, N]. "position": the control is a target, followed with gains
    kp and kd. "velocity": the control is a target rate, followed with gain kd. `limit` bounds the force.
    With `gear` g the motor turns g times as fast as the coordinate and its force acts g times as strongly; gains,
    limit, target, `friction` (dry, [N m]), `viscous` friction [N m s/rad] and `winding` are its own. Friction is felt
    at the joint as large as it is at the rotor, times the gear, whatever the gear loses.

    `efficiency` is the part of its power that the gear passes on to the joint, `back_efficiency` that which it passes
    back from a joint that drives the motor (as much, if not given). The motor does what it was told `delay` [s] ago,
    a whole number of steps. With `backlash` [rad, m at the joint], `rotor` names the coordinate on which the motor
    acts, which no gear of the model ties to the joint: they move apart by half of the backlash each way, no farther.
    `strength` is the part of its force that arrives at the joint: below 1 for a motor weaker than its data sheet.
    """

    joint: str
    kind: str = "torque"
    kp: float = 0.0
    kd: float = 0.0
    limit: float = np.inf
    gear: float = 1.0
    efficiency: float = 1.0
    back_efficiency: float | None = None
    friction: float = 0.0
    viscous: float = 0.0
    winding: Winding | None = None
    delay: float = 0.0
    rotor: str = ""
    backlash: float = 0.0
    strength: float = 1.0

    def __post_init__(self) -> None:
        what = f"the motor of {self.joint!r}"
        if self.kind not in LAWS:
            raise MethodError(f"motor kind {self.kind!r} of {self.joint!r} is not one of {', '.join(LAWS)}")
        for name in ("kp", "kd", "friction", "viscous", "delay", "backlash", "strength"):
            checked_number(f"{name} of {what}", getattr(self, name), "not be negative or infinite", 0.0)
        if self.limit != np.inf:
            checked_number(f"limit of {what}", self.limit, "not be negative", 0.0)
        checked_number(f"gear of {what}", self.gear, "be a finite number")
        for name, part in zip(("efficiency", "back_efficiency"), self.efficiencies, strict=True):
            checked_number(f"{name} of {what}", part, "be above 0 and at most 1", LEAST_EFFICIENCY, 1.0)
        if self.backlash and not self.rotor:
            raise MethodError(f"{what} has backlash; name the coordinate of its rotor, which no gear ties: rotor=")
        if self.rotor and (self.gear == 0.0 or self.is_lossy):
            raise MethodError(f"{what} has a rotor of its own, so that its gear must not be 0 and loses nothing")

    @property
    def coordinate(self) -> str:
        """The coordinate on which it acts."""
        return self.rotor or self.joint

    @property
    def ratio(self) -> float:
        """How many times as fast as that coordinate it turns."""
        return 1.0 if self.rotor else self.gear

    @property
    def most(self) -> float:
        """The largest force that it may be asked for."""
        return self.limit if self.winding is None else min(self.limit, self.winding.most)

    @property
    def is_bounded(self) -> bool:
        """Whether its force has a limit."""
        return bool(np.isfinite(self.most)) or self.winding is not None

    @property
    def efficiencies(self) -> tuple[float, float]:
        """Forward and back."""
        return self.efficiency, self.efficiency if self.back_efficiency is None else self.back_efficiency

    @property
    def is_lossy(self) -> bool:
        """Whether its gear loses power."""
        return self.efficiencies != (1.0, 1.0)

    @property
    def through_gear(self) -> tuple[float, float]:
        """What comes of a force through the gear: between its middle less and more its dry friction, both per force.

        Driving, a force f comes as `efficiency` f; driven back, it holds f / `back_efficiency`. At rest it is anything
        in between: the mean of the two with dry friction of half their difference.
        """
        forward, back = self.efficiencies
        return self.strength * (0.5 * (1.0 / back + forward)), self.strength * (0.5 * (1.0 / back - forward))

    def force_range(self, speed: float) -> tuple[float, float]:
        """The least and largest force [N m, N] that the joint gets, on the motor's side, at a speed there [rad/s, m/s].

        Friction counts against the motion; at standstill against either direction.
        """
        forward, back = self.efficiencies
        low, high = (self.strength * self.bounded(f, speed) for f in (-self.most, self.most))
        low, high = (float(f) * (forward if f * speed >= 0.0 else 1.0 / back) for f in (low, high))
        if not speed:
            return min(low + self.friction, 0.0), max(high - self.friction, 0.0)
        drag = self.friction * float(np.sign(speed)) + self.viscous * speed
        return low - drag, high - drag

    def bounded(self, force: Any, speed: Any, ahead: Any = 0.0) -> Any:
        """A force within the limits: what the voltage allows comes last, since nothing can be done about it.

        `ahead` is by how much a unit of force speeds the motor up in an implicit step. Where the voltage will be used
        up at its end, the force is that of the voltage at the speed now, which falls with the speed.
        """
        if np.isfinite(self.most):
            force = sc.minimum(sc.maximum(force, -self.most), self.most)
        if self.winding is None:
            return force
        (low, high), (least, most) = self.winding.bounds(speed), self.winding.bounds(speed + ahead * force)
        return sc.where(force > most, high, sc.where(force < least, low, force))

    def is_short(self, force: Any, speed: Any, ahead: Any) -> Any:
        """Whether the voltage does not do for a force within the limits; see `bounded`."""
        assert self.winding is not None, "asked of motors that have windings"
        if np.isfinite(self.most):
            force = sc.minimum(sc.maximum(force, -self.most), self.most)
        least, most = self.winding.bounds(speed + ahead * force)
        return sc.logical_or(force < least, force > most)

    @property
    def stiffness(self) -> float:
        """That of the spring which a position servo is."""
        return self.kp if LAWS[self.kind].needs_position else 0.0


LEAST_EFFICIENCY = 1e-3
"""Gears that pass on less hold whatever drives them back; this is near enough to that."""

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


def own_force(motor: Motor, u: Any, q: Any, qd: Any, linear: Any = False, damping: Any = 0.0, ahead: Any = 0.0) -> Any:
    """The force of one motor on its own side of the gear, for the control u, at position q and rate qd of its
    coordinate, with some more damping; its limits (`Motor.bounded`) are left out where `linear` holds."""
    q, qd = motor.ratio * q, motor.ratio * qd
    f = LAWS[motor.kind].force(motor, u, q, qd)
    f = f if isinstance(damping, float) and not damping else f - damping * qd
    return unless(linear, f, motor.bounded(f, qd, ahead)) if motor.is_bounded else f


def motor_force(motor: Motor, u: Any, q: Any, qd: Any) -> Any:
    """The force of one motor on its coordinate, for the control u, at the coordinate's position q and rate qd."""
    return at_coordinate(motor, own_force(motor, u, q, qd))


def at_coordinate(motor: Motor, force: Any) -> Any:
    """What comes of a motor's force at its coordinate, through its gear."""
    gain = motor.ratio * motor.through_gear[0]
    return gain * force


def unless(linear: Any, f: Any, bounded: Any) -> Any:
    """f where `linear` holds, else `bounded`."""
    return bounded if linear is False else sc.where(linear, f, bounded)


def stays_within(asked: Any, change: Any, low: float, high: float) -> Any:
    """Whether a force that is `asked` at the beginning of a step is between its bounds at the end, or beyond the other.

    Motion that follows the force lets it fall by `change`, if it accelerates as much as in the step before; `AHEAD` is
    in favour of that. A servo taken as linear does not overshoot, whatever its gain; one with a constant force may.
    """
    return sc.logical_and(asked - AHEAD * change <= high, asked + AHEAD * change >= low)
