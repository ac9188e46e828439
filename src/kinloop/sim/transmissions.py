"""What actuators and tendons act along: a length as a function of q, and its moment arms on the spanning coordinates.

The arms are the gradient of the length, dl = sum(arm qd) dt, so that a force f along it acts on coordinate d as
f arm[d]: sums of joints by their gears, paths by the principle of virtual work. A taut path pulls at its points along
its straight parts; where it lies on a shape it slides without friction, and its length changes by what those parts do
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import joint_pose, world_poses
from kinloop.errors import MethodError
from kinloop.model import WORLD, Actuator, Frame, Tendon, Topology, Transmission, Wrap
from kinloop.scalar import Array
from kinloop.sim.wrapping import TINY, around
from kinloop.spatial import Transform, cross


class Line(NamedTuple):
    """A length and its moment arms, by spanning coordinate; arms that are nothing are left out."""

    length: Any
    arms: dict[int, Any]

    def rate(self, qd: Array) -> Any:
        """How fast the length changes, or any motion along it, for spanning velocities."""
        return sum((arm * qd[d] for d, arm in self.arms.items()), 0.0)

    def times(self, gear: float) -> Line:
        return self if gear == 1.0 else Line(gear * self.length, {d: gear * x for d, x in self.arms.items()})


class Setting:
    """A robot at a configuration: poses in the world, computed where they are needed."""

    def __init__(self, top: Topology, q: Array) -> None:
        self.top, self.q = top, q
        self._poses: list[Transform] | None = None

    def pose(self, frame: Frame) -> Transform:
        """Where a frame is in the world."""
        body = self.top.body_index[frame.body]
        return frame.placement if body < 0 else self.body(body).then(frame.placement)

    def body(self, i: int) -> Transform:
        """Where a body is in the world."""
        if self._poses is None:
            self._poses = world_poses(self.top, self.q)
        return self._poses[i]

    def arms(self, pushes: list[tuple[str, Array, Array]]) -> dict[int, Any]:
        """Forces on the spanning coordinates of forces at points: (body, point, force), both in the world."""
        wrenches: dict[int, Array] = {}
        for name, point, force in pushes:
            if name != WORLD:
                i = self.top.body_index[name]
                T = self.body(i)
                f = T.R.T @ force
                _add(wrenches, i, np.concatenate([cross(T.R.T @ (point - T.p), f), f]))
        return self.felt(wrenches)

    def felt(self, wrenches: Mapping[int, Array]) -> dict[int, Any]:
        """Forces on the spanning coordinates of wrenches on bodies, each in its body's frame at its origin."""
        top, left = self.top, dict(wrenches)
        out: dict[int, Any] = {}
        for i in reversed(range(len(top))):
            if i in left:
                f = top.types[i].subspace(self.q[top.q_of[i]]).T @ left[i]
                out |= {d: x for d, x in zip(range(top.v_of[i].start, top.v_of[i].stop), f, strict=True) if _some(x)}
                if top.parent[i] >= 0:
                    _add(left, top.parent[i], joint_pose(top, i, self.q, turning=(i,)).force(left[i]))
        return out


def _add(wrenches: dict[int, Array], i: int, w: Array) -> None:
    wrenches[i] = wrenches[i] + w if i in wrenches else w


def _some(x: Any) -> bool:
    """Whether a moment arm is one: a symbol, or a number that is not zero."""
    return sc.is_symbolic(x) or bool(x)


def along_joints(transmission: tuple[Transmission, ...], in_parent: bool, at: Setting) -> Line:
    """The sum of gear times position over joints; balls and free bodies, which turn, count nothing."""
    top = at.top
    length: Any = 0.0
    arms: dict[int, Any] = {}
    for t in transmission:
        i = top.joint_index[t.joint]
        kind, gear = top.types[i], np.array(t.gear)
        if kind.nq == kind.nv:
            for x, g in zip(at.q[top.q_of[i]], gear, strict=True):
                length = length + g * x if g else length
        elif in_parent or (kind.is_free and np.any(gear[3:])):
            R = kind.pose(at.q[top.q_of[i]]).R
            turn = R.T @ gear[:3] if in_parent else gear[:3]
            gear = np.concatenate([turn, R.T @ gear[3:]]) if kind.is_free else turn
        for d, g in zip(range(top.v_of[i].start, top.v_of[i].stop), gear, strict=True):
            if _some(g):
                arms[d] = arms[d] + g if d in arms else g
    return Line(length, arms)


