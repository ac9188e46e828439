"""Velocities of free joints in axes that do not turn.

A free joint writes its linear velocity in the axes of its own turning body. During a step it is better written in the
axes which the body has at the middle of the step, so that turning and gravity do not mix. All other coordinates are
the same in both.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.model.joints import Free, Spherical
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial.transform import cross

TANGENT = (1.0, 1.0 / 3.0, 2.0 / 15.0, 17.0 / 315.0, 62.0 / 2835.0)
"""Coefficients of tan(x) / x in powers of x^2."""


def transport(tree: ClusterTree, v: Array) -> Array:
    """w x v of free joints: what their linear acceleration in fixed axes has beyond that in body axes; else zero."""
    out = np.zeros(tree.nv, dtype=v.dtype)
    for a in _free_starts(tree):
        out[a + 3 : a + 6] = cross(v[a : a + 3], v[a + 3 : a + 6])
    return out


def turned(tree: ClusterTree, v: Array, h: float) -> Array:
    """v with the linear velocity of free joints written in the axes that the body will have a time h later."""
    return turned_by(tree, v, h * v)


def turned_by(tree: ClusterTree, v: Array, way: Array) -> Array:
    """v with the linear velocity of free joints written in the axes that the body has after it moves by `way`.

    By Cayley's map, which is a rotation: a velocity written anew keeps its length. Its argument is the tangent of half
    the angle, by its series: exact to rounding for the angles that a step may turn by, so that momentum is kept.
    """
    out = np.array(v)
    for a in _free_starts(tree):
        half, x = -0.5 * way[a : a + 3], v[a + 3 : a + 6]
        square = half @ half
        series: Any = TANGENT[-1]
        for c in TANGENT[-2::-1]:
            series = c + square * series
        t = series * half
        out[a + 3 : a + 6] = x + (2.0 / (1.0 + t @ t)) * cross(t, x + cross(t, x))
    return out


def in_world(tree: ClusterTree, q: Array, x: Array, back: bool = False) -> Array:
    """Spanning velocities or accelerations x at q with the linear parts of free bodies in the axes of the world.

    `back` is from there to those of the bodies.
    """
    out = np.array(x)
    for i in free_bodies(tree):
        at, R = _linear(tree, i), tree.top.types[i].pose(q[tree.top.q_of[i]]).R
        out[at] = (R.T if back else R) @ x[at]
    return out


def accelerated(tree: ClusterTree, q: Array, qd: Array, qdd: Array) -> Array:
    """Spanning accelerations qdd at (q, qd) with the linear ones of free bodies in the axes of the world."""
    out = np.array(qdd)
    for i in free_bodies(tree):
        at, start = _linear(tree, i), tree.top.v_of[i].start
        out[at] = out[at] + cross(qd[start : start + 3], qd[at])
    return in_world(tree, q, out)


def shifted(tree: ClusterTree, q: Array, shift: Array) -> Array:
    """q after a step `shift` with the linear parts of free bodies in the axes of the world."""
    turn = np.array(shift)
    for i in free_bodies(tree):
        turn[_linear(tree, i)] = 0.0
    out = tree.top.integrate(q, turn)
    for i in free_bodies(tree):
        at = tree.top.q_of[i].start
        out[at : at + 3] = out[at : at + 3] + shift[_linear(tree, i)]
    return out


def _linear(tree: ClusterTree, body: int) -> slice:
    """Where the linear velocity of a free body is among spanning velocities."""
    start = tree.top.v_of[body].start
    return slice(start + 3, start + 6)


def free_bodies(tree: ClusterTree) -> list[int]:
    """Bodies on free joints that no loop holds."""
    return [c.bodies[0] for c in tree if not c.parts and isinstance(tree.top.types[c.bodies[0]], Free)]


def _free_starts(tree: ClusterTree) -> list[int]:
    """Where the six velocities of each free joint begin in v."""
    free = free_bodies(tree)
    return [c.v.start for c in tree if c.bodies[0] in free]


def screwed(top: Topology, step: Array, twist: Array, rate: Array, h: Any, straight: Collection[int] = ()) -> Array:
    """A step of length h with what turning adds where the axis of rotation changes on the way.

    Joints that turn in space move by the exponential of the mean twist and of (h^3 / 12) [twist, rate], `twist` and
    its `rate` those at the middle (Magnus's series, to order 4). The linear parts of bodies that go `straight` stay.
    """
    out = step.copy()
    for i, kind in enumerate(top.types):
        at = top.v_of[i]
        if isinstance(kind, Free | Spherical):
            x, y = twist[at], rate[at]
            bracket = [cross(x[:3], y[:3])]
            if i in straight:
                bracket.append(np.zeros(3))
            elif isinstance(kind, Free):
                bracket.append(cross(x[:3], y[3:]) - cross(y[:3], x[3:]))
            out[at] = out[at] + (h * h * h * (1.0 / 12.0)) * np.concatenate(bracket)
    return out
