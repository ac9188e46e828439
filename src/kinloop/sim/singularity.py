"""How near loops are to configurations at which they lose rank, and whether a motion has passed one.

The nearness of a configuration is the smallest pivot of its tangent frames in units of its usual size
(`clusters.tangent_frame`): about 1 in ordinary configurations, 0 where a loop loses rank. Each loop is judged by
itself. A motion passes a singular configuration where the nearness goes through zero, as |a + b t| does: with values
r0, r1, r2 at three successive steps, the last of which may lie beyond,

    r1 + r2 <= (1 + SLACK) (r0 - r1) h2 / h1                                                                    (1)

A motion that turns back before a singular configuration, or passes at a distance, has a larger r1 + r2.

Near such a configuration, at the nearness r, the acceleration is the same smooth function of time as elsewhere, but
its value is lost to rounding e: positions across the loops are known to e / r only, and velocity products at the speed
w (in the scales of the frames) to w^2 e / r^3. A step of length h loses the part

    h w e / r^3                                                                                                 (2)

of its velocity, however it is shortened (`lost_part`). Where that is more than 1e-9, `is_blind` holds. A step with a
memory then takes the acceleration from there; one without is taken with another length.
"""

from __future__ import annotations

from typing import Any

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.clusters.tangent_frame import TangentFrame
from kinloop.scalar import Array

SLACK = 0.05
"""How much (1) forgives: passing nearer than a seventh of a step counts as passing through."""

AT_SINGULAR = 1e-6
"""No run begins nearer to a singular configuration than this."""

ROUNDING, MOST_LOST = 1e-16, 1e-9
"""e in (2), and the part of the velocity that may be lost to it in a step."""


def nearness(tree: ClusterTree, q: Array) -> Any:
    """How near q is to a configuration at which a loop loses rank; 1 or more is far away."""
    out: Any = 1.0
    for c in tree:
        if isinstance(c.chart, TangentFrame):
            out = sc.minimum(out, c.chart.nearness(c.chart.reduce(tree.rows(c, q).K).pivots))
    return out


def loop_speed(tree: ClusterTree, qd: Array) -> Any:
    """The largest velocity of a coordinate in a loop, in units of its scale [1/s]."""
    out: Any = 0.0
    for c in tree:
        if isinstance(c.chart, TangentFrame):
            out = sc.largest([qd[d] * float(1.0 / s) for d, s in zip(c.dofs, c.chart.scale, strict=True)], out)
    return out


def lost_part(near: float, speed: float, h: float) -> float:
    """(2): the part of the velocity that rounding takes in a step of length h [s] at this nearness and speed [1/s]."""
    return ROUNDING * h * speed / near**3 if near else float("inf")


def is_blind(near: Any, speed: Any, h: Any) -> Any:
    """Whether accelerations at this nearness are lost to rounding, at this speed and step length."""
    return near * near * near < (ROUNDING / MOST_LOST) * h * speed


def passes(r0: Any, r1: Any, r2: Any, ratio: Any = 1.0) -> Any:
    """(1): whether a singular configuration lies between the last two of three values; `ratio` is h2 / h1."""
    return sc.logical_and(r1 < r0, r1 + r2 <= (1.0 + SLACK) * (r0 - r1) * ratio)
