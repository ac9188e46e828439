"""What inverse kinematics looks at: tasks and limits at a configuration, and the closed configuration after a step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.clusters.newton import newton
from kinloop.clusters.tangent_frame import TangentFrame
from kinloop.control.damped_least_squares import Bounded, Rows
from kinloop.control.limited_coordinates import LimitedCoordinates
from kinloop.control.tasks import Task
from kinloop.control.world_motion import WorldMotion
from kinloop.scalar import Array


class Problem(NamedTuple):
    """What a kernel of the iteration is made of."""

    tree: ClusterTree
    tasks: tuple[Task, ...]
    limits: LimitedCoordinates

    @property
    def target_sizes(self) -> list[int]:
        return [t.target_size(self.tree.top) for t in self.tasks]

    @property
    def levels(self) -> list[int]:
        return sorted({t.level for t in self.tasks})

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        frames = tuple(c.chart.key for c in self.tree if isinstance(c.chart, TangentFrame))
        return frames, tuple(t.key for t in self.tasks), tuple(self.limits)

    @property
    def turning(self) -> tuple[int, ...]:
        return tuple({i for t in self.tasks for i in t.bodies(self.tree.top)})


class Look(NamedTuple):
    """What tasks say of a configuration: weighted rows of every level, the largest error of every task."""

    at: WorldMotion
    levels: list[Rows]
    residual: list[Any]


def look(p: Problem, q: Array, targets: Array) -> Look:
    """All tasks at q."""
    at = WorldMotion(p.tree, q, turning=p.turning)
    rows: dict[int, list[Rows]] = {level: [] for level in p.levels}
    most = {level: max(t.weight for t in p.tasks if t.level == level) for level in p.levels}
    residual, start = [], 0
    for task, size in zip(p.tasks, p.target_sizes, strict=True):
        target = targets[start : start + size]
        start += size
        e, J = task.error(at, target), task.jacobian(at, target)
        residual.append(sc.largest(list(e)))
        w = np.sqrt(task.row_weights(len(e)) / most[task.level])
        rows[task.level].append(Rows(J * w[:, None], e * w))
    joined = [Rows(np.concatenate([r.J for r in x]), np.concatenate([r.e for r in x])) for x in rows.values()]
    return Look(at, joined, residual)


def reachable(p: Problem, at: WorldMotion) -> Bounded:
    """Limits, as bounds of a step from q."""
    places, (low, high) = list(p.limits.places), p.limits.inset()
    return Bounded(at.G[list(p.limits.dofs)], low - at.q[places], high - at.q[places])


def beyond(p: Problem, q: Array) -> Any:
    """How far the coordinate worst off is beyond its limits."""
    x, most = q[list(p.limits.places)], 0.0
    for k in range(len(p.limits)):
        most = sc.maximum(most, sc.maximum(p.limits.lower[k] - x[k], x[k] - p.limits.upper[k]))
    return most


def coordinate_weights(tree: ClusterTree, at: WorldMotion) -> Array:
    """How much the joints of a cluster move with each of its independent coordinates: squares, summed.

    A rotor that turns unseen does not count, so that damping and the length of steps do not depend on gears.
    """
    top = tree.top
    out = np.zeros(tree.nv, dtype=at.G.dtype)
    for c in tree:
        own = [d for i in c.bodies if not top.spins_unseen[i] for d in range(top.v_of[i].start, top.v_of[i].stop)]
        for k in range(c.v.start, c.v.stop):
            column = at.G[own or list(c.dofs), k]
            out[k] = column @ column
    return out


def longest(tree: ClusterTree, at: WorldMotion, dv: Array) -> Any:
    """The largest move of a coordinate in the step dv."""
    top, step = tree.top, at.G @ dv
    seen = [i for i in range(len(top)) if not top.spins_unseen[i]]
    moves = [d for i in seen for d in range(top.v_of[i].start, top.v_of[i].stop)]
    sliding = [top.v_of[i].start + k for i in seen if top.types[i].is_free for k in (3, 4, 5)]
    return sc.largest([step[d] for d in moves if d not in sliding])


def stepped(p: Problem, at: WorldMotion, dv: Array) -> tuple[Array, Any]:
    """The closed configuration after the step dv from q, and whether loops could be closed."""
    tree, q = p.tree, at.q
    end = tree.top.integrate(q, at.G @ dv)
    low, high = p.limits.inset()
    free = {c.dofs[k] for c in tree if not c.bends for k in c.chart.independent}
    for k, (place, dof) in enumerate(zip(p.limits.places, p.limits.dofs, strict=True)):
        if dof in free:
            end[place] = sc.minimum(sc.maximum(end[place], float(low[k])), float(high[k]))
    closed, well = newton(tree, end)
    return tree.top.normalized(closed), well
