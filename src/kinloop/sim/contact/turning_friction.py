"""Friction of a contact about its normal and against rolling: torques, with the sliding friction of `row_steps`.

With w_n the relative angular velocity about the normal and w_r that about the tangents, torques tau obey

    |tau_n| <= mu_t lambda_n,  tau_n against w_n;      |tau_r| <= mu_r lambda_n,  tau_r against w_r                 (1)

with coefficients mu_t, mu_r that are lengths [m]. Each has a limit of its own: neither weakens the other or sliding
friction. A step of a contact solves its three rows of forces, then the torques within the limits that the normal
impulse just found gives them. docs/decisions/contact.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import DICTATED, TINY, inverse_of_two, steepest
from kinloop.sim.contact.row_steps import ContactPlan, ContactRow, Packer


@dataclass
class TurningRow(ContactRow):
    """Rows of a contact with one row about the normal, and two about the tangents or none, besides its three.

    z, u are (4 or 6, n) and (4 or 6,); `limits` are mu_t and mu_r (1 or 2) [m].
    """

    limits: Array = field(kw_only=True)


class TurningPlan(ContactPlan):
    """Where the numbers of such a contact lie among the given values, and its step."""

    def __init__(self, row: TurningRow, pack: Packer) -> None:
        super().__init__(row, pack)
        A, self.rolls = row.A, len(row.z) > 4
        self.spin, self.spun = pack.add([row.limits[0], A[3, 3]]), pack.add(A[3, :3])
        if self.rolls:
            inverse, _ = inverse_of_two(A[4, 4], A[4, 5], A[5, 5], DICTATED * (A[4, 4] + A[5, 5]))
            self.roll, self.rolled = pack.add([row.limits[1], *inverse, steepest(A[4:, 4:])]), pack.add(A[4:, :4])

    def begin(self, x: Array) -> Array:
        """An impulse to begin with."""
        return np.concatenate([super().begin(x[:3]), x[3:]])

    def _stepped(
        self, u: Array, x: Array, given: Any, step: Callable[..., tuple[Array, list[Any]]]
    ) -> tuple[Array, list[Any]]:
        """Forces, then torques by (1) for the forces just found."""
        force, changes = step(u[:3], x[:3], given)
        moved = force - x[:3]
        limit, A = given[self.spin]
        limit = limit * force[0]
        about = u[3] + np.array(given[self.spun]) @ moved
        still = x[3] - sc.where(A > 0.0, 1.0 / (A + TINY), 0.0) * about
        spin = sc.minimum(sc.maximum(still, -limit), limit)
        changes = [*changes, A * (spin - x[3])]
        if not self.rolls:
            return np.array([*force, spin]), changes
        rates = u[4:] + np.array(given[self.rolled]).reshape(2, 4) @ np.array([*moved, spin - x[3]])
        roll, steep = self._roll(rates, force[0], x[4:], given)
        return np.array([*force, spin, *roll]), [*changes, *(steep * y for y in roll - x[4:])]

    def _roll(self, u: Array, normal: Any, x: Array, given: Any) -> tuple[Array, Any]:
        """The torque against rolling at rates u, and how steeply rates change with it."""
        limit, xx, xy, yy, steep = given[self.roll]
        limit = limit * normal
        stick = [x[0] - (xx * u[0] + xy * u[1]), x[1] - (xy * u[0] + yy * u[1])]
        held = stick[0] * stick[0] + stick[1] * stick[1] <= limit * limit
        gain = sc.where(steep > 0.0, 1.0 / (steep + TINY), 0.0)
        slide = [a - gain * b for a, b in zip(x, u, strict=True)]
        part = sc.minimum(1.0, limit / (sc.sqrt(slide[0] * slide[0] + slide[1] * slide[1]) + TINY))
        return np.array([sc.usually(sc.where(held, a, part * b)) for a, b in zip(stick, slide, strict=True)]), steep
