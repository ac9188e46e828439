"""Forces at joints: motors, servos, damping, springs.

All of them act on coordinates of the spanning tree (a rotor, a link, whichever side the motor is on) and
reach the independent ones through G^T. Damping, springs and servo gains are linear in the motion; the
semi-implicit step takes damping at its end and springs at the mean of both its ends,

    f = -d (qd + h qdd) - s (q_mid + h^2 qdd / 4 - rest)                                          (1)

which is the force known at its middle with an armature h d + h^2 s / 4 added to the joint: stable for any
gain, springs keep their energy, and contacts see it too. RK4 and the adaptive integrator take these forces
as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError, unknown
from kinloop.inputs import checked_number
from kinloop.model import Actuator
from kinloop.model.annotations import UNBOUNDED
from kinloop.model.topology import Topology
from kinloop.scalar import Array


@dataclass(frozen=True)
class Motor:
    """An actuator on one coordinate of the spanning tree: `joint`, "joint" or "joint[2]", link or rotor.

    "torque": the control is the force [N m, N]. "position": the control is a target, followed with gains
    kp and kd. "velocity": the control is a target rate, followed with gain kd. `limit` bounds the force;
    a servo with a limit is taken explicitly (a bounded force is not linear). With `gear` g the motor turns
    g times as fast as the coordinate and its force acts g times as strongly; gains, limit, target are its own.
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


@dataclass(frozen=True)
class Drive:
    """All that acts at joints: the motors, and the passive forces.

    Motor k acts on the spanning coordinate `dofs[k]`, whose position is q[places[k]]; -1 stands for coordinates of
    joints that have no plain position (a free joint, a ball). `damping`, `stiffness`, `rest` and `place_of` (again
    places in q) are given for every spanning coordinate.
    """

    motors: tuple[Motor, ...]
    dofs: tuple[int, ...]
    places: tuple[int, ...]
    damping: Array
    stiffness: Array
    rest: Array
    place_of: tuple[int, ...]

    @property
    def is_smooth(self) -> bool:
        """Whether forces at joints are controls alone: no damping, springs or servos, which are taken implicitly."""
        servo = any(LAWS[m.kind].is_servo for m in self.motors)
        return not (servo or np.any(self.damping) or np.any(self.stiffness))

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        motors = tuple((m.kind, m.kp, m.kd, m.limit, m.gear, d) for m, d in zip(self.motors, self.dofs, strict=True))
        return motors, tuple(self.damping), tuple(self.stiffness), tuple(self.rest)


def model_motors(tree: ClusterTree, targets_in_range: bool = False) -> list[Motor]:
    """The motors a model file describes; what no motor does exactly is refused by name.

    A servo whose targets the file keeps within a range is refused too, unless the caller keeps them there itself
    (`targets_in_range`).
    """
    actuators = tree.top.mechanism.actuators
    if not actuators:
        raise MethodError(f"the model of {tree.top.mechanism.name!r} describes no actuators; give motors=[...]")
    acting = Counter(joint for a in actuators for joint in a.joints)
    bounds = {j.name: j.max_force for j in tree.top.joints}
    return [_model_motor(a, acting, bounds, targets_in_range) for a in actuators]


def _model_motor(a: Actuator, acting: Mapping[str, int], bounds: Mapping[str, float], in_range: bool) -> Motor:
    """The motor that does exactly what an actuator does, or an error that names what no motor does.

    The gain of a torque actuator becomes part of the gear, its range of controls part of the limit. A joint's bound on
    force is one on its actuator, where there is one only.
    """

    def refused(why: str) -> MethodError:
        return MethodError(f"actuator {a.name!r} {why}, which no motor does; give motors=[...] instead")

    if a.coordinate is None:
        raise MethodError(f"actuator {a.name!r} acts on several coordinates; give motors=[...] instead")
    if a.beyond:
        raise refused(f"has {' and '.join(a.beyond)}")
    (low, high), (least, most), torque = a.force_range, a.control_range, a.kind == "torque"
    if low != -high:
        raise refused(f"takes forces from {low:g} to {high:g}, not the same in both directions")
    if torque and least != -most:
        raise refused(f"takes controls from {least:g} to {most:g}, not the same in both directions")
    if not (torque or in_range) and (least, most) != UNBOUNDED:
        raise refused(f"keeps its targets from {least:g} to {most:g}")
    joint, (_, gear), limit = a.joints[0], a.coordinate, high
    if np.isfinite(bounds[joint]):
        if acting[joint] > 1:
            raise refused(f"shares the bound of {bounds[joint]:g} on forces at joint {joint!r} with others")
        limit = min(limit, bounds[joint] / abs(gear))
    if torque:
        gear, limit = gear * a.gain[0], min(limit / abs(a.gain[0]) if a.gain[0] else limit, most)
    return Motor(a.coordinate.name, a.kind, a.kp, a.kd, limit, gear)


