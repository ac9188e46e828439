"""What bounds the motion of joints and tendons: stops, dry friction, limits of lengths, the play of gears.

`joint_stops` makes rows of the contact solver of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError
from kinloop.model import Tendon, Topology
from kinloop.model.facts import plain
from kinloop.sim.actuators import Drive
from kinloop.sim.motors import Motor
from kinloop.sim.transmissions import Line, Setting, along_tendon

NEVER = 1e30
"""A velocity that no joint reaches: the bound of a joint without a stop on that side."""

BACK = 5.0
"""How fast a joint comes back at least from beyond its stops, per step [rad/s^2, m/s^2]: as slowly as a fall begins."""

RETURN, FASTEST = 0.1, 0.5
"""A joint that is far beyond a stop comes back so fast that it would be there in this time [s], and no faster than this
[rad/s, m/s]: nothing stops it when it is back. In loops all come back at the least speed."""

OVER = 1e-6
"""Near a dead centre a joint goes beyond a stop by no more than this [rad, m] in a step: it might be over it else."""


class JointLimit(NamedTuple):
    """Stops [rad, m] and dry friction [N m, N] of the spanning coordinate `dof`, whose position is q[place].

    `geared` says whether a motor's gear rubs there besides (`actuators.gear_friction`).
    """

    dof: int
    place: int
    lower: float
    upper: float
    friction: float
    geared: bool = False

    @property
    def rubs(self) -> bool:
        """Whether it has dry friction: its own, or that of a gear, which grows with the force of its motor."""
        return bool(self.friction) or self.geared

    def name(self, top: Topology) -> str:
        return top.coordinates[self.dof]

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        return tuple(self)

    def line(self, at: Setting) -> Line:
        """Its position, and how that depends on the spanning coordinates."""
        return Line(at.q[self.place] if self.place >= 0 else 0.0, {self.dof: 1.0})

    def softness(self, h: Any) -> Any:
        """`JointRow.soft` in a step of length h."""
        return 0.0

    def bounds(self, x: Any, h: Any) -> tuple[Any, Any]:
        """Velocities that keep position x within the stops, or bring it back from beyond them, slowly in the end."""
        low, high = -NEVER, NEVER
        if np.isfinite(self.lower):
            low = sc.minimum((self.lower - x) / h, BACK * h + sc.minimum((self.lower - x) * (1.0 / RETURN), FASTEST))
        if np.isfinite(self.upper):
            high = sc.maximum((self.upper - x) / h, sc.maximum((self.upper - x) * (1.0 / RETURN), -FASTEST) - BACK * h)
        return low, high

    def is_passed(self, x0: Any, x1: Any) -> Any:
        """Whether a way from x0 to x1 leads beyond a stop by more than `OVER`."""
        out: Any = False
        if np.isfinite(self.lower):
            out = sc.logical_and(x0 >= self.lower - OVER, x1 < self.lower - OVER)
        if np.isfinite(self.upper):
            out = sc.logical_or(out, sc.logical_and(x0 <= self.upper + OVER, x1 > self.upper + OVER))
        return out


class TendonFriction(JointLimit):
    """Dry friction of a tendon [N, N m], in place of that of a joint: a length without stops."""

    tendon: Tendon

    @classmethod
    def of(cls, tendon: Tendon) -> TendonFriction:
        made = cls(-1, -1, -np.inf, np.inf, tendon.friction)
        made.tendon = tendon
        return made

    def name(self, top: Topology) -> str:
        return self.tendon.name

    @property
    def key(self) -> tuple[Any, ...]:
        return (*self, plain(self.tendon))

    def line(self, at: Setting) -> Line:
        return along_tendon(self.tendon, at)


class TendonLimit(TendonFriction):
    """Limits of the length of a tendon: springs with dampers, which push it back from beyond and never pull.

    With x how far beyond it is before a step and u its rate after it, the force k (x + h u) + d u makes the row

        u + soft lambda = -k x / (k h + d),      soft = 1 / (h (k h + d))
    """

    @classmethod
    def of(cls, tendon: Tendon) -> TendonLimit:
        made = cls(-1, -1, *tendon.length_range, 0.0)
        made.tendon = tendon
        return made

    def softness(self, h: Any) -> Any:
        return 1.0 / (h * (h * self.tendon.limit_stiffness + self.tendon.limit_damping))

    def bounds(self, x: Any, h: Any) -> tuple[Any, Any]:
        k = self.tendon.limit_stiffness
        back, low, high = k / (h * k + self.tendon.limit_damping), -NEVER, NEVER
        if np.isfinite(self.lower):
            low = sc.where(x < self.lower, back * (self.lower - x), low)
        if np.isfinite(self.upper):
            high = sc.where(x > self.upper, back * (self.upper - x), high)
        return low, high


class GearPlay(JointLimit):
    """The play of a gear: how far a rotor, geared down, and its joint may be apart, as stops of their difference."""

    motor: Motor
    between: tuple[tuple[int, int, float], ...]
    """(coordinate, place in q, part) of both."""

    @staticmethod
    def of(motor: Motor, top: Topology) -> GearPlay:
        made, places = GearPlay(-1, -1, -0.5 * motor.backlash, 0.5 * motor.backlash, 0.0), top.plain_places()
        parts = ((top.coordinates.index(motor.rotor), 1.0 / motor.gear), (top.coordinates.index(motor.joint), -1.0))
        made.motor, made.between = motor, tuple((d, places[d], part) for d, part in parts)
        for d, place, _ in made.between:
            if place < 0:
                raise MethodError(f"coordinate {top.coordinates[d]!r} has no plain position; backlash needs one")
        return made

    def name(self, top: Topology) -> str:
        return f"backlash of {self.motor.joint}"

    @property
    def key(self) -> tuple[Any, ...]:
        return (*self, self.between)

    def line(self, at: Setting) -> Line:
        length = sum(part * at.q[place] for _, place, part in self.between)
        return Line(length, {d: part for d, _, part in self.between})


def joint_limits(tree: ClusterTree, drive: Drive, lengths: bool) -> list[JointLimit]:
    """Stops and dry friction of all joints and motors that have any, then dry friction and, if asked for, limits of
    tendons, then the play of gears."""
    top, out = tree.top, []
    driven = [(m, d) for m, d in zip(drive.motors, drive.dofs, strict=True) if isinstance(m, Motor)]
    for i, j in enumerate(top.joints):
        for d in range(top.v_of[i].start, top.v_of[i].stop):
            place = drive.place_of[d]
            plain = place >= 0 and j.type.nv == 1
            lower, upper = (j.lower, j.upper) if plain else (-np.inf, np.inf)
            friction = j.friction + sum(abs(m.ratio) * m.friction for m, e in driven if e == d)
            geared = any(m.is_lossy for m, e in driven if e == d)
            if np.isfinite(lower) or np.isfinite(upper) or friction or geared:
                out.append(JointLimit(d, place, float(lower), float(upper), float(friction), geared))
    tendons = top.mechanism.tendons
    out += [TendonFriction.of(t) for t in tendons if t.friction]
    out += [TendonLimit.of(t) for t in tendons if t.is_limited and lengths]
    return out + [GearPlay.of(m, top) for m, _ in driven if m.rotor]
