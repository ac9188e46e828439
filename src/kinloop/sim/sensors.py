"""What the sensors of a model tell: functions of a state, and of the step that leads from or to it.

Accelerations are means over a step, (qd' - qd) / h of all joints, so that blows of contacts are in them; forces of
motors are those at the state under what they are told in the step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import joint_pose, world_acceleration
from kinloop.clusters import ClusterTree
from kinloop.model import Frame, Mechanism, Sensor, Topology, cut_loops
from kinloop.model.sensor import IN_STEPS, OF_CONTACT, UNBOUNDED_KINDS
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive, file_motor_force, motor_forces
from kinloop.sim.contact.impact import Contact
from kinloop.sim.contact_sensors import Felt, moving_masses, outside_on_coordinates, outside_wrench
from kinloop.sim.file_motors import FileMotor
from kinloop.sim.loop_loads import LoopLoads
from kinloop.sim.outside import NOTHING, Outside
from kinloop.sim.transmissions import Line, Setting, actuator_line, along_tendon
from kinloop.spatial import Transform, cross, cross_motion

OF_STEPS = {"acceleration": "qdd", "told": "u", "touching": "touching", "pushed": "pushed"}
"""Outputs of the step kernel that sensors need, and the inputs of theirs that they are."""


def needed(mechanism: Mechanism) -> tuple[str, ...]:
    """Which outputs of the step kernel the sensors of a mechanism need (`OF_STEPS`)."""
    sensors = mechanism.sensors
    kinds = {s.kind for s in sensors if s.kind in IN_STEPS}
    forces = {kind for kind in kinds if kind.endswith("actuator_force")}
    loads = {kind for kind in kinds if kind in OF_CONTACT}
    return (
        *(("acceleration",) if kinds - forces - {"touch", "contact_force"} else ()),
        *(("told",) if forces or {"force", "torque"} & loads else ()),
        *(("touching",) if loads else ()),
        *(("pushed",) if any(cut_loops(mechanism, s) for s in sensors) else ()),
    )


class Motion(NamedTuple):
    """The pose of a frame in the world, its twist and its spatial acceleration in its own axes."""

    T: Transform
    v: Array
    a: Array


class Reading:
    """One state, of which sensors tell: positions and velocities of all joints, their accelerations, controls.

    `loads` are sums of contact forces for the sensors of these (`contact_sensors.Felt.sums`), `pushed` forces of
    motors, springs, stops and friction on the spanning coordinates.
    """

    def __init__(
        self, drive: Drive, outside: Outside, loops: LoopLoads, q: Array, qd: Array, qdd: Array, u: Array, pushed: Array
    ) -> None:
        self.drive, self.outside, self.top, self.q, self.qd, self.qdd, self.u = drive, outside, drive.top, q, qd, qdd, u
        self.loops, self.pushed = loops, pushed
        self.at = Setting(drive.top, q)
        self.loads: dict[str, Array] = {}
        self._bodies: list[tuple[Array, Array]] | None = None
        self._held: dict[int, Array] = {}

    def load(self, s: Sensor) -> Array:
        """What a sensor of contact tells."""
        if s.kind not in ("force", "torque"):
            return self.loads[s.name]
        assert s.frame is not None, "a force is of a frame"
        T, i = self.at.pose(s.frame), self.top.body_index[s.frame.body]
        held = self._needed(i)
        if self.loops.cut[s.name]:
            held = held - self.loops.on_body(s, self._looped)
        held, load = T.force_back(held), self.loads[s.name]
        push = T.R.T @ (load[:3] if s.kind == "force" else load[3:])
        found: Array = (held[3:] if s.kind == "force" else held[:3]) - push
        return found

    def _needed(self, i: int) -> Array:
        """The wrench that a body needs with all that it carries, beyond users' forces and contacts, in the world."""
        if i not in self._held:
            poses = [self.at.body(k) for k in range(len(self.top))]
            masses = moving_masses(self.top, i, poses, self._moving())
            self._held[i] = masses - outside_wrench(self.top, self.outside, i, self.q, self.qd, self.u)
        return self._held[i]

    @cached_property
    def _looped(self) -> dict[str, Array]:
        """Wrenches of the loops that hold bodies of sensors."""
        needed = {}
        for i, felt in zip(self.loops.bodies, self.loops.felt, strict=True):
            force, moment = self.loads[felt.name][:3], self.loads[felt.name][3:]
            contacts = np.concatenate([moment + cross(self.at.body(i).p, force), force])
            needed[i] = self._needed(i) - contacts
        at_joints = outside_on_coordinates(self.top, self.outside, self.q, self.qd)
        return self.loops.wrenches(self.at, needed, self.pushed + at_joints, self.qdd)

    def motion(self, frame: Frame) -> Motion:
        """How a frame moves; its acceleration is upward where it is held against gravity."""
        i, T = self.top.body_index[frame.body], self.at.pose(frame)
        ground = world_acceleration(self.top)
        v, a = (np.zeros(6), ground) if i < 0 else self._moving()[i]
        return Motion(T, frame.placement.motion(v), frame.placement.motion(a))

    def _moving(self) -> list[tuple[Array, Array]]:
        """Twists and spatial accelerations of all bodies, in their own frames."""
        if self._bodies is None:
            self._bodies, top = [], self.top
            for i, parent in enumerate(top.parent):
                q, rates = self.q[top.q_of[i]], self.qd[top.v_of[i]]
                S, T = top.types[i].subspace(q), joint_pose(top, i, self.q, turning=(i,))
                v, a = (np.zeros(6), world_acceleration(top)) if parent < 0 else self._bodies[parent]
                own, before = S @ rates, T.motion(v)
                bias = top.types[i].subspace_bias(q, rates) + S @ self.qdd[top.v_of[i]]
                self._bodies.append((before + own, T.motion(a) + cross_motion(before, own) + bias))
        return self._bodies

    def subtree(self, s: Sensor) -> Array:
        """What a sensor of a subtree tells: m c, and momenta h = [l; p] about the world's origin, are summed."""
        top, root = self.top, self.top.body_index[s.part]
        mass, moment, h = 0.0, np.zeros(3), np.zeros(6)
        for i, (v, _) in enumerate(self._moving()):
            if root < 0 or root in top.support(i):
                T, m = self.at.body(i), top.inertia[i].M[0, 0]
                mass, moment = mass + m, moment + m * (T.p + T.R @ np.asarray(top.com[i]))
                h = h + T.force(top.inertia[i].apply(v))
        if s.kind == "subtree_com":
            return moment / mass
        velocity: Array = h[3:] / mass
        return velocity if s.kind == "subtree_velocity" else h[:3] - cross(moment, velocity)

    def line(self, s: Sensor) -> Line:
        """The length that a sensor of a tendon or an actuator is of."""
        if s.kind.startswith("tendon"):
            return along_tendon(self.drive.named_tendons[s.part], self.at)
        return actuator_line(self._actuator(s)[1].actuator, self.drive.named_tendons, self.at)

    def force(self, s: Sensor) -> Any:
        """The force of an actuator along its length."""
        k, motor = self._actuator(s)
        return file_motor_force(motor, self.line(s), self.qd, self.u[k])

    def _actuator(self, s: Sensor) -> tuple[int, FileMotor]:
        actuators = self.top.mechanism.actuators
        k = next(k for k, a in enumerate(actuators) if a.name == s.part)
        return k, FileMotor(actuators[k])

    def joint(self, s: Sensor, x: Array, parts: tuple[slice, ...]) -> Array:
        """The entries of a joint in an array."""
        return x[parts[self.top.joint_index[s.part]]]


