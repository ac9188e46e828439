"""Motors as a model file describes them: any gain and bias, ranges, a state of their own, along anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError, unknown
from kinloop.model import Actuator, Joint, Topology
from kinloop.model.annotations import UNBOUNDED
from kinloop.sim.motors import Motor
from kinloop.sim.transmissions import check_line

SHORTEST = 1e-12
"""Shorter time constants [s] are none: the activation is the control."""


@dataclass(frozen=True, eq=False)
class FileMotor:
    """An actuator of a model file, which does what the file says; see `kinloop.model.Actuator`."""

    actuator: Actuator

    @property
    def joint(self) -> str:
        """What its control is called: the coordinate it acts on, or its own name where that is not one."""
        coordinate = self.actuator.coordinate
        return self.actuator.name if coordinate is None else coordinate.name

    @property
    def kind(self) -> str:
        return self.actuator.kind

    @property
    def kp(self) -> float:
        return self.actuator.kp

    @property
    def kd(self) -> float:
        return self.actuator.kd

    @property
    def has_state(self) -> bool:
        """Whether it has an activation, a state of its own."""
        return self.actuator.dynamics != "none"

    @property
    def is_servo(self) -> bool:
        """Whether its force depends on the motion."""
        a = self.actuator
        return any((*a.gain[1:], *a.bias[1:]))

    @property
    def stiffness(self) -> float:
        """That of the spring which it is along its length, where that does not depend on its control; else zero."""
        return max(-float(self.actuator.bias[1]), 0.0) if not self.actuator.gain[1] else 0.0

    @property
    def is_limited(self) -> bool:
        return self.actuator.force_range != UNBOUNDED

    def force_range(self, speed: float) -> tuple[float, float]:
        """Least and most force [N m, N] along its length at a speed [rad/s, m/s]; torque motors by their controls."""
        a = self.actuator
        low, high = a.force_range
        if a.kind == "torque" and not a.beyond:
            ends = sorted(a.gain[0] * u if a.gain[0] else 0.0 for u in a.control_range)
            low, high = max(low, ends[0]), min(high, ends[1])
        return low, high

    def told(self, u: Any) -> Any:
        """The control u within its range."""
        return _within(u, self.actuator.control_range)

    def force(self, u: Any, length: Any, rate: Any) -> Any:
        """The force before its limits, for the control u, or the activation if it has one."""
        a = self.actuator
        u = u if self.has_state else self.told(u)
        gain, bias = ((p[0] + _part(p[1], length)) + _part(p[2], rate) for p in (a.gain, a.bias))
        return gain * u + bias

    def limited(self, f: Any) -> Any:
        """A force within its limits."""
        return _within(f, self.actuator.force_range)

    def armature(self, u: Any, h: Any) -> Any:
        """What an implicit step of length h adds to the inertia along its length."""
        a = self.actuator
        u = u if self.has_state else self.told(u)
        stiffness, damping = (-(_part(a.gain[k], u) + a.bias[k]) for k in (1, 2))
        out = _positive(damping) * h if _some(damping) else 0.0
        return out + (0.25 * h * h) * _positive(stiffness) if _some(stiffness) else out

    def activation(self, act: Any, u: Any, h: Any) -> Any:
        """The activation a time h later under the control u, which is held."""
        a, u = self.actuator, self.told(u)
        if a.dynamics == "integrator":
            return _within(act + h * u, a.activation_range)
        if a.time_constant < SHORTEST:
            return _within(u, a.activation_range)
        return _within(u + (act - u) * sc.exp(-h / a.time_constant), a.activation_range)


def _part(factor: float, x: Any) -> Any:
    return factor * x if factor else 0.0


def _some(x: Any) -> bool:
    return sc.is_symbolic(x) or bool(x)


def _positive(x: Any) -> Any:
    return sc.maximum(x, 0.0)


def _within(x: Any, bounds: tuple[float, float]) -> Any:
    low, high = bounds
    x = sc.maximum(x, low) if low > -np.inf else x
    return sc.minimum(x, high) if high < np.inf else x


class JointBound(NamedTuple):
    """A bound on the sum of all that motors do to one spanning coordinate."""

    dof: int
    low: float
    high: float


def model_motors(tree: ClusterTree) -> tuple[list[Motor | FileMotor], list[JointBound]]:
    """The motors a model file describes, and bounds of joints on what they do together; what nobody does is refused."""
    actuators, top = tree.top.mechanism.actuators, tree.top
    if not actuators:
        raise MethodError(f"the model of {top.mechanism.name!r} describes no actuators; give motors=[...]")
    acting = Counter(joint for a in actuators for joint in a.joints)
    joints = {j.name: j for j in top.joints}
    motors: list[Motor | FileMotor] = []
    kept: set[str] = set()
    for a in actuators:
        if a.unmodelled:
            raise MethodError(f"actuator {a.name!r} {' and '.join(a.unmodelled)}; give motors=[...] instead")
        check_line(a, top)
        alone = all(acting[name] == 1 for name in a.joints)
        motor = _plain_motor(a, joints) if alone else None
        motors.append(FileMotor(a) if motor is None else motor)
        kept |= set(a.joints) if motor is None else set()
    bounds = []
    for name in sorted(kept, key=lambda name: top.joint_index[name]):
        low, high = joints[name].force_range
        if (low, high) != UNBOUNDED:
            bounds += [JointBound(d, low, high) for d in _dofs(tree, name)]
    return motors, bounds


def named_motors(tree: ClusterTree, names: Sequence[str]) -> list[Motor | FileMotor]:
    """Motors by the names of actuators of the file, or of coordinates, which get a motor within their joint's limit."""
    top = tree.top
    actuators = [a.name for a in top.mechanism.actuators]
    of_file = model_motors(tree)[0] if any(name in actuators for name in names) else []
    return [of_file[actuators.index(n)] if n in actuators else motor_of(top, n) for n in names]


def motor_of(top: Topology, coordinate: str) -> Motor:
    """The motor of a coordinate by its name: its control is its force, within the limit of its joint."""
    if coordinate not in top.coordinates:
        raise unknown(
            "actuator or coordinate", coordinate, [*(a.name for a in top.mechanism.actuators), *top.coordinates]
        )
    low, high = top.joints[top.body_of[top.coordinates.index(coordinate)]].force_range
    return Motor(coordinate, limit=min(-low, high))


def _dofs(tree: ClusterTree, joint: str) -> range:
    v = tree.top.v_of[tree.top.joint_index[joint]]
    return range(v.start, v.stop)


def _plain_motor(a: Actuator, joints: dict[str, Joint]) -> Motor | None:
    """The motor on one coordinate that does exactly what an actuator does, if there is one.

    The gain of a torque actuator becomes part of the gear, its range of controls part of the limit. A joint's bound on
    force is one on its actuator, where that is the only one.
    """
    if a.coordinate is None or a.beyond:
        return None
    joint, (_, gear), torque = joints[a.joints[0]], a.coordinate, a.kind == "torque"
    (low, high), (least, most) = a.force_range, a.control_range
    if low != -high or joint.force_range[0] != -joint.force_range[1]:
        return None
    if (least != -most) if torque else ((least, most) != UNBOUNDED):
        return None
    limit = min(high, joint.max_force / abs(gear)) if np.isfinite(joint.max_force) else high
    if torque:
        gear, limit = gear * a.gain[0], min(limit / abs(a.gain[0]) if a.gain[0] else limit, most)
    return Motor(a.coordinate.name, a.kind, a.kp, a.kd, limit, gear)
