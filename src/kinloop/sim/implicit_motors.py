"""Forces at joints in an implicit step: what damping, springs and servos add to inertias, (1) of `actuators`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.actuators import SURELY, Drive, motor_forces
from kinloop.sim.file_motors import FileMotor
from kinloop.sim.motors import LAWS, Motor, stays_within
from kinloop.sim.stiff_gains import NOTHING, Faded
from kinloop.sim.transmissions import Line, Setting, actuator_line, along_tendon


class Implicit(NamedTuple):
    """What an implicit step makes of forces at joints: an armature for every spanning coordinate, and of every motor,
    then of every bound of the drive, whether it stays within (`linear` of `joint_forces`)."""

    armature: Array
    linear: list[Any]


def implicit(drive: Drive, q: Array, qd: Array, before: Array, u: Array, h: Any) -> Implicit:
    """The armature that an implicit step of length h from (q, qd) adds to all spanning coordinates by (1).

    A servo at its limit pushes with a constant force and adds none. Whether it will be there is foretold with the
    acceleration `before` of the last step, by `stays_within`.
    """
    at, linear = Setting(drive.top, q), list[Any]()
    extra: list[Any] = [
        h * float(d) + (0.25 * h * h) * float(s) if d or s else 0.0
        for d, s in zip(drive.damping, drive.stiffness, strict=True)
    ]
    for d, s in enumerate(drive.stiffness):
        more = drive.faded(float(s), {d: 1.0}, h)
        extra[d] = extra[d] + more.armature if more is not NOTHING else extra[d]
    for tendon in drive.tendons:
        line = along_tendon(tendon.tendon, at)
        rate = line.rate(qd)
        _spread(extra, line, tendon.armature(line.length + (0.5 * h) * rate, rate, h))
    own = [0.0] * len(qd) if drive.bounds else extra
    for k, (motor, d, place) in enumerate(zip(drive.motors, drive.dofs, drive.places, strict=True)):
        if isinstance(motor, Motor):
            more = drive.faded(motor.stiffness, {d: motor.ratio}, h)
            x, ahead = q[place] if place >= 0 else None, drive.ahead(motor, d, h)
            gain, within = _motor_armature(motor, x, qd[d], before[d], u[k], h, more, ahead)
            own[d] = own[d] + gain
        else:
            line = actuator_line(motor.actuator, drive.named_tendons, at)
            gain, within = _file_armature(motor, line, qd, before, u[k], h, drive.faded(motor.stiffness, line.arms, h))
            _spread(own, line, gain)
        linear.append(within)
    if drive.bounds:
        pushed = dict(motor_forces(drive, q, qd, u, [*linear, *[True] * len(drive.bounds)], at, h))
        for d, low, high in drive.bounds:
            within = stays_within(pushed[d], own[d] * sc.abs(before[d]), low, high)
            own[d] = sc.where(within, own[d], 0.0)
            linear.append(within)
        extra = [a + b for a, b in zip(extra, own, strict=True)]
    return Implicit(np.array(extra), linear)


def _spread(extra: list[Any], line: Line, gain: Any) -> None:
    """Add an inertia along a line to the joints it acts on: c |J_d| sum |J|."""
    if not sc.is_symbolic(gain) and not gain:
        return
    sizes = {d: sc.abs(arm) for d, arm in line.arms.items()}
    total = sum(sizes.values())
    for d, size in sizes.items():
        extra[d] = extra[d] + gain * (size * total)


def _motor_armature(
    motor: Motor, q: Any, qd: Any, before: Any, u: Any, h: Any, more: Faded, ahead: Any
) -> tuple[Any, Any]:
    """What a motor adds to its coordinate, and whether it stays within its limits; q is None where there is none.

    Where its voltage is used up, its force falls with its speed as that of a damper, which is taken at the end, too.
    """
    law, ratio, winding = LAWS[motor.kind], motor.ratio, motor.winding
    through, own = ratio**2 * motor.through_gear[0], law.armature(motor, h)
    own = own if more is NOTHING else own + more.armature
    if not (motor.is_bounded and (law.is_servo or winding)):
        return through * own, False
    x, speed = 0.0 if q is None else q + (0.5 * h) * qd, ratio * qd
    asked = law.force(motor, u, ratio * x, speed)
    asked = asked if more is NOTHING else asked - more.damping * speed
    low, high, slope = -motor.most, motor.most, 0.0
    if winding is not None:
        slope = sc.where(motor.is_short(asked, speed, ahead), (through * winding.damping) * h, 0.0)
        least, most = winding.bounds(speed)
        low, high = sc.maximum(low, least), sc.minimum(high, most)
    if not law.is_servo:
        return slope, False
    within = stays_within(asked, own * (abs(ratio) * sc.abs(before)), low, high)
    if winding is not None:  # at the end of the step, when the force has fallen by what the armature takes
        fallen = asked / (1.0 + own * (ahead / (SURELY * h)))
        within = sc.logical_and(within, sc.logical_not(motor.is_short(fallen, speed, ahead)))
    return sc.where(within, through * own, slope), within


def _file_armature(
    motor: FileMotor, line: Line, qd: Array, before: Array, u: Any, h: Any, more: Faded
) -> tuple[Any, Any]:
    """What a motor of a file adds along its line, and whether it stays within its limits."""
    gain = motor.armature(u, h)
    gain = gain if more is NOTHING else gain + more.armature
    if not (motor.is_limited and motor.is_servo):
        return gain, False
    rate = line.rate(qd)
    asked = motor.force(u, line.length + (0.5 * h) * rate, rate)
    asked = asked if more is NOTHING else asked - more.damping * rate
    within = stays_within(asked, gain * sc.abs(line.rate(before)), *motor.actuator.force_range)
    return sc.where(within, gain, 0.0), within


def with_armature(tree: ClusterTree, extra: Array) -> ClusterTree:
    """The tree with some armature added to its joints."""
    if not sc.is_symbolic(extra) and not np.any(extra):
        return tree
    return tree.with_topology(replace(tree.top, armature=tree.top.armature + extra))
