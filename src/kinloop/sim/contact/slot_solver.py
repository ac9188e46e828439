"""Impulses of contacts that fill a table of slots, one row per contact, and of joints: the solver's sweeps over tables.

The laws, letters and steps are those of `solver`. But which contacts there are is known only while a kernel runs: their
numbers are rows of a table, and one contact's step is written once and done for row after row. A row has the numbers of
a `row_steps.ContactPlan`, which says where in the row they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.row_steps import ContactPlan, JointPlan, JointRow, Packer
from kinloop.sim.contact.solver import MOST, MOST_SMALL, Stops

ROUGH = 1e-5
"""A solution that changes velocities by more than this in its last round [m/s, rad/s] is not one yet. Contacts between
bodies come in patches and stacks, where what a round changes is a small part of what is wrong."""

USUAL = 4
"""Rows that count as operations: as many contacts as a robot with legs mostly has."""


class Slots(NamedTuple):
    """Contacts in slots: a table (slots, m) with the numbers of `plan` and three more, the first `count` rows of it.

    `start` (slots, 3) are impulses to begin with, which these three are, `w` = Z^T start, and `energy` is what they do
    at the free velocity.
    """

    plan: ContactPlan | None
    table: Array
    count: Any
    start: Array
    w: Array
    energy: Any


class Found(NamedTuple):
    """Impulses of contacts (slots, 3), of joints and of stops, w = Z^T lambda, the largest change in the last round."""

    contacts: Array
    joints: list[Any]
    stops: list[Any]
    w: Array
    residual: Any


def solve_slots(
    slots: Slots, joints: list[JointRow], begin: Array, stops: Stops | None, rounds: int, active: Any
) -> Found:
    """Impulses of all contacts and joints; those of joints begin with `begin`. None where not `active`.

    One loop with the stops where they are near, one without them elsewhere: a kernel leaves out what nobody needs.
    """
    n, size = slots.start.size + len(joints), len(slots.w)
    carry, braked = [0.0] * (size + n + 1), []
    if stops is not None:
        sweeps = _Sweeps(slots, joints + stops.rows)
        start = sweeps.begin([0.0] * (size + n + len(stops.rows) + 1), [*begin, *stops.start], stops.near)
        done = sweeps.rescue(rounds, sweeps.run(rounds, start, stops.near), stops.near)
        carry, braked = [*done[: size + n], done[-1]], list(done[size + n : -1])
        active = sc.logical_and(active, sc.logical_not(stops.near))
    sweeps = _Sweeps(slots, joints)
    carry = sweeps.rescue(rounds, sweeps.run(rounds, sweeps.begin(carry, [*begin], active), active), active)
    x, own = carry[size:-1], slots.start.size
    return Found(_vector(x[:own]).reshape(-1, 3), list(x[own:]), braked, _vector(carry[:size]), carry[-1])


class _Sweeps:
    """Rounds over all joints and slots: w, impulses of slots, impulses of joints, and how much velocities changed."""

    def __init__(self, slots: Slots, joints: list[JointRow]) -> None:
        self.slots, self.pack, self.size, self.own = slots, Packer(), len(slots.w), slots.start.size
        self.joints = [JointPlan(row, self.pack) for row in joints]

    def begin(self, carry: list[Any], x: list[Any], when: Any) -> list[Any]:
        """What to carry where `when` holds, `carry` elsewhere; impulses that would create energy are forgotten."""
        w, energy = _vector(self.slots.w), self.slots.energy
        for j, y in zip(self.joints, x, strict=True):
            w[j.at] = w[j.at] + y * j.row.z
            energy = energy + j.energy(y)
        keep = sc.where(energy + 0.5 * (w @ w) <= 0.0, 1.0, 0.0)
        begin = [*(keep * w), *(keep * y for y in (*self.slots.start.flat, *x))]
        return [*sc.repeat(1, lambda c, given: given, _vector(carry[:-1]), _vector(begin), when), carry[-1]]

    @property
    def _given(self) -> Array:
        return _vector([*self.pack.values, self.slots.count])

    def run(self, rounds: int, carry: list[Any], when: Any) -> Any:
        """`rounds` rounds, and up to `MOST` times as many while velocities still change by more than `ROUGH`."""

        def sweep(c: Any, given: Any, table: Any) -> Array:
            return _vector([c[0] + 1.0, *self._sweep(c[1:], given, table)])

        def enough(c: Any) -> Any:
            return sc.logical_and(float(rounds) <= c[0], sc.logical_not(c[-1] > ROUGH))

        begin, table = _vector([0.0, *carry]), self.slots.table.ravel()
        return sc.repeat(MOST * rounds, sweep, begin, self._given, when, enough, rounds, table)[1:]

    def rescue(self, rounds: int, carry: Any, when: Any) -> Any:
        """What `run` left, or where that is no solution what rounds with small steps find from there on."""

        def sweep(c: Any, given: Any, table: Any) -> Array:
            count, before, now, last = c[0], _vector(c[1 : len(carry)]), _vector(c[len(carry) : -1]), c[-1]
            ahead = now + (count / (count + 3.0)) * (now - before)
            new = self._sweep([*ahead, last], given, table, small=True)
            return _vector([sc.where(new[-1] > last, 0.0, count + 1.0), *now, *new])

        begin, table = _vector([0.0, *carry[:-1], *carry]), self.slots.table.ravel()
        again = sc.logical_and(when, carry[-1] > ROUGH)
        end = sc.repeat(MOST_SMALL * rounds, sweep, begin, self._given, again, lambda c: c[-1] <= ROUGH, 0, table)
        return end[len(carry) :]

    def _sweep(self, carry: Any, given: Any, table: Any, small: bool = False) -> Array:
        w, x, change = _vector(carry[: self.size]), list(carry[self.size : -1]), 0.0
        for k, joint in enumerate(self.joints):
            w, x[self.own + k], change = joint.relax(w, x[self.own + k], given, change)
        plan = self.slots.plan
        assert plan is not None, "rows of a table have a plan"
        relax = plan.approach if small else plan.relax

        def one(c: Any, row: Any, shared: Any) -> tuple[Any, Any]:
            w, new, change = relax(_vector(c[:-1]), _vector(row[-3:]), row[:-3], c[-1])
            return [*w, change], new

        tables = [table.reshape(len(self.slots.start), -1), _vector(x[: self.own]).reshape(-1, 3)]
        end, new = sc.scan(one, [*w, change], tables, (), given[-1], USUAL)
        return _vector([*end[:-1], *new.flat, *x[self.own :], end[-1]])


def _vector(values: Any) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out
