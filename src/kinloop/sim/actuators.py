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
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError, unknown
from kinloop.model import CarriedWeight, Tendon
from kinloop.model.facts import plain
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.sim.file_motors import FileMotor, JointBound, model_motors
from kinloop.sim.motors import LAWS, Motor, at_coordinate, motor_force, own_force, unless
from kinloop.sim.stiff_gains import NOTHING, Faded, StiffGains
from kinloop.sim.tendon_forces import TendonForce
from kinloop.sim.transmissions import Line, Setting, actuator_line, along_tendon
from kinloop.spatial import apply_pose

SURELY = 0.5
"""The part of a coordinate's mobility at the neutral configuration that it has at others, at least as a rule."""

WHOLE = 1e-6
"""How far, relatively, a delay may be from a whole number of steps."""


@dataclass(frozen=True)
class Drive:
    """All that acts at joints: the motors, and the passive forces.

    Motor k acts on the spanning coordinate `dofs[k]`, whose position is q[places[k]]; -1 stands for coordinates of
    joints that have no plain position (a free joint, a ball), and for motors of a file that act along other things.
    `damping`, `stiffness`, `rest` and `place_of` (again places in q) are given for every spanning coordinate. `bounds`
    hold for the sum of all motors at a coordinate; `tendons` and `carried` weights act by themselves; `of_file` says
    whether the motors are those of the model file, in its order. `stiff` is there where something may touch. Motors do
    what they were told `delays` steps of length `dt` before. `mobility` of all spanning coordinates is there where
    motors have windings.
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
    delays: tuple[int, ...] = ()
    dt: float = 0.0
    mobility: tuple[float, ...] = ()

    def faded(self, k: float, arms: dict[int, Any], h: Any) -> Faded:
        """What a spring of stiffness k along a line has besides in an implicit step of length h (`stiff_gains`)."""
        return NOTHING if self.stiff is None or h is None else self.stiff.faded(k, arms, h)

    def own_force(self, k: int, q: Array, qd: Array, u: Array, linear: Sequence[Any], h: Any) -> Any:
        """The force of motor k, one on a coordinate, on its own side of the gear."""
        motor, d, place = self.motors[k], self.dofs[k], self.places[k]
        assert isinstance(motor, Motor), "motors of files act along lines"
        more = self.faded(motor.stiffness, {d: motor.ratio}, h).damping
        stays, x = linear[k] if linear else False, q[place] if place >= 0 else 0.0
        return own_force(motor, u[k], x, qd[d], stays, more, self.ahead(motor, d, h))

    def ahead(self, motor: Motor, d: int, h: Any) -> Any:
        """By how much a unit of a motor's force speeds it up in an implicit step of length h, at least."""
        if motor.winding is None or h is None or not self.mobility:
            return 0.0
        return h * (SURELY * motor.ratio**2 * motor.through_gear[0] * self.mobility[d])

    def without_lengths(self) -> Drive:
        """The same where limits of tendons are rows of the contact problem (`joint_limits`), and no forces here."""
        return replace(self, tendons=tuple(replace(t, limited=False) for t in self.tendons))

    @property
    def is_smooth(self) -> bool:
        """Whether forces at joints are controls alone: no damping, springs or servos, which are taken implicitly."""
        file_motors = [m for m in self.motors if isinstance(m, FileMotor)]
        servo = any(LAWS[m.kind].is_servo or m.winding for m in self.motors if isinstance(m, Motor))
        servo = servo or any(m.is_servo for m in file_motors) or bool(self.states)
        return not (servo or np.any(self.damping) or np.any(self.stiffness) or self.tendons)

    @property
    def is_plain(self) -> bool:
        """Whether every force acts on one coordinate and depends on that alone."""
        return not (self.tendons or self.carried or any(isinstance(m, FileMotor) for m in self.motors) or self.rubbing)

    @cached_property
    def states(self) -> tuple[int, ...]:
        """Motors that have a state of their own, once for every number of it.

        A motor of a file has its activation; one with a delay of n steps has what it was told in these, the first
        first, and the time since the last of them began.
        """
        own = [
            int(m.has_state) if isinstance(m, FileMotor) else n + 1 if n else 0
            for m, n in zip(self.motors, self.delays or (0,) * len(self.motors), strict=True)
        ]
        return tuple(k for k, count in enumerate(own) for _ in range(count))

    @cached_property
    def rubbing(self) -> tuple[int, ...]:
        """Motors whose gears rub the more the harder they push."""
        return tuple(k for k, m in enumerate(self.motors) if isinstance(m, Motor) and m.is_lossy)

    @cached_property
    def named_tendons(self) -> dict[str, Tendon]:
        return {t.name: t for t in self.top.mechanism.tendons}

    @property
    def rubbing_names(self) -> list[str]:
        """The joints of motors that have friction, gears that lose power, or backlash."""
        made = [m for m in self.motors if isinstance(m, Motor)]
        return [m.joint for m in made if m.friction or m.is_lossy or m.rotor]

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        motors = tuple(
            (m.kind, m.kp, m.kd, m.limit, m.gear, d, *_modelled(m)) if isinstance(m, Motor) else plain(m)
            for m, d in zip(self.motors, self.dofs, strict=True)
        )
        joints = motors, tuple(self.damping), tuple(self.stiffness), tuple(self.rest)
        pulled = {m.actuator.tendon for m in self.motors if isinstance(m, FileMotor)}
        tendons = tuple(plain(t) for t in self.top.mechanism.tendons if t.name in pulled)
        more = tendons, self.bounds, *(tuple(map(plain, x)) for x in (self.tendons, self.carried))
        whole = (*joints, more) if any(more) else joints
        whole = (*whole, self.delays, self.dt) if any(self.delays) else whole
        whole = (*whole, "mobility", self.mobility) if self.mobility else whole
        return whole if self.stiff is None else (*whole, self.stiff)


