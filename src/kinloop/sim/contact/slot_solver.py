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
from kinloop.sim.contact.acceleration import BEGIN, BEST, TRAIL, Ahead, Turn, trail_of
from kinloop.sim.contact.row_steps import ContactPlan, JointPlan, JointRow, Packer
from kinloop.sim.contact.small_steps import small_steps
from kinloop.sim.contact.solver import MOST, Stops

ROUGH = 1e-5
"""A solution that changes velocities by more than this in its last round [m/s, rad/s] is not one yet. Contacts between
bodies come in patches and stacks, where what a round changes is a small part of what is wrong."""

VAIN = 60.0
"""So many rounds that begin ahead and come no nearer to a solution are left for small steps, which go in no circles."""

MOST_SMALL = 200
"""So many times the usual number of rounds are spent at most with small steps, and again without lifting: with twice as
many a step of G1 in motion, whose slowest row all lanes wait for, took a sixth longer (one run)."""

USUAL = 4
"""Rows that count as operations: as many contacts as a robot with legs mostly has."""


class Slots(NamedTuple):
    """Contacts in slots: tables (slots, m) that together have the numbers of `plan`, the first `count` rows of them.

    `rows` are what is known of contacts, `table` what follows from it, and impulses. `start` (slots, rows) are these
    impulses, to begin with, 3, 4 or 6 for each, `w` = Z^T start, and `energy` is what they do at the free velocity.
    """

    plan: ContactPlan | None
    rows: Array
    table: Array
    count: Any
    start: Array
    w: Array
    energy: Any


class Found(NamedTuple):
    """Impulses of contacts (slots, rows), of joints and of stops, and w = Z^T lambda.

    `residual` is the largest change of a velocity in the last round, `rounds` how many there were; `rests` says that
    nothing is lifted, since not everything could be (`small_steps`).
    """

    contacts: Array
    joints: list[Any]
    stops: list[Any]
    w: Array
    residual: Any
    rounds: Any
    rests: Any


