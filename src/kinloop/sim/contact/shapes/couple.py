"""Two convex shapes whose nearest points are looked for, and whether they are near at all.

With a point v of the difference of two cores, the points of a minus the points of b, the planes across v that touch
both are apart by at least v . P / |v|, where P is what the difference has furthest against v; the cores themselves are
apart by |v| at most. A round adds P to the simplex that has v, and v becomes its nearest point to the origin
(`simplex`) [Gilbert1988]. Whether shapes are nearer than something is known as soon as one of both bounds says so:
mostly after one round or two.

All vectors are in the frame of b.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.patches import APART
from kinloop.sim.contact.shapes.proximity import choose, dot, in_world, seen_from, vector
from kinloop.sim.contact.shapes.simplex import nearer
from kinloop.sim.contact.shapes.supports import Hulls, Sum

ROUNDS = 24
"""Rounds after which shapes count as near if no bound has said otherwise."""


class Body(NamedTuple):
    """A convex shape: its core, its number among hulls (-1: it is none), and what of a sum it can have."""

    size: Any
    number: Any
    parts: Sum


class Couple(NamedTuple):
    """Two bodies, a at a pose (R, p) in the frame of b; what is in it are numbers and symbols of one kernel.

    `flat` is above zero where both have faces or edges, cores nearer than `reach` count as near; `size` is that of
    both together, `smaller` that of the smaller one [m].
    """

    hulls: Hulls
    a: Body
    b: Body
    flat: Any
    R: Array
    p: Array
    reach: Any
    size: Any
    smaller: Any

    def given(self) -> list[Any]:
        """All that a round needs, as one vector."""
        return [
            *self.a.size, self.a.number, *self.b.size, self.b.number, self.flat, *self.R.flat, *self.p,
            self.reach, self.size, self.smaller,
        ]  # fmt: skip

    def told(self, x: Any) -> Couple:
        """The same with what a round was given."""
        n = len(self.a.size)
        a = Body(x[:n], x[n], self.a.parts)
        b = Body(x[n + 1 : 2 * n + 1], x[2 * n + 1], self.b.parts)
        x = x[2 * n + 2 :]
        return Couple(self.hulls, a, b, x[0], np.array(x[1:10]).reshape(3, 3), np.array(x[10:13]), *x[13:16])

    def towards(self) -> Array:
        """The direction from the middle of b to that of a."""
        length = sc.sqrt(dot(self.p, self.p))
        return choose(length > APART, self.p / sc.maximum(length, APART), (0.0, 0.0, 1.0))

    def begin(self, d: Array) -> Array:
        """The vertices at which climbs begin along d."""
        if not self.hulls:
            return vector(0.0, 0.0)
        own = -seen_from(self.R, d)
        return vector(self.hulls.beginning(self.a.number, own), self.hulls.beginning(self.b.number, d))

    def furthest(self, body: Body, d: Array, at: Any) -> tuple[Array, Any]:
        """What a body has furthest along d in its frame, and where the next climb begins."""
        x = body.parts.furthest(body.size, d)
        if not self.hulls:
            return x, at
        climbs = body.number >= 0.0
        at = self.hulls.climbed(at, d, climbs)
        return choose(climbs, sc.take(self.hulls.vertices, at), x), at


class Near(NamedTuple):
    """Whether two shapes may be near, with a direction from b to a and the vertices that hulls have furthest there."""

    near: Any
    v: Array
    at: Array


def are_near(couple: Couple, when: Any = True) -> Near:
    """Whether the cores of two bodies are nearer than `reach`; nobody knows where not `when`."""
    v = couple.towards()
    begin = [*v, *np.zeros(9), *couple.begin(v), 1.0, 0.0]

    def go_on(carry: Any, given: Any) -> list[Any]:
        return _round(couple.told(given), carry)

    end = sc.repeat(ROUNDS, go_on, begin, couple.given(), when, lambda c: c[-1] > 0.5, 2)
    return Near(sc.logical_not(sc.abs(end[-1] - 1.0) < 0.5), np.array(end[:3]), np.array(end[12:14]))


def _round(couple: Couple, carry: Any) -> list[Any]:
    """One round: v, its simplex, vertices, whether it is the first, and what is known (1: apart, 2: near)."""
    v, y, at, fresh = np.array(carry[:3]), carry[3:12], carry[12:14], carry[14] > 0.5
    unit = v / sc.maximum(sc.sqrt(dot(v, v)), 1e-300)
    ours, at_a = couple.furthest(couple.a, -seen_from(couple.R, unit), at[0])
    theirs, at_b = couple.furthest(couple.b, unit, at[1])
    P = couple.p + in_world(couple.R, ours) - theirs
    corners = [choose(fresh, P, y[3 * k : 3 * k + 3]) for k in range(3)]
    new = nearer(corners, P)
    apart, close = dot(unit, P) > couple.reach, dot(new.v, new.v) <= couple.reach * couple.reach
    known = sc.where(apart, 1.0, sc.where(sc.logical_or(close, new.inside), 2.0, 0.0))
    kept = [choose(k < 0.5, corners[0], choose(k < 1.5, corners[1], corners[2])) for k in (new.i, new.j)]
    on = choose(known > 0.5, unit, new.v)
    return [*on, *P, *kept[0], *kept[1], at_a, at_b, 0.0, known]
