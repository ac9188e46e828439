"""How the rows of motion constraints change along closed motions: rho = K a - k, and what lambda does to the joints.

A frame moves by its body's columns: displacement S, change d of its velocity and e - v x d of its acceleration, carried
outward from the clusters that change (`cluster_changes`). What the rows make of them is local to the constraint:
twists, the pose of one frame in the other, and what stabilises them are symbols of their own, and are differentiated
by the graph along these columns. The wrench of lambda on the constraint's own frame is held in that frame and turns
with it, as wrenches from outside do; on the other frame it also changes with the pose between the two, and forces of a
constrained loop on joints change with the loop's own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.constraint_wrenches import (
    ConstraintWrenches,
    closure_loop,
    error,
    measures_pose,
    on_other,
    pull,
    relative_pose,
    velocity_terms,
)
from kinloop.algorithms.constrained.motion_constraints import Closure, Placed, Point
from kinloop.algorithms.trees.cluster_changes import Change
from kinloop.algorithms.trees.kinematics import (
    FrameAt,
    Motion,
    frame_pose,
    position_rate,
    scatter,
    spanning_accelerations,
    world_acceleration,
)
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross, cross_motion, skew


class RowChange(NamedTuple):
    """Along every coordinate: of rho along q and along v (r, nv), and of the forces of lambda on joints (nv, nv)."""

    q: Array
    v: Array
    forces: Array


class Columns(NamedTuple):
    """How a body moves along coordinates `at`, each (6, len(at)): see `Change`; `a` is of the acceleration itself."""

    at: list[int]
    S: Array
    d: Array
    a: Array
    a_v: Array

    def seen_in(self, T: Transform) -> Columns:
        """The same of a frame fixed to the body."""
        return Columns(self.at, *(T.motion(x) for x in self[1:]))


def none(rows: int, nv: int) -> Array:
    """Zeros for symbols."""
    return np.full((rows, nv), 0.0, dtype=object)


def joint_forces(tree: ClusterTree, kin: Motion, w: ConstraintWrenches) -> Array:
    """J^T (nv, r): what the joints feel of unit multipliers."""
    top = tree.top
    joint = none(top.n_spanning, w.size)
    waiting = dict(w.ends)
    for i in reversed(range(len(top))):
        if i in waiting:
            f, p = waiting.pop(i), top.parent[i]
            joint[top.v_of[i]] = kin.S[i].T @ f
            if p >= 0:
                below = kin.T[i].force(f)
                waiting[p] = waiting[p] + below if p in waiting else below
    for d, x in w.joints.items():
        joint[d] = joint[d] + x
    return np.concatenate([e.G.T @ joint[list(c.dofs)] for c, e in zip(tree, kin.embedding, strict=True)])


class BodyChanges:
    """Columns of any body, from the changes of the clusters on its way to the world."""

    def __init__(self, tree: ClusterTree, kin: Motion, acc: Sequence[Array], changes: Sequence[Change]) -> None:
        self.tree, self.kin, self.acc, self.changes = tree, kin, acc, changes
        self._found: dict[int, tuple[list[int], list[Array]]] = {}

    def of(self, i: int) -> Columns:
        """The columns of body i."""
        at, (S, d, e, e_v) = self._carried(i)
        v = self.kin.v[i]
        return Columns(at, S, d, e - cross_motion(v, d), e_v - cross_motion(v, S))

    def _carried(self, i: int) -> tuple[list[int], list[Array]]:
        """S, d, e along q, e along v."""
        if i not in self._found:
            cluster, change = self.tree.clusters[self.tree.cluster_of[i]], self.changes[self.tree.cluster_of[i]]
            at = list(range(cluster.v.start, cluster.v.stop))
            own = [change.S[i], change.d[i], change.e[i], change.e_v[i]]
            parent = self.tree.top.parent[i]
            if parent >= 0:
                below, carried = self._carried(parent)
                outer = [n for n, k in enumerate(below) if k not in at]
                own = [
                    np.concatenate([self.kin.T[i].motion(x[:, outer]), y], axis=1)
                    for x, y in zip(carried, own, strict=True)
                ]
                at = [*(below[n] for n in outer), *at]
            self._found[i] = at, own
        return self._found[i]


class _Local:
    """Symbols of their own in place of values, so that a derivative sees what depends on them and nothing else."""

    def __init__(self, graph: sc.Graph) -> None:
        self.graph = graph
        self.symbols: list[Any] = []
        self.values: list[Any] = []

    def stand_in(self, x: Array) -> Array:
        """Symbols of the shape of x."""
        fresh = self.graph.inputs(f"local {len(self.symbols)}", x.size)
        self.symbols += list(fresh)
        self.values += list(x.flat)
        return fresh.reshape(x.shape)

    def slope(self, outputs: Array, directions: Sequence[Array]) -> Array:
        """The derivative of `outputs` along directions of all stand-ins, in the order they were made."""
        flat = [x for d in directions for x in np.asarray(d).flat]
        found = sc.jvp(outputs, self.symbols, flat)
        return sc.substitute(found, dict(zip(self.symbols, self.values, strict=True)))


def frame_change(
    tree: ClusterTree, q: Array, placed: Placed, bodies: BodyChanges, multipliers: Array, graph: sc.Graph
) -> RowChange:
    """The changes of a constraint on frames."""
    c, nv = placed.constraint, tree.nv
    assert placed.frame is not None
    one = bodies.of(placed.frame[0]).seen_in(placed.frame[1])
    other = None if placed.other is None else bodies.of(placed.other[0]).seen_in(placed.other[1])
    seen = _Seen(tree, q, placed, bodies, graph)
    pushed = seen.pushed_on_other(multipliers)
    out = RowChange(none(c.size, nv), none(c.size, nv), none(nv, nv))
    K = c.selection
    for k in sorted({*one.at, *(other.at if other else ())}):
        mine, its = _column(one, k), None if other is None else _column(other, k)
        step = seen.directions(mine, its)
        out.q[:, k] = K @ mine.a + seen.local.slope(seen.rho, step)
        out.v[:, k] = K @ mine.a_v + seen.local.slope(seen.rho, seen.faster(mine, its))
        if pushed is not None and other is not None:
            out.forces[other.at, k] = other.S.T @ seen.local.slope(pushed, step)
    return out


def _column(columns: Columns, k: int) -> Columns:
    """What one coordinate does to a frame, as vectors; nothing if it does not move it."""
    if k not in columns.at:
        return Columns([], *(np.zeros(6) for _ in range(4)))
    n = columns.at.index(k)
    return Columns([], *(x[:, n] for x in columns[1:]))


class _Seen:
    """What a constraint on frames sees, as symbols of its own: twists, poses, and the other's acceleration."""

    def __init__(self, tree: ClusterTree, q: Array, placed: Placed, bodies: BodyChanges, graph: sc.Graph) -> None:
        c, kin, frame, other = placed.constraint, bodies.kin, placed.frame, placed.other
        assert frame is not None
        self.placed, self.local = placed, _Local(graph)
        stand_in = self.local.stand_in
        twist = stand_in(frame[1].motion(kin.v[frame[0]]))
        self.T = self.here = None
        if other is None:
            self.up = stand_in(_up(tree, kin, frame))
            bias, rate = velocity_terms(c, twist, None, None)
            rho = bias - c.selection[:, 3:] @ self.up
            if measures_pose(placed):
                here = frame_pose(tree, q, *frame)
                self.here = Transform(stand_in(here.R), stand_in(here.p))
        else:
            T = relative_pose(tree.top, kin, frame, other)
            self.T = Transform(stand_in(T.R), stand_in(T.p))
            self.twist = stand_in(other[1].motion(kin.v[other[0]]))
            acc = stand_in(other[1].motion(bodies.acc[other[0]]))
            bias, rate = velocity_terms(c, twist, self.twist, self.T)
            rho = bias - (self.T.R @ acc[3:] if isinstance(c, Point) else c.selection @ self.T.motion_back(acc))
        self.rho: Array = rho + pull(c, rate, error(c, self.here, self.T)) if c.stabilize else rho

    def pushed_on_other(self, multipliers: Array) -> Array | None:
        """The wrench of the multipliers on the other frame, in its axes."""
        if self.T is None:
            return None
        assert self.placed.other is not None and self.placed.frame is not None
        if self.placed.other[0] == self.placed.frame[0] and not isinstance(self.placed.constraint, Point):
            return None
        out: Array = -(on_other(self.placed.constraint, self.T) @ multipliers)
        return out

    def directions(self, mine: Columns, its: Columns | None) -> list[Array]:
        """How everything it sees changes along a coordinate of q."""
        turn, shift = mine.S[:3], mine.S[3:]
        if its is None:
            out = [mine.d, -cross(turn, self.up)]
            if self.here is not None:
                out += [self.here.R @ skew(turn), self.here.R @ shift]
            return out
        assert self.T is not None
        R, p = self.T
        turned = R @ skew(its.S[:3]) - skew(turn) @ R
        return [mine.d, turned, R @ its.S[3:] - shift - cross(turn, p), its.d, its.a]

    def faster(self, mine: Columns, its: Columns | None) -> list[Array]:
        """The same along a velocity."""
        if its is None:
            still = [np.zeros(3)] + ([np.zeros((3, 3)), np.zeros(3)] if self.here is not None else [])
            return [mine.S, *still]
        return [mine.S, np.zeros((3, 3)), np.zeros(3), its.S, its.a_v]


