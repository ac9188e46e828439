"""Momentum of bodies that fly freely among others, kept to rounding in flight and through blows.

A single free body has the momentum p = m c' of its centre of mass c and the angular momentum l = R I w about it. What
pushes it in a step, by the equations of the middle, changes both by an impulse and a moment about c:

    p_1 = p_0 + F,     l_1 = l_0 + M                                                                            (1)

A step in which something touches moves c by h p_1 / m, as if all impulses came at its beginning, and there single
bodies have their levers when they push each other (`contact.start_geometry`). The sum of c x p + l stays as it is. With
restitution the blow comes later in the step, its levers with it. Turning is that of the integrator; from R at the end
follows w. In flight (1) holds where nothing but gravity pushes; else the integrator's order is higher.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor
from kinloop.scalar import Array
from kinloop.sim.contact.impact import Hit
from kinloop.sim.smooth_motion import SmoothMotion
from kinloop.spatial.transform import cross, skew

NOTHING = 1e-9
"""A push that changes momentum by less than this part of it in a step is none, as far as orders go."""


class Ends(NamedTuple):
    """Positions and spanning velocities at the beginning of a step, and at its end as an integrator has them."""

    q: Array
    qd: Array
    q_next: Array
    qd_next: Array


def keep_momentum(
    tree: ClusterTree, bodies: list[int], s: SmoothMotion, ends: Ends, middle: Array, here: Array, v_free: Array,
    hit: Hit, h: Any,
) -> tuple[Array, Array]:  # fmt: skip
    """The end of a step (q, qd) with the momentum of single bodies as (1) says.

    `here` and `v_free` are the velocities at both ends without impulses, in the axes of the middle.
    """
    q, qd = np.array(ends.q_next), np.array(ends.qd_next)
    for i in bodies:
        at, dofs = tree.top.q_of[i], tree.top.v_of[i]
        own = tree.clusters[tree.cluster_of[i]].v
        parts = Ends(ends.q[at], ends.qd[dofs], q[at], qd[dofs])
        q[at], qd[dofs] = _moved(tree, i, s, parts, middle[at], here[own], v_free[own], hit.change[own], hit, h)
    return q, qd


def _moved(
    tree: ClusterTree, i: int, s: SmoothMotion, ends: Ends, middle: Array, here: Array, v_free: Array, change: Array,
    hit: Hit, h: Any,
) -> tuple[Array, Array]:  # fmt: skip
    """The end of a step of body i."""
    top = tree.top
    m, c, pose = top.mass[i], np.asarray(top.com[i]), top.types[i].pose
    R_0, R, R_1 = (pose(x).R for x in (ends.q, middle, ends.q_next))
    v_0, v = (y + cross(x, c) for x, y in ((ends.qd[:3], ends.qd[3:]), (change[:3], change[3:])))
    force, moment = _pushed(tree, i, s, v_free + change - here, h)
    C = skew(c)
    about = top.inertia[i].A + m * (C @ C)
    gained, l_0 = R @ force / m, R_0 @ (about @ ends.qd[:3])
    v_0 = R_0 @ v_0
    v_1, l_1 = v_0 + gained, l_0 + R @ moment
    gone = sc.where(hit.flying, h * v_0 + (0.5 * h) * gained, h * v_1 - (h * hit.when) * (R @ v))
    w_1 = Factor(about).solve(R_1.T @ l_1)
    p_1 = pose(ends.q).p + R_0 @ c + gone - R_1 @ c
    weight = R.T @ (top.placement[i].R.T @ top.mechanism.gravity)
    other = force - (h * m) * weight
    pushed = sc.squared(moment) > NOTHING**2 * sc.squared(l_0)
    pushed = sc.logical_or(pushed, sc.squared(other) > (NOTHING * m) ** 2 * sc.squared([*v_0, *(h * weight)]))
    leave = sc.logical_and(hit.flying, pushed)
    q = np.concatenate([p_1, ends.q_next[3:]])
    qd = np.concatenate([w_1, R_1.T @ v_1 - cross(w_1, c)])
    return sc.where(leave, ends.q_next, q), sc.where(leave, ends.qd_next, qd)


def _pushed(tree: ClusterTree, i: int, s: SmoothMotion, gained: Array, h: Any) -> tuple[Array, Array]:
    """What pushes body i in a step in which its twist in the axes of the middle gains so much: F, M about its centre.

    Both are in the body at the middle.
    """
    I, w, c = tree.top.inertia[i], s.kin.v[i][:3], np.asarray(tree.top.com[i])
    g = I.apply(gained) + h * np.concatenate([cross(w, I.A @ w), tree.top.mass[i] * cross(w, cross(w, c))])
    return g[3:], g[:3] - cross(c, g[3:])
