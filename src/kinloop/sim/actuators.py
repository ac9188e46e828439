"""Forces at joints: motors, servos, damping, springs, tendons, weights that are carried.

All of them act on coordinates of the spanning tree (a rotor, a link, whichever side the motor is on) and
reach the independent ones through G^T. Damping, springs and servo gains are linear in the motion; the
semi-implicit step takes damping at its end and springs at the mean of both its ends,

    f = -d (qd + h qdd) - s (q_mid + h^2 qdd / 4 - rest)                                          (1)

which is the force known at its middle with an armature h d + h^2 s / 4 added to the joint: stable for any
gain, springs keep their energy, and contacts see it too. A servo with a limit is either within it at the end of the
step, and then linear, or at it, and then a constant force (`implicit`). RK4 and the adaptive integrator take these
forces as they are.

What acts along a length l(q) with moment arms J (`transmissions`) is linear in l as (1) is in q, and adds the armature
c = h d + h^2 s / 4 along J. Inertia that couples joints of different bodies would be the end of recursions on the tree;
each joint gets c |J_d| sum |J| instead. That is never less than c J^T J, so as stable, and equal to it where the joints
move together, as fingers and telescopes do; elsewhere it slows motions that leave l as it is, by inertia of order h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError, unknown
from kinloop.model import CarriedWeight, Tendon
from kinloop.model.facts import plain
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.sim.file_motors import FileMotor, JointBound, model_motors
from kinloop.sim.motors import LAWS, Motor, motor_force, stays_within, unless
from kinloop.sim.stiff_gains import NOTHING, Faded, StiffGains
from kinloop.sim.tendon_forces import TendonForce
from kinloop.sim.transmissions import Line, Setting, actuator_line, along_tendon
from kinloop.spatial import apply_pose


@dataclass(frozen=True)
class Drive:
    """All that acts at joints: the motors, and the passive forces.

    Motor k acts on the spanning coordinate `dofs[k]`, whose position is q[places[k]]; -1 stands for coordinates of
    joints that have no plain position (a free joint, a ball), and for motors of a file that act along other things.
    `damping`, `stiffness`, `rest` and `place_of` (again places in q) are given for every spanning coordinate. `bounds`
    hold for the sum of all motors at a coordinate; `tendons` and `carried` weights act by themselves; `of_file` says
    whether the motors are those of the model file, in its order. `stiff` is there where something may touch.
    """

    motors: tuple[Motor | FileMotor, ...]
    dofs: tuple[int, ...]
    places: tuple[int, ...]
    damping: Array
    stiffness: Array
    rest: Array
    place_of: tuple[int, ...]
    top: Topology
    bounds: tuple[JointBound, ...] = ()
    tendons: tuple[TendonForce, ...] = ()
    carried: tuple[CarriedWeight, ...] = ()
    of_file: bool = False
    stiff: StiffGains | None = None

    def faded(self, k: float, arms: dict[int, Any], h: Any) -> Faded:
        """What a spring of stiffness k along a line has besides in an implicit step of length h (`stiff_gains`)."""
        return NOTHING if self.stiff is None or h is None else self.stiff.faded(k, arms, h)

    @property
    def is_smooth(self) -> bool:
        """Whether forces at joints are controls alone: no damping, springs or servos, which are taken implicitly."""
        file_motors = [m for m in self.motors if isinstance(m, FileMotor)]
        servo = any(LAWS[m.kind].is_servo for m in self.motors if isinstance(m, Motor))
        servo = servo or any(m.is_servo or m.has_state for m in file_motors)
        return not (servo or np.any(self.damping) or np.any(self.stiffness) or self.tendons)

    @property
    def is_plain(self) -> bool:
        """Whether every force acts on one coordinate and depends on that alone."""
        return not (self.tendons or self.carried or any(isinstance(m, FileMotor) for m in self.motors))

    @cached_property
    def states(self) -> tuple[int, ...]:
        """Motors that have an activation, a state of their own."""
        return tuple(k for k, m in enumerate(self.motors) if isinstance(m, FileMotor) and m.has_state)

    @cached_property
    def named_tendons(self) -> dict[str, Tendon]:
        return {t.name: t for t in self.top.mechanism.tendons}

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        motors = tuple(
            (m.kind, m.kp, m.kd, m.limit, m.gear, d) if isinstance(m, Motor) else plain(m)
            for m, d in zip(self.motors, self.dofs, strict=True)
        )
        joints = motors, tuple(self.damping), tuple(self.stiffness), tuple(self.rest)
        pulled = {m.actuator.tendon for m in self.motors if isinstance(m, FileMotor)}
        tendons = tuple(plain(t) for t in self.top.mechanism.tendons if t.name in pulled)
        more = tendons, self.bounds, *(tuple(map(plain, x)) for x in (self.tendons, self.carried))
        whole = (*joints, more) if any(more) else joints
        return whole if self.stiff is None else (*whole, self.stiff)


def make_drive(tree: ClusterTree, motors: Sequence[Motor | FileMotor | str] | str | None) -> Drive:
    """The drive of a robot: None puts a force on every independent coordinate, "model" takes the file's motors."""
    top, bounds, of_file = tree.top, list[JointBound](), isinstance(motors, str)
    if isinstance(motors, str):
        if motors != "model":
            raise MethodError(f"motors {motors!r} is not None, 'model' or a list of motors")
        motors, bounds = model_motors(tree)
    if motors is None:
        motors = [top.coordinates[d] for d in tree.independent_dofs]
    made = tuple(Motor(m) if isinstance(m, str) else m for m in motors)
    index = {name: d for d, name in enumerate(top.coordinates)}
    for m in made:
        if isinstance(m, Motor) and m.joint not in index:
            raise unknown("coordinate", m.joint, index)
    dofs = tuple(index[m.joint] if isinstance(m, Motor) else -1 for m in made)
    place_of = _places(top)
    for m, d in zip(made, dofs, strict=True):
        if isinstance(m, Motor) and LAWS[m.kind].needs_position and place_of[d] < 0:
            raise MethodError(f"coordinate {m.joint!r} has no plain position; a position servo needs one")

    def per_coordinate(name: str) -> Array:
        return np.array([getattr(j, name) for j in top.joints for _ in range(j.type.nv)], dtype=float)

    plain_places = np.array([p >= 0 for p in place_of])
    places = tuple(place_of[d] if d >= 0 else -1 for d in dofs)
    tendons = tuple(TendonForce(t) for t in top.mechanism.tendons if t.acts)
    return Drive(
        made, dofs, places, per_coordinate("damping"), per_coordinate("stiffness") * plain_places,
        per_coordinate("rest"), place_of, top, tuple(bounds), tendons, top.mechanism.carried, of_file,
    )  # fmt: skip


