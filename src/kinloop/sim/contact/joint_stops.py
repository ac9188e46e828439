"""Stops and dry friction of joints, and dry friction of tendons, as rows of the contact solver.

A joint with dry friction is a row in every step. A mere stop is one only where some joint of the robot may come
to a stop within the step: the loop that minds stops, and all that only it needs, is left out elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree, Embedding
from kinloop.clusters.tangent_frame import TangentFrame
from kinloop.errors import MethodError
from kinloop.model import Tendon, Topology
from kinloop.model.facts import plain
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive
from kinloop.sim.contact.propagation import Propagated, softened
from kinloop.sim.contact.row_steps import ContactRow, JointRow
from kinloop.sim.contact.solver import Impulses, Stops, solve_impulses
from kinloop.sim.motors import Motor
from kinloop.sim.on_loops import spanning
from kinloop.sim.smooth_motion import SmoothMotion
from kinloop.sim.transmissions import Line, Setting, along_tendon

NEVER = 1e30
"""A velocity that no joint reaches: the bound of a joint without a stop on that side."""

BACK = 5.0
"""How fast a joint comes back at least from beyond its stops, per step [rad/s^2, m/s^2]: as slowly as a fall begins."""

RETURN, FASTEST = 0.1, 0.5
"""A joint that is far beyond a stop comes back so fast that it would be there in this time [s], and no faster than this
[rad/s, m/s]: nothing stops it when it is back. In loops all come back at the least speed."""

DEAD = 0.1
"""A joint of a loop that takes less than this part of its usual share in the motion is near a dead centre. From beyond
its stops it comes back more slowly, the nearer the more: what moves it would have to be ever so fast."""

NEAR_STOP = 100.0
"""A stop is near where a joint this much faster [rad/s, m/s] would reach it in the step: 0.1 rad at dt = 1 ms."""


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


class JointPath(NamedTuple):
    """Where a joint goes in a step without impulses: its velocity `rate` at the end, and the bounds its stops set.

    `dry` is the largest impulse of its dry friction, `arms` says how it depends on the spanning coordinates.
    """

    rate: Any
    low: Any
    high: Any
    dry: Any
    arms: dict[int, Any]
    soft: Any = 0.0

    def row(self, tree: ClusterTree, s: SmoothMotion, rubs: bool) -> JointRow:
        """Its row for the solver."""
        z, at = softened(s.soft, tree.nv, *Propagated.line(tree, s.kin, s.art, self.arms).row())
        return JointRow(z[0], at, self.rate, self.low, self.high, self.dry, rubs, self.soft)

    @property
    def inside(self) -> Any:
        """Whether the joint stays within its stops."""
        return sc.logical_and(self.low <= self.rate, self.rate <= self.high)

    def coming_back(self, part: Any, h: Any) -> JointPath:
        """The path with bounds that bring a joint of a loop back from beyond its stops at a part of the least speed."""
        if isinstance(part, float):  # it is in no loop
            return self
        least = BACK * h
        low = sc.where(self.low > 0.0, part * sc.minimum(self.low, least), self.low)
        high = sc.where(self.high < 0.0, part * sc.maximum(self.high, -least), self.high)
        return self._replace(low=low, high=high)

    def allowing_rest(self, when: Any) -> JointPath:
        """The path with bounds that a joint at rest keeps, where `when` holds: none but springs brings it back."""
        if not (isinstance(self.soft, float) and self.soft == 0.0):
            return self
        low, high = sc.minimum(self.low, 0.0), sc.maximum(self.high, 0.0)
        return self._replace(low=sc.where(when, low, self.low), high=sc.where(when, high, self.high))

    @property
    def near(self) -> Any:
        """Whether impulses might bring the joint to a stop."""
        return sc.logical_or(self.rate < self.low + NEAR_STOP, self.high - NEAR_STOP < self.rate)


def joint_paths(
    joints: list[JointLimit],
    tree: ClusterTree,
    s: SmoothMotion,
    q: Array,
    v: Array,
    v_free: Array,
    drift: Array,
    h: Any,
) -> list[JointPath]:
    """Where joints go in a step from v to v_free with its middle at q, reached by h/2 v and a drift."""
    was, rates = (
        spanning(tree, s.kin.embedding, v) - (0.5 * h) * s.g,
        spanning(tree, s.kin.embedding, v_free) + (0.5 * h) * s.g,
    )
    aside, at = spanning(tree, s.kin.embedding, drift), Setting(tree.top, q)
    return [joint_path(j, tree, s.kin.embedding, at, was, rates, aside, s.rub, h) for j in joints]


def joint_path(
    joint: JointLimit, tree: ClusterTree, embedding: Sequence[Embedding], at: Setting, was: Array, rates: Array,
    aside: Array, rub: Array | None, h: Any,
) -> JointPath:  # fmt: skip
    """Where a joint goes, from the rates of all spanning coordinates before and after, and their drift `aside`."""
    line, dry = joint.line(at), joint.friction if rub is None or joint.dof < 0 else joint.friction + rub[joint.dof]
    x = line.length - 0.5 * h * line.rate(was) - line.rate(aside)
    path = JointPath(line.rate(rates), *joint.bounds(x, h), dry * h, line.arms, joint.softness(h))
    return path.coming_back(_share(joint, tree, embedding), h)


def _share(joint: JointLimit, tree: ClusterTree, embedding: Sequence[Embedding]) -> Any:
    """How much of its usual part in the motion a joint of a loop takes, over `DEAD`; at most 1, and 1 in no loop."""
    if joint.dof < 0:
        return 1.0
    c = tree.clusters[tree.cluster_of[tree.top.body_of[joint.dof]]]
    frame, k = c.chart, c.dofs.index(joint.dof)
    if not isinstance(frame, TangentFrame):
        return 1.0
    line, usual = embedding[c.index].G[k], max(len(frame.independent), 1) / frame.n
    return sc.minimum(1.0, sc.squared(line * (1.0 / float(frame.scale[k]))) * (1.0 / (DEAD * usual)))


def steps_over(
    joints: list[JointLimit], tree: ClusterTree, s: SmoothMotion, q: Array, qd: Array, end: Array, end_qd: Array, h: Any
) -> Any:
    """Whether a joint passes a stop near its dead centre in a step from (q, qd) to the end, or turns beyond one."""
    out: Any = False
    for j in joints:
        share = _share(j, tree, s.kin.embedding)
        if isinstance(share, float) or j.place < 0:
            continue
        x, v0, v1 = q[j.place], qd[j.dof], end_qd[j.dof]
        turns = v0 * v1 < 0.0
        farthest = sc.where(turns, x + 0.5 * h * v0 * v0 / sc.where(turns, v0 - v1, 1.0), end[j.place])
        out = sc.logical_or(out, sc.logical_and(share < 1.0, j.is_passed(x, farthest)))
    return out


def solve_with_joints(
    joints: list[JointLimit], paths: list[JointPath], tree: ClusterTree, s: SmoothMotion, contacts: list[ContactRow],
    touching: Any, rounds: int, start: Array,
) -> tuple[Impulses, list[Any]]:  # fmt: skip
    """Impulses of contacts, where they are `touching`, solved together with those of joints; these again, in order.

    `start` has the impulses to begin with, of contacts first.
    """
    n = 3 * len(contacts)
    rows = split_rows(joints, paths, tree, s, start[n:])
    begin = np.concatenate([start[:n], rows.start])
    found = solve_impulses(contacts, rows.dry, tree.nv, rounds, begin, rows.stops, True if rows.dry else touching)
    return found, rows.in_order(found)


class SplitRows(NamedTuple):
    """Rows of joints with dry friction and impulses to begin with; those of mere stops; the order of all joints."""

    dry: list[JointRow]
    start: Array
    stops: Stops | None
    order: list[int]

    def in_order(self, found: Any) -> list[Any]:
        """The impulses of all joints, in their order."""
        by_joint = dict(zip(self.order, [*found.joints, *found.stops], strict=True))
        return [by_joint[k] for k in range(len(self.order))]


def split_rows(
    joints: list[JointLimit], paths: list[JointPath], tree: ClusterTree, s: SmoothMotion, start: Array
) -> SplitRows:
    """The rows of all joints; `start` has the impulses to begin with."""

    def row(k: int) -> JointRow:
        return paths[k].row(tree, s, joints[k].rubs)

    dry = [k for k, j in enumerate(joints) if j.rubs]
    free = [k for k, j in enumerate(joints) if not j.rubs]
    near: Any = False
    for k in free:
        near = sc.logical_or(near, paths[k].near)
    stops = Stops(near, [row(k) for k in free], start[free])
    return SplitRows([row(k) for k in dry], start[dry], stops if free else None, dry + free)