def _of_parts(r: Reading, s: Sensor) -> Any:
    """What a sensor of a joint, tendon, actuator or subtree tells."""
    match s.kind:
        case "joint_position" | "ball_quaternion":
            return r.joint(s, r.q, r.top.q_of)
        case "joint_velocity" | "ball_velocity":
            return r.joint(s, r.qd, r.top.v_of)
        case "joint_actuator_force":
            d = r.top.v_of[r.top.joint_index[s.part]].start
            return sum((x for e, x in motor_forces(r.drive, r.q, r.qd, r.u, at=r.at) if e == d), 0.0)
        case "subtree_com" | "subtree_velocity" | "subtree_angular_momentum":
            return r.subtree(s)
        case "tendon_position" | "actuator_position":
            return r.line(s).length
        case "tendon_velocity" | "actuator_velocity":
            return r.line(s).rate(r.qd)
    return r.force(s)


def quaternion(R: Array) -> Array:
    """The unit quaternion of a rotation matrix whose first number is not negative."""
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    x, y, z = R[0, 0], R[1, 1], R[2, 2]
    ways = [
        np.array([1.0 + x + y + z, a, b, c]), np.array([a, 1.0 + x - y - z, d, e]),
        np.array([b, d, 1.0 + y - x - z, f]), np.array([c, e, f, 1.0 + z - x - y]),
    ]  # fmt: skip
    best, out = ways[0][0], ways[0]
    for k, way in enumerate(ways[1:], start=1):
        better = way[k] > best
        best, out = sc.where(better, way[k], best), sc.where(better, way, out)
    unit: Array = out * (sc.where(out[0] < 0.0, -1.0, 1.0) / sc.sqrt(out @ out))
    return unit