def _places(top: Topology) -> tuple[int, ...]:
    """Place in q of every spanning velocity whose joint has as many positions as velocities, else -1."""
    out: list[int] = []
    for t, a in zip(top.types, top.q_of, strict=True):
        out += list(range(a.start, a.stop)) if t.nq == t.nv else [-1] * t.nv
    return tuple(out)


def joint_forces(drive: Drive, q: Array, qd: Array, u: Array, linear: Sequence[Any] = (), h: Any = None) -> Array:
    """Forces on all spanning coordinates: damping, springs and motors under the controls u.

    A motor or a bound of the drive whose entry of `linear` holds is not bounded: an implicit step keeps it within its
    bounds (`implicit`). `h` is the length of that step, if it is one.
    """
    f = np.zeros(len(qd), dtype=np.result_type(q, qd, u))
    for d in range(len(qd)):
        s, damping = drive.stiffness[d], drive.damping[d]
        if damping:
            f[d] = f[d] - damping * qd[d]
        if s:
            f[d] = f[d] - s * (q[drive.place_of[d]] - drive.rest[d])
            more = drive.faded(float(s), {d: 1.0}, h)
            f[d] = f[d] - more.damping * qd[d] if more is not NOTHING else f[d]
    at = Setting(drive.top, q)
    for tendon in drive.tendons:
        line = along_tendon(tendon.tendon, at)
        _push(f, line, tendon.force(line.length, line.rate(qd)))
    for d, x in _carrying(drive, at).items():
        f[d] = f[d] + x
    for d, x in motor_forces(drive, q, qd, u, linear, at, h):
        f[d] = f[d] + x
    return f


def motor_forces(
    drive: Drive, q: Array, qd: Array, u: Array, linear: Sequence[Any] = (), at: Setting | None = None, h: Any = None
) -> list[tuple[int, Any]]:
    """(coordinate, force) of all motors, one by one; of bounded coordinates what is left of their sum."""
    at = Setting(drive.top, q) if at is None else at
    out: list[tuple[int, Any]] = []
    for k, (motor, d, place) in enumerate(zip(drive.motors, drive.dofs, drive.places, strict=True)):
        stays = linear[k] if linear else False
        if isinstance(motor, Motor):
            more = drive.faded(motor.stiffness, {d: motor.gear}, h).damping
            out.append((d, motor_force(motor, u[k], q[place] if place >= 0 else 0.0, qd[d], stays, more)))
        else:
            line = actuator_line(motor.actuator, drive.named_tendons, at)
            more = drive.faded(motor.stiffness, line.arms, h).damping
            force = file_motor_force(motor, line, qd, u[k], stays, more)
            out += [(d, arm * force) for d, arm in line.arms.items()]
    for k, (d, low, high) in enumerate(drive.bounds, start=len(drive.motors)):
        total = sum(x for e, x in out if e == d)
        bounded = unless(linear[k] if linear else False, total, sc.minimum(sc.maximum(total, low), high))
        out = [(e, x) for e, x in out if e != d] + [(d, bounded)]
    return out


