"""A closed configuration moved by its independent coordinates, one at a time, as sliders do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import KinloopError
from kinloop.inputs import checked
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.spatial.rotation import quaternion_rotation, rotation_quaternion, rpy_rotation

STRIDE = 0.1
"""Longest step of a slider at once [rad, m]: longer ones are walked, so that loops keep their branch."""

STEPS = 200
"""Steps of a walk, at most."""

ARRIVED = 1e-9
"""A coordinate so near to its target is there [rad, m]."""

JUMP = 20 * STRIDE
"""A position that changes by more in one step has jumped to another branch [rad, m]."""


ANGLES = ("roll", "pitch", "yaw")
AXES = ("x", "y", "z")
STEEPEST = 1.5
"""A pitch that a slider goes to, at most [rad]: at a quarter turn roll and yaw are one."""


class Coordinates:
    """A closed configuration moved by its independent coordinates, one at a time.

    `labels` are what people call the coordinates. Those of a free base, and of a ball outside of loops, are its
    position and its roll, pitch and yaw: turns about the fixed x axis, then y, then z.
    """

    def __init__(self, robot: Robot, q: ArrayLike | None = None) -> None:
        self.robot = robot
        self.q = robot.close(robot.neutral() if q is None else checked("q", q, robot.nq))
        self.names = robot.independent_names
        dofs = robot.tree.independent_dofs
        self.places = [_place(robot, d) for d in dofs]
        self.attitudes = [_attitude(robot, d) for d in dofs]
        types = [robot.tree.top.types[robot.tree.top.body_of[d]] for d in dofs]
        self.floats = [place >= 0 and kind.is_free for place, kind in zip(self.places, types, strict=True)]
        self.labels = [_label(robot, d) for d in dofs]
        # what has no plain position (a ball in a loop) is counted from where it starts
        self.turned = np.zeros(robot.nv)

    def value(self, k: int) -> float:
        """Where coordinate k is."""
        place, attitude = self.places[k], self.attitudes[k]
        if attitude is not None:
            return float(roll_pitch_yaw(quaternion_rotation(self.q[attitude.quaternion]))[attitude.angle])
        return float(self.turned[k] if place < 0 else self.q[place])

    def values(self) -> list[float]:
        """Where all coordinates are."""
        return [self.value(k) for k in range(len(self.names))]

    def shuffled(self, rng: np.random.Generator | int | None = None) -> Array:
        """A random configuration of the joints; what floats stays where it is."""
        q, top = self.robot.random_state(rng)[0], self.robot.tree.top
        for i, kind in enumerate(top.types):
            if kind.is_free and not _tied(self.robot, i):
                q[top.q_of[i]] = self.q[top.q_of[i]]
        return q

    def limits(self, k: int) -> tuple[float, float]:
        """Where a slider may go: the joint's limits, else a turn or a metre around the start."""
        top = self.robot.tree.top
        d = self.robot.tree.independent_dofs[k]
        joint = top.joints[top.body_of[d]]
        slides = joint.type.slides()[d - top.v_of[top.body_of[d]].start]
        around, now, attitude = (1.0 if slides else np.pi), self.value(k), self.attitudes[k]
        around = STEEPEST if attitude is not None and attitude.angle == 1 else around
        low = joint.lower if np.isfinite(joint.lower) and joint.type.nv == 1 else min(-around, now)
        high = joint.upper if np.isfinite(joint.upper) and joint.type.nv == 1 else max(around, now)
        return min(float(low), now), max(float(high), now)

    def move(self, k: int, target: float) -> bool:
        """Bring coordinate k to the target; False where the loops cannot follow (it then stays where it came)."""
        attitude = self.attitudes[k]
        if attitude is not None:
            self.q = self._turned(attitude, target)
            return True
        if self.floats[k]:  # along an axis of the world, not of the base
            self.q = self.q.copy()
            self.q[self.places[k]] = target
            return True
        for _ in range(STEPS):
            rest = target - self.value(k)
            if abs(rest) < ARRIVED:
                return True
            step = np.zeros(self.robot.nv)
            step[k] = np.clip(rest, -STRIDE, STRIDE)
            before = self.value(k)
            try:
                q = self.robot.integrate(self.q, step)
                self.robot.check_closed(q)
            except KinloopError:
                return False
            if not np.all(np.isfinite(q)) or np.max(np.abs(q - self.q)) > JUMP:
                return False
            self.q = q
            if self.places[k] < 0:
                self.turned[k] += step[k]
            elif abs(self.value(k) - before - step[k]) > 0.5 * abs(step[k]):
                return False  # the loops took it elsewhere: the end of its way
        return False

    def _turned(self, attitude: Attitude, target: float) -> Array:
        """q with one of roll, pitch and yaw at its target."""
        angles = roll_pitch_yaw(quaternion_rotation(self.q[attitude.quaternion]))
        angles[attitude.angle] = target
        q = self.q.copy()
        q[attitude.quaternion] = rotation_quaternion(rpy_rotation(*angles))
        return q

    def restart(self, q: Array) -> None:
        """Go on from the closed configuration q."""
        self.q, self.turned = q, np.zeros(self.robot.nv)


class Attitude(NamedTuple):
    """One of roll, pitch and yaw of a quaternion in q."""

    quaternion: slice
    angle: int


def roll_pitch_yaw(R: Array) -> Array:
    """The angles of R = Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def _tied(robot: Robot, i: int) -> bool:
    """Whether loops or couplings tie body i to others."""
    return bool(robot.tree.clusters[robot.tree.cluster_of[i]].parts)


def _place(robot: Robot, d: int) -> int:
    """Place in q of spanning coordinate d, or -1 if it is no plain position."""
    top = robot.tree.top
    i = top.body_of[d]
    kind, local = top.types[i], d - top.v_of[top.body_of[d]].start
    if kind.nq == kind.nv:
        return int(top.q_of[i].start + local)
    return int(top.q_of[i].start + local - 3) if kind.is_free and local >= 3 and not _tied(robot, i) else -1


def _attitude(robot: Robot, d: int) -> Attitude | None:
    """The angle that spanning coordinate d is shown as, if it turns a body that no loop ties."""
    top = robot.tree.top
    i = top.body_of[d]
    kind, local = top.types[i], d - top.v_of[top.body_of[d]].start
    if kind.nq != kind.nv + 1 or local >= 3 or _tied(robot, i):
        return None
    end = top.q_of[i].stop
    return Attitude(slice(end - 4, end), local)


def _label(robot: Robot, d: int) -> str:
    """What people call spanning coordinate d."""
    top = robot.tree.top
    i = top.body_of[d]
    kind, local, joint = top.types[i], d - top.v_of[top.body_of[d]].start, top.joints[top.body_of[d]].name
    joint = joint.removesuffix("_joint")
    if kind.nq != kind.nv + 1:
        return str(top.coordinates[d]).removesuffix("_joint")
    turns = [f"about {x}" for x in AXES] if _tied(robot, i) else list(ANGLES)
    return f"{joint} {[*turns, *AXES][local]}"
