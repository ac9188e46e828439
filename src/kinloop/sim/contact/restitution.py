"""Restitution: what a blow gives back, at the time of the first touch within a step; (2) of `impact`."""

from __future__ import annotations

from typing import Any, NamedTuple

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import TINY
from kinloop.sim.on_loops import spanning
from kinloop.sim.smooth_motion import SmoothMotion, spanning_kinetic_energy

THROWN = 5e-5
"""How far [m] a blow may throw a body into another that it reaches within the same step."""


class Bounce(NamedTuple):
    """Restitution in force, the part of the step before the first touch, and whether there is one."""

    restitution: Any
    when: Any
    hit: Any

    def at(self, before: Array, after: Array) -> Array:
        """Velocity at the time of the touch, or at the end of a step without one."""
        if self.hit is False:
            return after
        part = sc.where(self.hit, self.when, 1.0)
        touching: Array = before + part * (after - before)
        return touching

    def bound(self, bound: Any, gap: Any, before: Array, after: Array, h: Any) -> Any:
        """The bound (1), for the gap that is left at the time of the touch."""
        if self.hit is False:
            return bound
        return sc.where(self.hit, sc.minimum(-self.left(gap, before, after, h) / h, 0.0), bound)

    def left(self, gap: Any, before: Array, after: Array, h: Any) -> Any:
        """The gap that is left at the time of the touch."""
        return gap + self.when * h * (before[0] + 0.5 * self.when * (after[0] - before[0]))

    def throws(self, gap: Any, before: Array, after: Array, change: Any, h: Any) -> Any:
        """Whether a contact is deeper at the end of the step than it was, if blows `change` its normal velocity.

        The bound is kept by the inelastic blow. What is given back besides may throw a body at another one, which it
        reaches in what is left of the step.
        """
        left = self.left(gap, before, after, h)
        end = left + ((1.0 - self.when) * h) * (after[0] + change)
        return sc.logical_and(self.hit, end < sc.minimum(left, 0.0) - THROWN)


def rebound(tree: ClusterTree, s: SmoothMotion, q: Array, v: Array, change: Array, w: Array, bounce: Bounce) -> Any:
    """What to multiply inelastic impulses by, which `change` the velocities v at the touch, by (2)."""
    if bounce.hit is False:
        return 1.0

    def kinetic(x: Array) -> Any:
        return spanning_kinetic_energy(tree, q, spanning(tree, s.kin.embedding, x))

    lost = kinetic(v) - kinetic(v + change)
    return sc.minimum(1.0 + bounce.restitution, sc.maximum(1.0, 1.0 + 2.0 * lost / (w @ w + TINY)))