def file_motor_force(motor: FileMotor, line: Line, qd: Array, u: Any, linear: Any = False, damping: Any = 0.0) -> Any:
    """The force of a motor of a file along its line, with some more damping; without limits where `linear` holds."""
    f = motor.force(u, line.length, line.rate(qd))
    f = f if isinstance(damping, float) and not damping else f - damping * line.rate(qd)
    return unless(linear, f, motor.limited(f)) if motor.is_limited else f


def resting_controls(drive: Drive, q: Array) -> Array:
    """Controls at which position servos ask for nothing at q, as far as their ranges go; zero for all other motors."""
    out, at = np.zeros(len(drive.motors)), Setting(drive.top, q)
    for k, (motor, place) in enumerate(zip(drive.motors, drive.places, strict=True)):
        if motor.kind != "position":
            continue
        if isinstance(motor, Motor):
            out[k] = motor.gear * q[place]
        elif motor.actuator.gain[0]:
            a, length = motor.actuator, actuator_line(motor.actuator, drive.named_tendons, at).length
            out[k] = motor.told(-(a.bias[0] + a.bias[1] * length) / a.gain[0])
    return out


def one_motor_forces(drive: Drive, k: int, q: Array, qd: Array, u: float) -> Array:
    """The force of motor k at states (N, nq), (N, n_spanning) under a control: on its coordinate, or along its line."""
    motor, d, place = drive.motors[k], drive.dofs[k], drive.places[k]
    if isinstance(motor, Motor):
        return np.asarray(motor_force(motor, u, q[:, place], qd[:, d]))
    lines = [actuator_line(motor.actuator, drive.named_tendons, Setting(drive.top, x)) for x in q]
    return np.array([file_motor_force(motor, line, x, u) for line, x in zip(lines, qd, strict=True)])


def _push(f: Array, line: Line, force: Any) -> None:
    for d, arm in line.arms.items():
        f[d] = f[d] + arm * force


def _carrying(drive: Drive, at: Setting) -> dict[int, Any]:
    """What holds up the carried weights, on spanning coordinates."""
    up, top = -drive.top.mechanism.gravity, drive.top
    return at.arms([(w.body, apply_pose(at.body(top.body_index[w.body]), w.at), w.mass * up) for w in drive.carried])


def spring_energy(drive: Drive, q: Array) -> Array | float:
    """Energy stored in the springs of joints and tendons [J] at positions (..., nq)."""
    total: Array | float = 0.0
    for d in np.flatnonzero(drive.stiffness):
        total = total + 0.5 * drive.stiffness[d] * (q[..., drive.place_of[d]] - drive.rest[d]) ** 2
    for tendon in drive.tendons:
        lengths = [along_tendon(tendon.tendon, Setting(drive.top, x)).length for x in q.reshape(-1, q.shape[-1])]
        total = total + np.array([tendon.energy(x) for x in lengths]).reshape(q.shape[:-1])
    return total


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
            more = drive.faded(motor.stiffness, {d: motor.gear}, h)
            gain, within = _motor_armature(motor, q[place] if place >= 0 else None, qd[d], before[d], u[k], h, more)
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


def _motor_armature(motor: Motor, q: Any, qd: Any, before: Any, u: Any, h: Any, more: Faded) -> tuple[Any, Any]:
    """What a motor adds to its coordinate, and whether it stays within its limit; q is None where there is none."""
    own = LAWS[motor.kind].armature(motor, h)
    own = own if more is NOTHING else own + more.armature
    gain = motor.gear**2 * own
    if not (np.isfinite(motor.limit) and LAWS[motor.kind].is_servo):
        return gain, False
    x = 0.0 if q is None else q + (0.5 * h) * qd
    asked = LAWS[motor.kind].force(motor, u, motor.gear * x, motor.gear * qd)
    asked = asked if more is NOTHING else asked - more.damping * (motor.gear * qd)
    within = stays_within(asked, own * (abs(motor.gear) * sc.abs(before)), -motor.limit, motor.limit)
    return sc.where(within, gain, 0.0), within


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