def solve_slots(
    slots: Slots, joints: list[JointRow], begin: Array, stops: Stops | None, rounds: int, active: Any
) -> Found:
    """Impulses of all contacts and joints; those of joints begin with `begin`. None where not `active`.

    One loop with the stops where they are near, one without them elsewhere: a kernel leaves out what nobody needs.
    """
    n, size = slots.start.size + len(joints), len(slots.w)
    carry, braked, taken, jams = [0.0] * (size + n + 1), [], 0.0, False
    if stops is not None:
        sweeps = _Sweeps(slots, joints + stops.rows)
        start = sweeps.begin([0.0] * (size + n + len(stops.rows) + 1), [*begin, *stops.start], stops.near)
        done, taken, jams = sweeps.solve(rounds, start, stops.near)
        carry, braked = [*done[: size + n], done[-1]], list(done[size + n : -1])
        active = sc.logical_and(active, sc.logical_not(stops.near))
    sweeps = _Sweeps(slots, joints)
    carry, more, rests = sweeps.solve(rounds, sweeps.begin(carry, [*begin], active), active)
    x, own = carry[size:-1], slots.start.size
    impulses = _vector(x[:own]).reshape(slots.start.shape)
    rests = sc.logical_or(jams, rests)
    return Found(impulses, list(x[own:]), braked, _vector(carry[:size]), carry[-1], taken + more, rests)


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
        if when is True:
            return [*begin, carry[-1]]
        return [*sc.repeat(1, lambda c, given: given, _vector(carry[:-1]), _vector(begin), when), carry[-1]]

    @property
    def _shared(self) -> list[Any]:
        return [[*self.slots.rows.flat], [*self.slots.table.flat], [*self.pack.values, self.slots.count]]

    def solve(self, rounds: int, carry: list[Any], when: Any) -> tuple[Any, Any, Any]:
        """What rounds lead to from `carry` where `when` holds, how many they were, and whether nothing is lifted."""
        done, taken = self.run(rounds, carry, when)
        done, ahead = self.accelerate(rounds, done, when)
        done, more, rests = self.rescue(rounds, done, when)
        return done, taken + ahead + more, rests

    def run(self, rounds: int, carry: list[Any], when: Any) -> tuple[Any, Any]:
        """`rounds` rounds, fewer where one changes so little that `rounds` of them would change less than `ROUGH`."""

        def sweep(c: Any, given: Any, shared: Any, wants: Any) -> Array:
            return _vector([sc.where(wants, c[0] + 1.0, c[0]), *self._sweep(c[1:], shared, wants)])

        begin = _vector([0.0, *carry])
        end = sc.repeat(
            rounds, sweep, begin, (), when, lambda c: c[-1] <= ROUGH / rounds, rounds, self._shared, chooses=True
        )
        return end[1:], end[0]

    def accelerate(self, rounds: int, carry: Any, when: Any) -> tuple[Any, Any]:
        """What `run` left, or where that is no solution rounds that begin where those before point to (`Ahead`).

        They end where `VAIN` of them in a row do not halve what the best one changed: then they go in circles.
        """
        m, joints, shape = self.size, len(self.joints), self.slots.start.shape
        first = 2 + Ahead.size(m)
        last = first + TRAIL * joints

        def sweep(c: Any, given: Any, shared: Any, wants: Any) -> Array:
            mark, vain, ahead = c[0], c[1], Ahead.read(c[2:], m)
            trail, table = c[first:last].reshape(TRAIL, joints), c[last:].reshape(len(self.slots.start), -1)
            some = sc.where(wants, self._split(shared)[2][-1], 0.0)  # nobody waits for slots of those that are done
            w, x, impulses, change = self._round(ahead.trail[BEGIN], trail[BEGIN], table, shared, some)
            new, turn = ahead.after(w, change)
            gains = new.least < 0.5 * mark
            marks = sc.where(gains, new.least, mark), sc.where(gains, 0.0, vain + 1.0)
            head = _vector([*marks, *new.values(), *turn.moved(trail, x).flat])
            told = (*turn.values(), wants)
            return _vector([*sc.where(wants, head, c[:last]), *self._moved(table, impulses, told, shared).flat])

        def done(c: Any) -> Any:
            return sc.logical_or(Ahead.read(c[2:], m).change <= ROUGH, c[1] >= VAIN)

        w, x, y, change = carry[:m], carry[m : m + self.own], carry[m + self.own : -1], carry[-1]
        begin = [change, 0.0, *Ahead.of(_vector(w), change).values(), *trail_of(_vector(y)).flat]
        begin += trail_of(_vector(x).reshape(shape)).transpose(1, 0, 2).flat
        again = sc.logical_and(when, change > ROUGH)
        end = sc.repeat(MOST * rounds, sweep, _vector(begin), (), again, done, 0, self._shared, chooses=True)
        found, y = Ahead.read(end[2:], m), end[first:last].reshape(TRAIL, joints)[BEST]
        x = end[last:].reshape(shape[0], TRAIL, shape[1])[:, BEST]
        return _vector([*found.trail[BEST], *x.flat, *y, found.least]), found.count

    def _moved(self, table: Array, impulses: Array, told: tuple[Any, ...], shared: Any) -> Array:
        """The trails of all slots, a row each, after a round that led to these impulses and said what is `told`."""

        def one(c: Any, row: Any, said: Any) -> tuple[Any, Any]:
            trail, end = row[: table.shape[1]].reshape(TRAIL, -1), row[table.shape[1] :]
            return [], sc.where(said[-1], Turn.of(said[:-1]).moved(trail, end).ravel(), trail.ravel())

        return sc.scan(one, [], [table, impulses], told, self._split(shared)[2][-1], USUAL, ())[1]

    def rescue(self, rounds: int, carry: Any, when: Any) -> tuple[Any, Any, Any]:
        """What rounds before left, or where that is no solution what small steps find (`small_steps`)."""

        def sweep(carry: Any, given: Any, shared: Any, rests: Any) -> Array:
            return self._sweep(carry, shared, small=True, rests=rests)

        return small_steps(sweep, self._lift, MOST_SMALL * rounds, carry, (), when, ROUGH, self._shared)

    def _split(self, shared: Any) -> tuple[Array, Array, Any]:
        """The two tables, and the values of joints with the number of contacts behind them."""
        ends = np.cumsum([0, self.slots.rows.size, self.slots.table.size])
        tables = shared[: ends[1]], shared[ends[1] : ends[2]]
        rows, table = (x.reshape(len(self.slots.start), -1) for x in tables)
        return rows, table, shared[ends[2] :]

    def _lift(self, given: Any, shared: Any) -> Any:
        """How fast something is to be lifted, at most."""
        plan, (rows, table, given) = self.slots.plan, self._split(shared)
        assert plan is not None, "rows of a table have a plan"

        def one(c: Any, row: Any, shared: Any) -> tuple[Any, Any]:
            return [sc.maximum(c[0], plan.lift(row))], [row[0]]

        (most,), _ = sc.scan(one, [0.0], [rows, table], (), given[-1], USUAL, ())
        for joint in self.joints:
            most = sc.maximum(most, joint.lift(given))
        return most

    def _sweep(self, carry: Any, shared: Any, wants: Any = True, small: bool = False, rests: Any = False) -> Array:
        """`carry` after a round over all joints, then all slots; as it was where not `wants`."""
        n, own, carry = self.size, self.own, _vector(carry)
        table = carry[n : n + own].reshape(self.slots.start.shape)
        count, x = self._split(shared)[2][-1], carry[n + own : -1]
        w, x, impulses, change = self._round(carry[:n], x, table, shared, count, wants, small, rests)
        kept = (sc.where(wants, a, b) for a, b in ((w, carry[:n]), (x, carry[n + own : -1]), (change, carry[-1])))
        w, x, change = kept
        return _vector([*w, *impulses.flat, *x, change])

    def _round(
        self, w: Array, x: Array, table: Array, shared: Any, count: Any,
        wants: Any = True, small: bool = False, rests: Any = False,
    ) -> tuple[Array, Array, Array, Any]:  # fmt: skip
        """w and impulses of joints and slots after a round, and the largest change; tables end with impulses of slots.

        Those of slots are as they were where not `wants`, and nothing that may be read from the slot `count` on.
        """
        rows, known, given = self._split(shared)
        x, change = _vector(x), 0.0
        for k, joint in enumerate(self.joints):
            w, x[k], change = joint.relax(w, x[k], given, change, rests)
        plan, each = self.slots.plan, self.slots.start.shape[1]
        assert plan is not None, "rows of a table have a plan"

        def one(c: Any, row: Any, shared: Any) -> tuple[Any, Any]:
            x = _vector(row[-each:])
            now = _vector(c[:-1]), x, row[:-each], c[-1]
            w, new, change = plan.approach(*now, shared[0]) if small else plan.relax(*now)
            return [*w, change], new if small or not len(shared) else sc.where(shared[0], new, x)

        said = (rests,) if small else () if wants is True else (wants,)
        end, new = sc.scan(one, [*w, change], [rows, known, table], said, count, USUAL, ())
        return _vector(end[:-1]), x, new, end[-1]


def _vector(values: Any) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out