def along_tendon(tendon: Tendon, at: Setting) -> Line:
    """The length of a tendon."""
    if tendon.joints:
        return along_joints(tendon.joints, False, at)
    length: Any = 0.0
    pushes: list[tuple[str, Array, Array]] = []
    for branch, divisor in zip(tendon.branches, tendon.divisors, strict=True):
        part, own = _branch(branch, at)
        length = length + part * (1.0 / divisor)
        pushes += [(body, point, force * (1.0 / divisor)) for body, point, force in own]
    return Line(length, at.arms(pushes))


def _branch(branch: list[Frame | Wrap], at: Setting) -> tuple[Any, list[tuple[str, Array, Array]]]:
    """The length of a branch, and what it does to bodies as it grows by one: (body, point, force)."""
    length: Any = 0.0
    pushes: list[tuple[str, Array, Array]] = []
    before, wrap = branch[0], None
    for part in branch[1:]:
        if isinstance(part, Wrap):
            wrap = part
            continue
        assert isinstance(before, Frame), "a branch begins at a frame"
        own, forces = _bent(before, wrap, part, at) if wrap else _straight(before, part, at)
        length, pushes = length + own, pushes + forces
        before, wrap = part, None
    return length, pushes


def _straight(a: Frame, b: Frame, at: Setting) -> tuple[Any, list[tuple[str, Array, Array]]]:
    if a.body == b.body:
        return float(np.linalg.norm(a.placement.p - b.placement.p)), []
    start, end = at.pose(a).p, at.pose(b).p
    length, n = _direction(start, end)
    return length, [(a.body, start, -n), (b.body, end, n)]


def _bent(a: Frame, wrap: Wrap, b: Frame, at: Setting) -> tuple[Any, list[tuple[str, Array, Array]]]:
    """A straight part from a to b, or around a shape between them where it is in the way."""
    start, end, T = at.pose(a).p, at.pose(b).p, at.pose(wrap.frame)
    side = None if wrap.side is None else T.R.T @ (at.pose(wrap.side).p - T.p)
    way = around(wrap.kind, wrap.radius, T.R.T @ (start - T.p), T.R.T @ (end - T.p), side)
    first, last = T.p + T.R @ way.first, T.p + T.R @ way.last
    plain, n = _direction(start, end)
    before, n_first = _direction(start, first)
    after, n_last = _direction(last, end)
    length = sc.where(way.touches, before + way.length + after, plain)
    n_first, n_last = sc.where(way.touches, n_first, n), sc.where(way.touches, n_last, n)
    held = sc.where(way.touches, 1.0, 0.0)
    pushes = [(a.body, start, -n_first), (b.body, end, n_last)]
    return length, [*pushes, (wrap.frame.body, first, held * n_first), (wrap.frame.body, last, -(held * n_last))]


def _direction(a: Array, b: Array) -> tuple[Any, Array]:
    """The distance from a to b, and the unit vector there; any vector where they coincide."""
    d = b - a
    size = sc.sqrt(sc.maximum(d @ d, TINY**2))
    return size, d * (1.0 / size)


def at_site(a: Actuator, at: Setting) -> Line:
    """What an actuator at a site acts along: its wrench there, felt by the bodies between it and its reference."""
    assert a.site is not None, "it acts at a site"
    T, moment, force = at.pose(a.site), np.array(a.wrench[:3]), np.array(a.wrench[3:])
    top, body = at.top, at.top.body_index[a.site.body]
    if a.reference is None:
        return Line(0.0, at.felt({body: a.site.placement.force(np.concatenate([moment, force]))}) if body >= 0 else {})
    R = at.pose(a.reference)
    push = R.R @ force
    arms = at.arms([(a.site.body, T.p, push), (a.reference.body, R.p, -push)])
    other = top.body_index[a.reference.body]
    shared = set(top.support(body) if body >= 0 else ()) & set(top.support(other) if other >= 0 else ())
    common = {d for i in shared for d in range(top.v_of[i].start, top.v_of[i].stop)}
    return Line((R.R.T @ (T.p - R.p)) @ force, {d: x for d, x in arms.items() if d not in common})


def actuator_line(a: Actuator, tendons: Mapping[str, Tendon], at: Setting) -> Line:
    """What an actuator acts along."""
    if a.site is not None:
        return at_site(a, at)
    if a.tendon:
        return along_tendon(tendons[a.tendon], at).times(a.gear)
    return along_joints(a.transmission, a.in_parent, at)


def check_line(a: Actuator, top: Topology) -> None:
    """Refuse an actuator whose length nobody here computes and whose force depends on it."""
    turning = [t.joint for t in a.transmission if top.types[top.joint_index[t.joint]].nq != len(t.gear)]
    if turning and (a.gain[1] or a.bias[1]):
        raise MethodError(
            f"actuator {a.name!r} depends on the position of {turning[0]!r}, which has no plain one; give motors=[...]"
        )
