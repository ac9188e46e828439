"""Impulses of contacts that fill a table of slots, one row per contact, and of joints: the solver's sweeps over tables.

The laws, letters and steps are those of `solver`. But which contacts there are is known only while a kernel runs: their
numbers are rows of a table, and one contact's step is written once and done for row after row. A row has the numbers of
a `row_steps.ContactPlan`, which says where in the row they are. Patches and stacks are found slowly by rounds alone:
where a few do not do, others begin ahead of them (`acceleration`), and then come those with small steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.acceleration import Ahead
from kinloop.sim.contact.row_steps import ContactPlan, JointPlan, JointRow, Packer
from kinloop.sim.contact.solver import MOST, MOST_SMALL, Stops

ROUGH = 1e-5
"""A solution that changes velocities by more than this in its last round [m/s, rad/s] is not one yet. Contacts between
bodies come in patches and stacks, where what a round changes is a small part of what is wrong."""

USUAL = 4
"""Rows that count as operations: as many contacts as a robot with legs mostly has."""


class Slots(NamedTuple):
    """Contacts in slots: a table (slots, m) with the numbers of `plan` and impulses, the first `count` rows of it.

    `start` (slots, rows) are these impulses, to begin with, 3, 4 or 6 for each, `w` = Z^T start, and `energy` is what
    they do at the free velocity.
    """

    plan: ContactPlan | None
    table: Array
    count: Any
    start: Array
    w: Array
    energy: Any


class Found(NamedTuple):
    """Impulses of contacts (slots, rows), of joints and of stops, and w = Z^T lambda.

    `residual` is the largest change of a velocity in the last round, `rounds` how many there were.
    """

    contacts: Array
    joints: list[Any]
    stops: list[Any]
    w: Array
    residual: Any
    rounds: Any


def solve_slots(
    slots: Slots, joints: list[JointRow], begin: Array, stops: Stops | None, rounds: int, active: Any
) -> Found:
    """Impulses of all contacts and joints; those of joints begin with `begin`. None where not `active`.

    One loop with the stops where they are near, one without them elsewhere: a kernel leaves out what nobody needs.
    """
    n, size = slots.start.size + len(joints), len(slots.w)
    carry, braked, taken = [0.0] * (size + n + 1), [], 0.0
    if stops is not None:
        sweeps = _Sweeps(slots, joints + stops.rows)
        start = sweeps.begin([0.0] * (size + n + len(stops.rows) + 1), [*begin, *stops.start], stops.near)
        done, taken = sweeps.solve(rounds, start, stops.near)
        carry, braked = [*done[: size + n], done[-1]], list(done[size + n : -1])
        active = sc.logical_and(active, sc.logical_not(stops.near))
    sweeps = _Sweeps(slots, joints)
    carry, more = sweeps.solve(rounds, sweeps.begin(carry, [*begin], active), active)
    x, own = carry[size:-1], slots.start.size
    impulses = _vector(x[:own]).reshape(slots.start.shape)
    return Found(impulses, list(x[own:]), braked, _vector(carry[:size]), carry[-1], taken + more)


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

    def solve(self, rounds: int, carry: list[Any], when: Any) -> tuple[Any, Any]:
        """What rounds lead to from `carry` where `when` holds, and how many they were."""
        done, taken = self.run(rounds, carry, when)
        done, ahead = self.accelerate(rounds, done, when)
        done, more = self.rescue(rounds, done, when)
        return done, taken + ahead + more

    def run(self, rounds: int, carry: list[Any], when: Any) -> tuple[Any, Any]:
        """`rounds` rounds, fewer where one changes so little that `rounds` of them would change less than `ROUGH`."""

        def sweep(c: Any, given: Any, table: Any) -> Array:
            return _vector([c[0] + 1.0, *self._sweep(c[1:], given, table)])

        begin, table = _vector([0.0, *carry]), self.slots.table.ravel()
        end = sc.repeat(rounds, sweep, begin, self._given, when, lambda c: c[-1] <= ROUGH / rounds, rounds, table)
        return end[1:], end[0]

    def accelerate(self, rounds: int, carry: Any, when: Any) -> tuple[Any, Any]:
        """What `run` left, or where that is no solution rounds that begin where those before point to (`Ahead`)."""
        n, m = len(carry) - 1, self.size

        def sweep(c: Any, given: Any, table: Any) -> Array:
            ahead = Ahead.read(c, n, m)
            end = self._sweep([*ahead.begin, ahead.change], given, table)
            return ahead.after(_vector(end[:-1]), end[-1]).values()

        begin, table = Ahead.of(_vector(carry[:-1]), carry[-1], m).values(), self.slots.table.ravel()
        again = sc.logical_and(when, carry[-1] > ROUGH)
        end = sc.repeat(MOST * rounds, sweep, begin, self._given, again, lambda c: c[-1] <= ROUGH, 0, table)
        found = Ahead.read(end, n, m)
        return _vector([*found.best, found.least]), found.count

    def rescue(self, rounds: int, carry: Any, when: Any) -> tuple[Any, Any]:
        """What `run` left, or where that is no solution what rounds with small steps find from there on."""

        def sweep(c: Any, given: Any, table: Any) -> Array:
            count, before, now, last = c[1], _vector(c[2 : size + 2]), _vector(c[size + 2 : -1]), c[-1]
            ahead = now + (count / (count + 3.0)) * (now - before)
            new = self._sweep([*ahead, last], given, table, small=True)
            return _vector([c[0] + 1.0, sc.where(new[-1] > last, 0.0, count + 1.0), *now, *new])

        size = len(carry) - 1
        begin, table = _vector([0.0, 0.0, *carry[:-1], *carry]), self.slots.table.ravel()
        again = sc.logical_and(when, carry[-1] > ROUGH)
        end = sc.repeat(MOST_SMALL * rounds, sweep, begin, self._given, again, lambda c: c[-1] <= ROUGH, 0, table)
        return end[size + 2 :], end[0]

    def _sweep(self, carry: Any, given: Any, table: Any, small: bool = False) -> Array:
        w, x, change = _vector(carry[: self.size]), list(carry[self.size : -1]), 0.0
        for k, joint in enumerate(self.joints):
            w, x[self.own + k], change = joint.relax(w, x[self.own + k], given, change)
        plan = self.slots.plan
        assert plan is not None, "rows of a table have a plan"
        relax, each = plan.approach if small else plan.relax, self.slots.start.shape[1]

        def one(c: Any, row: Any, shared: Any) -> tuple[Any, Any]:
            w, new, change = relax(_vector(c[:-1]), _vector(row[-each:]), row[:-each], c[-1])
            return [*w, change], new

        tables = [table.reshape(len(self.slots.start), -1), _vector(x[: self.own]).reshape(self.slots.start.shape)]
        end, new = sc.scan(one, [*w, change], tables, (), given[-1], USUAL)
        return _vector([*end[:-1], *new.flat, *x[self.own :], end[-1]])


def _vector(values: Any) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out