def _modelled(m: Motor) -> tuple[Any, ...]:
    """What a motor has beyond a law, a gear and a limit; what acts on its coordinate by itself is said there."""
    more = m.efficiencies, plain(m.winding) if m.winding else None, m.rotor
    more = more if m.is_lossy or m.winding or m.rotor else ()
    return more if m.strength == 1.0 else (*more, "strength", m.strength)


def make_drive(
    tree: ClusterTree, motors: Sequence[Motor | FileMotor | str] | str | None, dt: float | None = None
) -> Drive:
    """The drive of a robot: None puts a force on every independent coordinate, "model" takes the file's motors.

    `dt` is the length of steps, which motors with delays depend on.
    """
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
        for name in (m.joint, m.coordinate) if isinstance(m, Motor) else ():
            if name not in index:
                raise unknown("coordinate", name, index)
    dofs = tuple(index[m.coordinate] if isinstance(m, Motor) else -1 for m in made)
    place_of = top.plain_places()
    for m, d in zip(made, dofs, strict=True):
        if isinstance(m, Motor) and LAWS[m.kind].needs_position and place_of[d] < 0:
            raise MethodError(f"coordinate {m.coordinate!r} has no plain position; a position servo needs one")

    def per_coordinate(name: str) -> Array:
        return np.array([getattr(j, name) for j in top.joints for _ in range(j.type.nv)], dtype=float)

    plain_places = np.array([p >= 0 for p in place_of])
    places = tuple(place_of[d] if d >= 0 else -1 for d in dofs)
    tendons = tuple(TendonForce(t) for t in top.mechanism.tendons if t.acts)
    damping = per_coordinate("damping")
    for m, d in zip(made, dofs, strict=True):
        if isinstance(m, Motor):
            damping[d] += m.ratio**2 * m.viscous
    return Drive(
        made, dofs, places, damping, per_coordinate("stiffness") * plain_places,
        per_coordinate("rest"), place_of, top, tuple(bounds), tendons, top.mechanism.carried, of_file,
        delays=tuple(_delay(m, dt) for m in made), dt=0.0 if dt is None else dt,
    )  # fmt: skip


def _delay(motor: Motor | FileMotor, dt: float | None) -> int:
    """The steps after which a motor does what it was told; an error where these are not whole."""
    if isinstance(motor, FileMotor) or not motor.delay or dt is None:
        return 0
    steps = round(motor.delay / dt)
    if abs(motor.delay / dt - steps) > WHOLE * max(steps, 1) or steps < 1:
        raise MethodError(
            f"the delay of the motor of {motor.joint!r}, {motor.delay:g} s, is {motor.delay / dt:g} steps of {dt:g} s; "
            "give a whole number of steps"
        )
    return steps


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
    out: list[tuple[int, Any]] = []
    for arms, force in each_motor_force(drive, q, qd, u, linear, at, h):
        out += [(d, arm * force) for d, arm in arms.items()]
    for k, (d, low, high) in enumerate(drive.bounds, start=len(drive.motors)):
        total = sum(x for e, x in out if e == d)
        bounded = unless(linear[k] if linear else False, total, sc.minimum(sc.maximum(total, low), high))
        out = [(e, x) for e, x in out if e != d] + [(d, bounded)]
    return out


def each_motor_force(
    drive: Drive, q: Array, qd: Array, u: Array, linear: Sequence[Any] = (), at: Setting | None = None, h: Any = None
) -> list[tuple[dict[int, Any], Any]]:
    """The coordinates that a motor acts on, with moment arms, and its force on its own coordinate or along its line."""
    at = Setting(drive.top, q) if at is None else at
    out: list[tuple[dict[int, Any], Any]] = []
    for k, (motor, d) in enumerate(zip(drive.motors, drive.dofs, strict=True)):
        if isinstance(motor, Motor):
            out.append(({d: 1.0}, at_coordinate(motor, drive.own_force(k, q, qd, u, linear, h))))
        else:
            line = actuator_line(motor.actuator, drive.named_tendons, at)
            more = drive.faded(motor.stiffness, line.arms, h).damping
            out.append((line.arms, file_motor_force(motor, line, qd, u[k], linear[k] if linear else False, more)))
    return out


def gear_friction(drive: Drive, q: Array, qd: Array, u: Array, linear: Sequence[Any] = (), h: Any = None) -> Array:
    """The dry friction of gears on all spanning coordinates, which grows with the forces of motors (`through_gear`)."""
    out = np.zeros(len(qd), dtype=object)
    for k in drive.rubbing:
        motor, d = drive.motors[k], drive.dofs[k]
        assert isinstance(motor, Motor), "motors of files have no gears that rub"
        own = drive.own_force(k, q, qd, u, linear, h)
        out[d] = out[d] + abs(motor.ratio) * motor.through_gear[1] * sc.abs(own)
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
            out[k] = motor.ratio * q[place]
        elif motor.actuator.gain[0]:
            a, length = motor.actuator, actuator_line(motor.actuator, drive.named_tendons, at).length
            out[k] = motor.told(-(a.bias[0] + a.bias[1] * length) / a.gain[0])
    return out


def resting_activations(drive: Drive, q: Array) -> Array:
    """States of motors at q (nq,): activations are zero, and motors with delays were told to stay."""
    u, seen, out = resting_controls(drive, q), dict[int, int](), np.zeros(len(drive.states))
    for n, k in enumerate(drive.states):
        seen[k] = seen.get(k, 0) + 1
        if drive.delays[k] and seen[k] <= drive.delays[k]:
            out[n] = u[k]
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
