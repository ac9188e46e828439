"""A motion constraint at a state: what its multipliers do to bodies and joints, and its target.

The targets are for accelerations that contain the world's own, minus gravity. See `motion_constraints`
for what each kind constrains; docs/algorithms/pv.md derives the velocity terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.motion_constraints import Closure, MotionConstraint, Placed, Point, Weld
from kinloop.algorithms.trees.kinematics import FrameAt, Motion, frame_pose, scatter
from kinloop.clusters import ClusterTree
from kinloop.model import LoopRows
from kinloop.model.loops import Loop
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross, cross_motion


class ConstraintWrenches(NamedTuple):
    """What unit multipliers of a constraint of r rows do, and what its rows are to become.

    `ends`: wrenches (6, r) on bodies, `joints`: forces (r) on spanning coordinates, `k` (r): the target of K a = k.
    `squares` (r): what the sum of squares of a row could be, had nothing in it cancelled; None for symbols.
    """

    size: int
    ends: dict[int, Array]
    joints: dict[int, Array]
    k: Array
    squares: Array | None = None

    def read(self, acc: Sequence[Array], qdd: Array) -> Array:
        """K a: what the rows read of accelerations of bodies and spanning coordinates."""
        value = np.zeros(self.size)
        for i, f in self.ends.items():
            value = value + f.T @ acc[i]
        for d, f in self.joints.items():
            value = value + f * qdd[d]
        return value


def constrained_bodies(placed: Sequence[Placed]) -> list[int]:
    """Bodies that constraints hold by frames; their frames must turn with them."""
    return sorted({end[0] for p in placed for end in (p.frame, p.other) if end is not None})


def wrenches_of(tree: ClusterTree, kin: Motion, q: Array, placed: Placed) -> ConstraintWrenches:
    """Wrenches and target of a constraint at the state of `kin`."""
    c = placed.constraint
    if isinstance(c, Closure):
        rows = _closure_rows(tree, kin, q, c)
        joints = {d: rows.K[:, k] for k, d in enumerate(rows.dofs)}
        return ConstraintWrenches(len(rows.k), {}, joints, _closure_target(tree, kin, c, rows), _squares(tree, c, rows))
    ends, squares = _frame_wrenches(tree, kin, placed)
    return ConstraintWrenches(c.size, ends, {}, _target(tree, kin, q, placed, ends), squares)


def _squares(tree: ClusterTree, c: Closure, rows: LoopRows) -> Array | None:
    """Squares of what the rows of a constrained loop could be."""
    if sc.is_symbolic(rows.K):
        return None
    return closure_loop(tree, c).row_scales(np.linalg.norm(rows.K, axis=1)) ** 2


def _frame_wrenches(tree: ClusterTree, kin: Motion, placed: Placed) -> tuple[dict[int, Array], Array | None]:
    """What unit multipliers do to the bodies of a constraint on frames, and the squares of either end's."""
    assert placed.frame is not None
    body, at = placed.frame
    KT = placed.constraint.selection.T
    ends = {body: at.force(KT)}
    squares = _sum_of_squares(ends[body])
    if placed.other is not None and placed.other[0] == body and not isinstance(placed.constraint, Point):
        return {body: np.zeros((6, KT.shape[1]))}, squares
    if placed.other is not None:
        body, at_other = placed.other
        T = relative_pose(tree.top, kin, placed.frame, placed.other)
        f = at_other.force(on_other(placed.constraint, T))
        ends[body] = ends[body] - f if body in ends else -f
        other = _sum_of_squares(f)
        squares = None if squares is None or other is None else squares + other
    return ends, squares


def on_other(c: MotionConstraint, T: Transform) -> Array:
    """What unit multipliers take from the other frame, in its axes (6, r)."""
    return np.concatenate([np.zeros((3, 3)), T.R.T]) if isinstance(c, Point) else T.force_back(c.selection.T)


def _sum_of_squares(f: Array) -> Array | None:
    """Of every column of numbers."""
    return None if sc.is_symbolic(f) else np.sum(f * f, axis=0)


def relative_pose(top: Topology, kin: Motion, a: FrameAt, b: FrameAt) -> Transform:
    """The pose of frame b in frame a."""
    _, to_a, to_b = top.paths(a[0], b[0])
    out = []
    for path, placement in ((to_a, a[1]), (to_b, b[1])):
        T = Transform.identity()
        for i in path:
            T = T.then(kin.T[i])
        out.append(T.then(placement))
    return out[0].inverse().then(out[1])