def make_drive(tree: ClusterTree, motors: Sequence[Motor | str] | str | None) -> Drive:
    """The drive of a robot: None puts a force on every independent coordinate, "model" takes the file's motors."""
    top = tree.top
    if isinstance(motors, str):
        if motors != "model":
            raise MethodError(f"motors {motors!r} is not None, 'model' or a list of motors")
        motors = model_motors(tree)
    if motors is None:
        motors = [top.coordinates[d] for d in tree.independent_dofs]
    made = tuple(m if isinstance(m, Motor) else Motor(m) for m in motors)
    index = {name: d for d, name in enumerate(top.coordinates)}
    for m in made:
        if m.joint not in index:
            raise unknown("coordinate", m.joint, index)
    dofs = tuple(index[m.joint] for m in made)
    place_of = _places(top)
    for m, d in zip(made, dofs, strict=True):
        if LAWS[m.kind].needs_position and place_of[d] < 0:
            raise MethodError(f"coordinate {m.joint!r} has no plain position; a position servo needs one")

    def per_coordinate(name: str) -> Array:
        return np.array([getattr(j, name) for j in top.joints for _ in range(j.type.nv)], dtype=float)

    plain = np.array([p >= 0 for p in place_of])
    return Drive(
        made, dofs, tuple(place_of[d] for d in dofs), per_coordinate("damping"), per_coordinate("stiffness") * plain,
        per_coordinate("rest"), place_of,
    )  # fmt: skip


def _places(top: Topology) -> tuple[int, ...]:
    """Place in q of every spanning velocity whose joint has as many positions as velocities, else -1."""
    out: list[int] = []
    for t, a in zip(top.types, top.q_of, strict=True):
        out += list(range(a.start, a.stop)) if t.nq == t.nv else [-1] * t.nv
    return tuple(out)


def joint_forces(drive: Drive, q: Array, qd: Array, u: Array) -> Array:
    """Forces on all spanning coordinates: damping, springs and motors under the controls u."""
    f = np.zeros(len(qd), dtype=np.result_type(q, qd, u))
    for d in range(len(qd)):
        s, damping = drive.stiffness[d], drive.damping[d]
        if damping:
            f[d] = f[d] - damping * qd[d]
        if s:
            f[d] = f[d] - s * (q[drive.place_of[d]] - drive.rest[d])
    for k, (motor, d, place) in enumerate(zip(drive.motors, drive.dofs, drive.places, strict=True)):
        f[d] = f[d] + motor_force(motor, u[k], q[place] if place >= 0 else 0.0, qd[d])
    return f


def motor_force(motor: Motor, u: Any, q: Any, qd: Any) -> Any:
    """The force of one motor on its coordinate, for the control u, at position q and rate qd."""
    q, qd = motor.gear * q, motor.gear * qd
    f = LAWS[motor.kind].force(motor, u, q, qd)
    if np.isfinite(motor.limit):
        f = sc.minimum(sc.maximum(f, -motor.limit), motor.limit)
    return motor.gear * f


def spring_energy(drive: Drive, q: Array) -> Array | float:
    """Energy stored in the joints' springs [J] at positions (..., nq)."""
    total: Array | float = 0.0
    for d in np.flatnonzero(drive.stiffness):
        total = total + 0.5 * drive.stiffness[d] * (q[..., drive.place_of[d]] - drive.rest[d]) ** 2
    return total


def implicit_armature(drive: Drive, q: Array, qd: Array, before: Array, u: Array, h: Any) -> Array:
    """The armature that an implicit step of length h adds to all spanning coordinates by (1).

    A servo at its limit pushes with a constant force, and adds none: whether it will be there is predicted with the
    acceleration `before` of the last step.
    """
    extra: list[Any] = [
        h * float(d) + (0.25 * h * h) * float(s) if d or s else 0.0
        for d, s in zip(drive.damping, drive.stiffness, strict=True)
    ]
    for k, (motor, d, place) in enumerate(zip(drive.motors, drive.dofs, drive.places, strict=True)):
        gain = motor.gear**2 * LAWS[motor.kind].armature(motor, h)
        if np.isfinite(motor.limit) and LAWS[motor.kind].is_servo:
            x, rate = (q[place] if place >= 0 else 0.0), qd[d] + h * before[d]
            asked = LAWS[motor.kind].force(motor, u[k], motor.gear * (x + h * rate), motor.gear * rate)
            gain = sc.where(sc.abs(asked) < motor.limit, gain, 0.0)
        extra[d] = extra[d] + gain
    return np.array(extra)


def with_armature(tree: ClusterTree, extra: Array) -> ClusterTree:
    """The tree with some armature added to its joints."""
    if not sc.is_symbolic(extra) and not np.any(extra):
        return tree
    return tree.with_topology(replace(tree.top, armature=tree.top.armature + extra))
