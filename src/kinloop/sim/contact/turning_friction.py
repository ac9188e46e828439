"""Friction of a contact about its normal and against rolling: torques, with the sliding friction of `row_steps`.

With w_n the relative angular velocity about the normal and w_r that about the tangents, torques tau obey

    |tau_n| <= mu_t lambda_n,  tau_n against w_n;      |tau_r| <= mu_r lambda_n,  tau_r against w_r                 (1)

with coefficients mu_t, mu_r that are lengths [m]. Each has a limit of its own: neither weakens the other or sliding
friction. A step of a contact solves its three rows of forces, then the torques within the limits that the normal
impulse just found gives them. docs/decisions/contact.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import DICTATED, TINY, inverse_of_two, steepest
from kinloop.sim.contact.row_steps import ContactPlan, ContactRow, Packer, moved


@dataclass
class TurningRow(ContactRow):
    """Rows of a contact with one row about the normal, and two about the tangents or none, besides its three.

    `turn_z` (1 or 3, n) and `turn_u` are as z and u of these; `limits` are mu_t and mu_r (1 or 2) [m].
    """

    turn_z: Array = field(kw_only=True)
    turn_u: Array = field(kw_only=True)
    limits: Array = field(kw_only=True)


class TurningPlan(ContactPlan):
    """Where the numbers of such a contact lie among the given values, and its step."""

    def __init__(self, row: TurningRow, pack: Packer) -> None:
        super().__init__(row, pack)
        self.turning = row
        A = row.turn_z @ row.turn_z.T
        self.spin_z, self.spin = pack.add(row.turn_z[0]), pack.add([row.turn_u[0], row.limits[0], A[0, 0]])
        self.rolls = len(row.turn_z) > 1
        if self.rolls:
            inverse, _ = inverse_of_two(A[1, 1], A[1, 2], A[2, 2], DICTATED * (A[1, 1] + A[2, 2]))
            self.roll_z, self.roll = pack.add(row.turn_z[1:]), pack.add([*row.turn_u[1:], row.limits[1]])
            self.roll_A = pack.add([*inverse, steepest(A[1:, 1:])])

    def begin(self, x: Array) -> Array:
        """An impulse to begin with."""
        return np.concatenate([super().begin(x[:3]), x[3:]])

    def energy(self, x: Array) -> Any:
        """What the impulse x does at the free velocity beyond lifting the point as it should be lifted [J]."""
        return super().energy(x[:3]) + x[3:] @ self.turning.turn_u

    def power(self, x: Array, given: Any) -> Any:
        """What the impulse x does at the free velocity [J]."""
        rates = [given[self.spin][0], *(given[self.roll][:2] if self.rolls else ())]
        return super().power(x[:3], given) + x[3:] @ np.array(rates)

    def relax(self, w: Array, x: Array, given: Any, change: Any) -> tuple[Array, Array, Any]:
        """w, impulse and largest change after solving this contact's forces and then its torques, all others held."""
        return self._turn(*super().relax(w, x[:3], given, change), x[3:], given)

    def approach(self, w: Array, x: Array, given: Any, change: Any) -> tuple[Array, Array, Any]:
        """The same with a small step of the forces."""
        return self._turn(*super().approach(w, x[:3], given, change), x[3:], given)

    def _turn(self, w: Array, force: Array, change: Any, x: Array, given: Any) -> tuple[Array, Array, Any]:
        """Torques by (1) for the forces just found."""
        z, (u, limit, A) = np.array(given[self.spin_z]), given[self.spin]
        limit = limit * force[0]
        still = x[0] - sc.where(A > 0.0, 1.0 / (A + TINY), 0.0) * moved(u, z, w[self.at])
        spin = sc.minimum(sc.maximum(still, -limit), limit)
        w = self._added(w, z * (spin - x[0]))
        change = sc.largest([A * (spin - x[0])], change)
        if not self.rolls:
            return w, np.array([*force, spin]), change
        w, roll, change = self._roll(w, force[0], x[1:], given, change)
        return w, np.array([*force, spin, *roll]), change

    def _roll(self, w: Array, normal: Any, x: Array, given: Any, change: Any) -> tuple[Array, Array, Any]:
        z, (u1, u2, limit) = np.array(given[self.roll_z]).reshape(2, -1), given[self.roll]
        u = [moved(a, row, w[self.at]) for a, row in zip((u1, u2), z, strict=True)]
        xx, xy, yy, steep = given[self.roll_A]
        limit = limit * normal
        stick = [x[0] - (xx * u[0] + xy * u[1]), x[1] - (xy * u[0] + yy * u[1])]
        held = stick[0] * stick[0] + stick[1] * stick[1] <= limit * limit
        gain = sc.where(steep > 0.0, 1.0 / (steep + TINY), 0.0)
        slide = [a - gain * b for a, b in zip(x, u, strict=True)]
        part = sc.minimum(1.0, limit / (sc.sqrt(slide[0] * slide[0] + slide[1] * slide[1]) + TINY))
        new = np.array([sc.where(held, a, part * b) for a, b in zip(stick, slide, strict=True)])
        step = new - x
        return self._added(w, z.T @ step), new, sc.largest([steep * y for y in step], change)

    def _added(self, w: Array, more: Array) -> Array:
        w = w.copy()
        w[self.at] = w[self.at] + more
        return w