IMU: dict[str, Callable[[Motion, Sensor], Array]] = {
    "gyro": lambda m, s: m.v[:3],
    "velocimeter": lambda m, s: m.v[3:],
    "accelerometer": lambda m, s: m.a[3:] + cross(m.v[:3], m.v[3:]),
    "magnetometer": lambda m, s: m.T.R.T @ np.array(s.field),
    "frame_acceleration": lambda m, s: m.T.R @ (m.a[3:] + cross(m.v[:3], m.v[3:])),
    "frame_angular_acceleration": lambda m, s: m.T.R @ m.a[:3],
}
"""Sensors of how one frame moves."""

RELATIVE: dict[str, Callable[[Motion, Motion], Array]] = {
    "frame_position": lambda m, o: o.T.R.T @ (m.T.p - o.T.p),
    "frame_quaternion": lambda m, o: quaternion(o.T.R.T @ m.T.R),
    "frame_x_axis": lambda m, o: (o.T.R.T @ m.T.R)[:, 0],
    "frame_y_axis": lambda m, o: (o.T.R.T @ m.T.R)[:, 1],
    "frame_z_axis": lambda m, o: (o.T.R.T @ m.T.R)[:, 2],
    "frame_velocity": lambda m, o: o.T.R.T @ (m.T.R @ m.v[3:]) - o.v[3:] - cross(o.v[:3], o.T.R.T @ (m.T.p - o.T.p)),
    "frame_angular_velocity": lambda m, o: o.T.R.T @ (m.T.R @ m.v[:3]) - o.v[:3],
}
"""Sensors of a frame relative to another one, which is the world's unless the file names one."""

WORLD_AT_REST = Motion(Transform.identity(), np.zeros(6), np.zeros(6))


def told(r: Reading, s: Sensor) -> Array:
    """What a sensor tells of a state."""
    if s.kind in OF_CONTACT:
        out = r.load(s)
    elif s.frame is None:
        out = np.atleast_1d(np.asarray(_of_parts(r, s)))
    elif s.kind in IMU:
        out = IMU[s.kind](r.motion(s.frame), s)
    else:
        out = RELATIVE[s.kind](r.motion(s.frame), r.motion(s.reference) if s.reference else WORLD_AT_REST)
    if s.cutoff and s.kind not in UNBOUNDED_KINDS:
        out = np.array([sc.minimum(sc.maximum(x, -s.cutoff), s.cutoff) for x in out])
    return out


class Sensors:
    """The sensors of a model, as one function of a state that becomes a kernel; the clock is not among them.

    There are `nu` controls, those of the motors first.
    """

    def __init__(
        self, tree: ClusterTree, drive: Drive, nu: int, contact: Contact | None = None, outside: Outside = NOTHING
    ) -> None:
        self.drive, self.nu, self.outside = drive, nu, outside
        given = [s for s in drive.top.mechanism.sensors if s.kind != "clock"]
        # forces of actuators are there where motors are those of the file
        self.sensors = tuple(s for s in given if drive.of_file or s.kind != "actuator_force")
        self.loops = LoopLoads(tree, self.sensors)
        self.felt = Felt(drive.top, contact, (*self.sensors, *self.loops.felt))
        self.clocks = tuple(s.name for s in drive.top.mechanism.sensors if s.kind == "clock")

    @property
    def names(self) -> tuple[str, ...]:
        return (*(s.name for s in self.sensors), *self.clocks)

    @property
    def in_steps(self) -> list[str]:
        """Those that tell of a step, and not of a state alone."""
        return [s.name for s in self.sensors if s.kind in IN_STEPS]

    def inputs(self) -> dict[str, int]:
        """Sizes of the function's inputs."""
        top: Topology = self.drive.top
        sizes = {"q": top.nq, "qd": top.n_spanning, "qdd": top.n_spanning, "u": self.nu}
        return sizes | {"touching": self.felt.shape[0] * self.felt.shape[1], "pushed": top.n_spanning, "t": 1}

    def __call__(
        self, q: Array, qd: Array, qdd: Array, u: Array, touching: Array, pushed: Array, t: Array
    ) -> dict[str, Array]:
        """All that is told, one after the other."""
        r = Reading(self.drive, self.outside.at(t[0]), self.loops, q, qd, qdd, u, pushed)
        frames = [Transform.identity() if s.frame is None else r.at.pose(s.frame) for s in self.felt.sensors]
        r.loads = self.felt.sums(frames, np.asarray(touching).reshape(self.felt.shape))
        return {"told": np.concatenate([told(r, s) for s in self.sensors] or [np.zeros(0)])}

    def split(self, x: Array, t: Array) -> dict[str, Array]:
        """What was told (..., n) by name, at times (...,)."""
        out, start = {}, 0
        for s in self.sensors:
            out[s.name] = x[..., start : start + s.count]
            start += s.count
        return out | dict.fromkeys(self.clocks, t[..., None])