def _target(tree: ClusterTree, kin: Motion, q: Array, placed: Placed, ends: dict[int, Array]) -> Array:
    """The right side of (1), (1'), (2), (2') in `motion_constraints`, shifted by the world's acceleration."""
    c, frame, other = placed.constraint, placed.frame, placed.other
    assert frame is not None
    T = None if other is None else relative_pose(tree.top, kin, frame, other)
    other_twist = None if other is None else other[1].motion(kin.v[other[0]])
    bias, rate = velocity_terms(c, frame[1].motion(kin.v[frame[0]]), other_twist, T)
    k = -bias if c.wanted is None else c.wanted - bias
    if c.stabilize:
        k = k - pull(c, rate, error(c, frame_pose(tree, q, *frame) if measures_pose(placed) else None, T))
    return k if other is not None else k + _shift(tree.top, kin, ends)


def velocity_terms(
    c: MotionConstraint, twist: Array, other_twist: Array | None, T: Transform | None
) -> tuple[Array, Array]:
    """What the rows have besides K a, from twists; and the velocity e' of what is kept. T is the other's pose."""
    K = c.selection
    if other_twist is None or T is None:
        return cross(twist[:3], twist[3:]) if isinstance(c, Point) else np.zeros(len(K)), K @ twist
    if isinstance(c, Point):
        bias = cross(twist[:3], twist[3:]) - T.R @ cross(other_twist[:3], other_twist[3:])
        return bias, K @ np.concatenate([twist[:3], twist[3:] - T.R @ other_twist[3:]])
    V = twist - T.motion_back(other_twist)
    return K @ cross_motion(V, twist), K @ V


def pull(c: MotionConstraint, rate: Array, off: Array | None) -> Array:
    """2 e'/T + e/T^2 of Baumgarte's stabilisation."""
    pulled = (2.0 / c.period) * rate
    return pulled if off is None else pulled + (1.0 / c.period**2) * off


def measures_pose(placed: Placed) -> bool:
    """Whether what a constraint keeps depends on the frame's pose in the world."""
    c = placed.constraint
    return c.stabilize and placed.other is None and isinstance(c, Point | Weld) and c.at is not None


def error(c: MotionConstraint, here: Transform | None, T: Transform | None) -> Array | None:
    """e: how far a point or a weld is from where it is to stay, in the frame's axes; None where nothing says so.

    `here` is the frame's pose in the world, T that of the other in the frame.
    """
    if isinstance(c, Point) and T is not None:
        return -T.p
    if not isinstance(c, Point | Weld) or c.at is None:
        return None
    here, at = here if T is None else T.inverse(), np.asarray(c.at)
    assert here is not None
    if isinstance(c, Point):
        e: Array = here.R.T @ (here.p - at)
        return e
    R = at[:3, :3].T @ here.R
    turn = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return np.concatenate([turn, here.R.T @ (here.p - at[:3, 3])])


def _shift(top: Topology, kin: Motion, ends: dict[int, Array]) -> Array:
    """What the rows read of the world's acceleration, minus gravity."""
    parts: list[Array] = []
    for body, f in ends.items():
        up = -top.mechanism.gravity
        for i in top.support(body):
            up = kin.T[i].R.T @ up
        parts.append(f[3:].T @ up)
    return sum(parts[1:], parts[0])


def _closure_rows(tree: ClusterTree, kin: Motion, q: Array, c: Closure) -> LoopRows:
    """phi, K, k of a constrained loop over spanning coordinates, at the state of `kin`."""
    return closure_loop(tree, c).rows(tree.top, q, scatter(tree, [e.qd for e in kin.embedding]))


def closure_loop(tree: ClusterTree, c: Closure) -> Loop:
    return next(p for p in tree.top.mechanism.loops if p.name == c.frame)


def _closure_target(tree: ClusterTree, kin: Motion, c: Closure, rows: LoopRows) -> Array:
    """k of a constrained loop, with its stabilisation."""
    if not c.stabilize:
        return rows.k
    qd = scatter(tree, [e.qd for e in kin.embedding])
    return rows.k - pull(c, rows.K @ qd[rows.dofs], rows.phi)
