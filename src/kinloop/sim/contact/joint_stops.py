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
from kinloop.scalar import Array
from kinloop.sim.contact.joint_limits import BACK, JointLimit
from kinloop.sim.contact.propagation import Propagated, softened
from kinloop.sim.contact.row_steps import ContactRow, JointRow
from kinloop.sim.contact.solver import Impulses, Stops, solve_impulses
from kinloop.sim.on_loops import spanning
from kinloop.sim.smooth_motion import SmoothMotion
from kinloop.sim.transmissions import Setting

DEAD = 0.1
"""A joint of a loop that takes less than this part of its usual share in the motion is near a dead centre. From beyond
its stops it comes back more slowly, the nearer the more: what moves it would have to be ever so fast."""

NEAR_STOP = 100.0
"""A stop is near where a joint this much faster [rad/s, m/s] would reach it in the step: 0.1 rad at dt = 1 ms."""


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
    was, rates = bent_rates(tree, s.kin.embedding, v, v_free, s.g, h)
    aside, at = spanning(tree, s.kin.embedding, drift), Setting(tree.top, q)
    return [joint_path(j, tree, s.kin.embedding, at, was, rates, aside, s.rub, h) for j in joints]


def bent_rates(
    tree: ClusterTree, embedding: Sequence[Embedding], v: Array, v_free: Array, g: Array, h: Any
) -> tuple[Array, Array]:
    """Rates of all spanning coordinates before a step from v to v_free and after it; their paths bend by g.

    G is known at the middle. Half of h g belongs to the rates at the end. h times these is to lead to where the step
    ends: on the way there from the middle a path bends by h^2 g / 8, in h times the rates by h^2 g / 2. So 3/8 are
    taken off the way to the middle, h/2 times the rates before, as contacts do (`impact`).
    """
    return spanning(tree, embedding, v) + (0.75 * h) * g, spanning(tree, embedding, v_free) + (0.5 * h) * g


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