def _up(tree: ClusterTree, kin: Motion, frame: FrameAt) -> Array:
    """The world's acceleration, minus gravity, in the axes of a frame."""
    up = world_acceleration(tree.top)[3:]
    for i in tree.top.support(frame[0]):
        up = kin.T[i].R.T @ up
    out: Array = frame[1].R.T @ up
    return out


def closure_change(
    tree: ClusterTree, q: Array, c: Closure, bodies: BodyChanges, a: Array, multipliers: Array, graph: sc.Graph
) -> RowChange:
    """The changes of a constrained loop."""
    top, kin, local = tree.top, bodies.kin, _Local(graph)
    qdd = spanning_accelerations(tree, kin, a)
    here, moving = local.stand_in(q), local.stand_in(scatter(tree, [e.qd for e in kin.embedding]))
    rows = closure_loop(tree, c).rows(top, here, moving)
    rho = rows.K @ qdd[rows.dofs] - rows.k
    if c.stabilize:
        rho = rho + pull(c, rows.K @ moving[rows.dofs], rows.phi)
    local_force = rows.K.T @ multipliers
    values = dict(zip(local.symbols, local.values, strict=True))
    K, force = sc.substitute(rows.K, values), sc.substitute(local_force, values)
    out = RowChange(none(len(rows.k), tree.nv), none(len(rows.k), tree.nv), none(tree.nv, tree.nv))
    touched = [x for x in tree if any(d in rows.dofs for d in x.dofs)]
    for cluster in touched:
        G, bend = kin.embedding[cluster.index].G, bodies.changes[cluster.index].bend
        for n, k in enumerate(range(cluster.v.start, cluster.v.stop)):
            alone = [_spread(tree, cluster.dofs, x) for x in (G[:, n], bend.qd[:, n], bend.qdd[:, n], bend.qdd_v[:, n])]
            step = [position_rate(top, q, alone[0]), alone[1]]
            out.q[:, k] = K @ alone[2][rows.dofs] + local.slope(rho, step)
            out.v[:, k] = K @ alone[3][rows.dofs] + local.slope(rho, [np.zeros(top.nq), alone[0]])
            turned = _spread(tree, rows.dofs, local.slope(local_force, step))
            for x in touched:
                out.forces[x.v, k] = kin.embedding[x.index].G.T @ turned[list(x.dofs)]
            own = _spread(tree, rows.dofs, force)[list(cluster.dofs)]
            out.forces[cluster.v, k] = out.forces[cluster.v, k] + bend.G[n].T @ own
    return out


def _spread(tree: ClusterTree, dofs: Sequence[int], x: Array) -> Array:
    """A spanning vector that is x at some coordinates and zero elsewhere."""
    out = np.full(tree.top.n_spanning, 0.0, dtype=object)
    out[list(dofs)] = x
    return out
