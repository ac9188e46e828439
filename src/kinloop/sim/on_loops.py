"""States kept on closed loops: positions closed by Newton's method, velocities projected, in kernels and outside.

Every cluster says itself which of its coordinates give way: all of them, as little as possible, in a tangent frame;
the dependent ones of a gear or belt, whose drivers stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import scatter
from kinloop.clusters import Cluster, ClusterTree, Embedding
from kinloop.clusters.closing import TOLERANCE
from kinloop.clusters.newton import SMALL_CORRECTION, Round, corrected
from kinloop.clusters.tangent_frame import TangentFrame, plain
from kinloop.scalar import Array

OPEN = 5e-14
"""Loops that are open by less [m, rad] may stay so for a step, away from singular configurations."""


def closed(tree: ClusterTree, q: Array, when: Any = True, rounds: int = 1) -> tuple[Array, Any]:
    """q after Newton's method, and the size of its last correction [m, rad]; loops only where `when` holds.

    There are so many rounds at most; a tiny correction is the last. Rows that no correction has to satisfy, because
    they follow from others, count where they do not follow: beyond `closing.TOLERANCE` the size is at least what they
    are open by.
    """
    for c in tree:
        if c.parts and not c.bends:
            q = corrected(tree, c, q).q
    top, loops, moving = tree.top, [c for c in tree if c.bends], _moving(tree)
    if not loops:
        return top.normalized(q), 0.0

    def body(carry: Array, given: Array) -> Array:
        own = plain(np.array(carry[:-1], dtype=object))
        q = top.neutral().astype(own.dtype)
        q[moving] = own
        q, size = newton_round(tree, q)
        return np.array([*q[moving], size], dtype=object)

    start = np.array([*q[moving], 0.0], dtype=object)
    if when is True and rounds == 1:
        end = body(start, start[:0])
    else:
        usual = 1 if when is True else 0
        end = sc.repeat(rounds, body, start, (), when, lambda x: x[-1] <= SMALL_CORRECTION, usual)
    out = q.astype(object)
    out[moving] = end[:-1]
    return plain(out), end[-1]


def newton_round(tree: ClusterTree, q: Array, saw: Callable[[Cluster, Round], None] | None = None) -> tuple[Array, Any]:
    """q after one round on all loops, and the size of its correction; `saw` is told of the round on every cluster."""
    size: Any = 0.0
    for c in tree:
        if c.bends:
            found = corrected(tree, c, q)
            if saw is not None:
                saw(c, found)
            q, size = found.q, sc.largest(list(found.step), size)
            apart = sc.largest([found.phi[r] for r in redundant_rows(c)])
            size = sc.where(apart > TOLERANCE, sc.maximum(size, apart), size)
    return tree.top.normalized(q), size


def _moving(tree: ClusterTree) -> list[int]:
    """Positions that closing moves: those of loops, and those that have a length to keep, as quaternions do."""
    top, looped = tree.top, {i for c in tree if c.bends for i in c.bodies}
    own = [top.q_of[i] for i, kind in enumerate(top.types) if i in looped or kind.nq > kind.nv]
    return [k for part in own for k in range(part.start, part.stop)]


def redundant_rows(c: Cluster) -> list[int]:
    """Rows of a cluster that its tangent frame may leave to others."""
    assert isinstance(c.chart, TangentFrame)
    satisfied = {r for turn in c.chart.loops if turn.rank == len(turn.rows) for r in turn.rows}
    return [r for part in c.equations.spans for r in part if r not in satisfied] if c.equations else []


def closed_twice(tree: ClusterTree, q: Array, slack: Any = None) -> tuple[Array, Any]:
    """q after two rounds, of which the second is taken where the first one's correction was not tiny.

    The first is taken where a row of a loop is open by more than `slack`, if that is given.
    """
    return closed(tree, q, True if slack is None else opening(tree, q) > slack, rounds=2)


def opening(tree: ClusterTree, q: Array) -> Any:
    """By how much the loops are open, at most over their rows [m, rad]."""
    return sc.largest([x for c in tree if c.bends for x in tree.rows(c, q).phi])


def drivers(tree: ClusterTree) -> list[int]:
    """Spanning coordinates that others follow or that move by themselves: all but those driven by gears and belts."""
    out: list[int] = []
    for c in tree:
        out += [c.dofs[k] for k in c.chart.independent] if c.parts and not c.bends else c.dofs
    return sorted(out)


def with_followers(tree: ClusterTree, x: Array) -> Array:
    """The spanning vector of velocities x (len(drivers),), gears and belts following."""
    out = np.zeros(tree.top.n_spanning, dtype=x.dtype)
    out[drivers(tree)] = x
    for c in tree:
        if c.parts and not c.bends:
            dofs = list(c.dofs)
            out[dofs] = tree.jacobian(c, tree.top.neutral()) @ out[dofs][list(c.chart.independent)]
    return out


def coordinates(tree: ClusterTree, embedding: Sequence[Embedding], qd: Array) -> Array:
    """The independent velocities whose motion is nearest to the spanning velocity qd."""
    parts = [c.chart.coordinates(qd[list(c.dofs)], e.G) for c, e in zip(tree, embedding, strict=True)]
    return np.concatenate(parts or [np.zeros(0)])


def spanning(tree: ClusterTree, embedding: Sequence[Embedding], v: Array) -> Array:
    """G v: spanning velocities for independent ones."""
    return scatter(tree, [e.G @ v[c.v] for c, e in zip(tree, embedding, strict=True)])


def projected(tree: ClusterTree, q: Array, qd: Array) -> Array:
    """The spanning velocity nearest to qd that the loops allow at q."""
    parts = []
    for c in tree:
        x = qd[list(c.dofs)]
        G = tree.jacobian(c, q)
        parts.append(G @ c.chart.coordinates(x, G) if c.parts else x)
    return scatter(tree, parts)
