"""Impulses of contacts, joint limits and dry friction: a projected Gauss-Seidel method in a rolled loop.

The unknown impulses lambda change the velocities of the rows by A lambda, A = J M^-1 J^T the inverse
operational-space inertia. With M^-1 = L^-T D^-1 L^-1 from the cluster algorithms [Chignoli2023, (57)-(67)]
every row c is a vector z_c = D^-1/2 L^-1 J_c^T over the few joints between it and the world, and

    A = Z Z^T,    w = Z^T lambda,    u = u_free + Z w                                            (1)

so that A is never formed: a sweep over all rows costs twice the entries of Z, and the change of the joint
velocities follows from w. Each contact solves its own three rows: sticking exactly where that lies in its
cone, else on the cone, in the direction of one projected step and with the normal impulse it needs:

    u_n >= b  _|_  lambda_n >= 0,     |lambda_t| <= mu lambda_n,  u_t against lambda_t            (2)

A joint row takes dry friction, then its stops, in one scalar step. docs/decisions/contact.md.
Contacts that cannot move in all directions: `contact_block`.

Such steps jump between sticking and sliding, and their rounds may go in circles. Then others follow, of small steps
that never jump [DeSaxce1998]: with P the projection onto the cone, n the normal and L >= |A_cc|,

    lambda = P(lambda - (u - b n + mu |u_t| n) / L)                                              (3)

has the solutions of (2) and no others. L times what a step changes is the velocity by which (2) is missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.row_steps import ContactPlan, ContactRow, JointPlan, JointRow, Packer
from kinloop.sim.contact.small_steps import MOST_SMALL, small_steps

ROUGH = 1e-4
"""A solution that changes velocities by more than this in its last round [m/s, rad/s] is not one yet."""

MOST = 40
"""So many times the usual number of rounds are spent at most on a state that needs them, before small steps follow."""


@dataclass
class Stops:
    """Rows of joint stops, which count where `near` says that one may be reached, and impulses to begin with."""

    near: Any
    rows: list[JointRow]
    start: Array


class Impulses(NamedTuple):
    """Impulses of contacts (3,) each, of joints and of stops, and w = Z^T lambda.

    `residual` is the largest change of a velocity in the last round [m/s, rad/s], `rounds` how many there were; `rests`
    says that nothing is lifted, since not everything could be (`small_steps`).
    """

    contacts: list[Array]
    joints: list[Any]
    stops: list[Any]
    w: Array
    residual: Any
    rounds: Any = 0.0
    rests: Any = False


def solve_impulses(
    contacts: list[ContactRow], joints: list[JointRow], size: int, rounds: int, start: Array | None = None,
    stops: Stops | None = None, active: Any = True,
) -> Impulses:  # fmt: skip
    """Impulses on `size` joint velocities, beginning with `start`, contacts first; none where not `active`.

    One loop with the stops where they are near, one without them elsewhere: a kernel leaves out what nobody needs.
    """
    n = 3 * len(contacts) + len(joints)
    start = np.zeros(n) if start is None else start
    carry, braked, taken, rests = [0.0] * (size + n + 1), [], 0.0, False
    if stops is not None:
        sweeps = _Sweeps(contacts, joints + stops.rows, size)
        x = np.concatenate([start, stops.start])
        begin = sweeps.begin([0.0] * (size + len(x) + 1), x, stops.near)
        done, taken, rests = sweeps.solve(rounds, begin, stops.near)
        carry, braked = [*done[: size + n], done[-1]], list(done[size + n : -1])
        active = sc.logical_and(active, sc.logical_not(stops.near))
    sweeps = _Sweeps(contacts, joints, size)
    if n:
        carry, more, jams = sweeps.solve(rounds, sweeps.begin(carry, start, active), active)
        taken, rests = taken + more, sc.logical_or(rests, jams)
    x = carry[size:-1]
    each = [np.array(x[k : k + 3]) for k in range(0, 3 * len(contacts), 3)]
    return Impulses(each, list(x[3 * len(contacts) :]), braked, np.array(carry[:size]), carry[-1], taken, rests)


class _Sweeps:
    """Rounds over all rows, in a rolled loop that passes on w, the impulses, and how much velocities changed."""

    def __init__(self, contacts: list[ContactRow], joints: list[JointRow], size: int) -> None:
        self.pack, self.size = Packer(), size
        self.contacts = [ContactPlan(row, self.pack) for row in contacts]
        self.joints = [JointPlan(row, self.pack) for row in joints]

    def begin(self, carry: list[Any], x: Array, when: Any) -> list[Any]:
        """What to carry for impulses x where `when` holds, `carry` elsewhere.

        Impulses that would create energy are forgotten: a contact that was wedged may be free by now, and friction that
        holds it would be found out slowly.
        """
        w: Any = np.zeros(self.size)
        energy: Any = 0.0
        begin: list[Any] = []
        for k, c in enumerate(self.contacts):
            y = c.begin(x[3 * k : 3 * k + 3])
            w, energy, begin = self._added(w, c.at, y @ c.row.z), energy + c.energy(y), [*begin, *y]
        for j, y in zip(self.joints, x[3 * len(self.contacts) :], strict=True):
            w, energy, begin = self._added(w, j.at, y * j.row.z), energy + j.energy(y), [*begin, y]
        keep = sc.where(energy + 0.5 * (w @ w) <= 0.0, 1.0, 0.0)
        begin = [*(keep * w), *(keep * y for y in begin)]
        return [*sc.repeat(1, lambda c, given: given, _as_array(carry[:-1]), _as_array(begin), when), carry[-1]]

    @staticmethod
    def _added(w: Array, at: list[int], more: Array) -> Array:
        """w with `more` added to the entries `at`."""
        out = w.astype(object) if sc.is_symbolic(more) else w.copy()
        out[at] = out[at] + more
        return out

    def solve(self, rounds: int, carry: list[Any], when: Any) -> tuple[Any, Any, Any]:
        """What rounds lead to from `carry` where `when` holds, how many they were, and whether nothing is lifted."""
        done, taken = self.run(rounds, carry, when)
        done, more, rests = self.rescue(rounds, done, when)
        return done, taken + more, rests

    def run(self, rounds: int, carry: list[Any], when: Any = True) -> tuple[Array, Any]:
        """`rounds` rounds, and up to `MOST` times as many while velocities still change by more than `ROUGH`."""

        def sweep(c: Any, given: Any) -> Array:
            return _as_array([c[0] + 1.0, *self._sweep(c[1:], given)])

        def enough(c: Any) -> Any:
            return sc.logical_and(float(rounds) <= c[0], sc.logical_not(c[-1] > ROUGH))

        begin, given = _as_array([0.0, *carry]), _as_array(self.pack.values)
        end: Array = sc.repeat(MOST * rounds, sweep, begin, given, when, enough, usual=rounds)
        return end[1:], end[0]

    def rescue(self, rounds: int, carry: Array, when: Any) -> tuple[Array, Any, Any]:
        """What `run` left, or where that is no solution what small steps find from there on (`small_steps`)."""
        if not self.contacts and len(self.joints) < 2:
            return carry, 0.0, False

        def sweep(carry: Any, given: Any, rests: Any) -> Any:
            return self._sweep(carry, given, True, rests)

        def fastest(given: Any) -> Any:
            most: Any = 0.0
            for lift in (*(c.lift for c in self.contacts), *(j.lift for j in self.joints)):
                most = sc.maximum(most, lift(given))
            return most

        return small_steps(sweep, fastest, MOST_SMALL * rounds, carry, _as_array(self.pack.values), when, ROUGH)

    def _sweep(self, carry: Any, given: Any, small: bool = False, rests: Any = False) -> Any:
        first = 3 * len(self.contacts)
        w, x = np.array(carry[: self.size]), list(carry[self.size : -1])
        change: Any = 0.0
        for k, joint in enumerate(self.joints):
            w, x[first + k], change = joint.relax(w, x[first + k], given, change, rests)
        for k, plan in enumerate(self.contacts):
            now = w, np.array(x[3 * k : 3 * k + 3]), given, change
            w, new, change = plan.approach(*now, rests) if small else plan.relax(*now)
            x[3 * k : 3 * k + 3] = list(new)
        return _as_array([*w, *x, change])


def _as_array(values: list[Any]) -> Array:
    symbolic = any(isinstance(x, sc.Symbol) for x in values)
    return np.array(values, dtype=object if symbolic else float)


def shared(rows: list[ContactRow], impulses: list[Array]) -> list[Array]:
    """The impulses of all contacts, each the smallest in its cone that has the same effect."""
    dictated: Any = False
    for row in rows:
        dictated = sc.logical_or(dictated, sc.logical_not(row.mobility.regular))
    if not rows or dictated is False:
        return impulses
    smallest = [row.mobility.shared(x, row.friction) for row, x in zip(rows, impulses, strict=True)]
    new, old = (_as_array([*np.concatenate(x)]) for x in (smallest, impulses))
    found = sc.repeat(1, lambda c, given: given, old, new, dictated, usual=0)
    return [np.array(found[k : k + 3]) for k in range(0, 3 * len(rows), 3)]
