"""Velocities of free joints in axes that do not turn.

A free joint writes its linear velocity in the axes of its own turning body. During a step it is better written in the
axes which the body has at the middle of the step, so that turning and gravity do not mix. All other coordinates are
the same in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.model.joints import Free, Spherical
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial.transform import cross


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

    By Cayley's map, which is a rotation: a velocity written anew keeps its length.
    """
    out = np.array(v)
    for a in _free_starts(tree):
        t, x = -0.5 * way[a : a + 3], v[a + 3 : a + 6]
        out[a + 3 : a + 6] = x + (2.0 / (1.0 + t @ t)) * cross(t, x + cross(t, x))
    return out


def free_bodies(tree: ClusterTree) -> list[int]:
    """Bodies on free joints that no loop holds."""
    return [c.bodies[0] for c in tree if not c.parts and isinstance(tree.top.types[c.bodies[0]], Free)]


def _free_starts(tree: ClusterTree) -> list[int]:
    """Where the six velocities of each free joint begin in v."""
    free = free_bodies(tree)
    return [c.v.start for c in tree if c.bodies[0] in free]


def screwed(top: Topology, step: Array, twist: Array, rate: Array, h: Any) -> Array:
    """A step of length h with what turning adds where the axis of rotation changes on the way.

    Joints that turn in space move by the exponential of the mean twist and of (h^3 / 12) [twist, rate], `twist` and
    its `rate` those at the middle (Magnus's series, to order 4).
    """
    out = step.copy()
    for i, kind in enumerate(top.types):
        at = top.v_of[i]
        if isinstance(kind, Free | Spherical):
            x, y = twist[at], rate[at]
            bracket = [cross(x[:3], y[:3])]
            if isinstance(kind, Free):
                bracket.append(cross(x[:3], y[3:]) - cross(y[:3], x[3:]))
            out[at] = out[at] + (h * h * h * (1.0 / 12.0)) * np.concatenate(bracket)
    return out
