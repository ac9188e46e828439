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
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import TINY, Mobility

JAM = 0.1
"""Where friction would press a contact together faster than it slides, no more than ten times the normal impulse."""

ROUGH = 1e-4
"""A solution that changes velocities by more than this in its last round [m/s, rad/s] is not one yet."""

MOST = 40
"""So many times the usual number of rounds are spent at most on a state that needs them."""


@dataclass
class ContactRow:
    """Three rows (normal, two tangents) of a contact: z (3, n) over the joint velocities `at`, free velocity u (3,).

    The normal velocity must not fall below b. `floats` says that the contact can move in all directions, as all of a
    robot with a free base can.
    """

    z: Array
    at: list[int]
    u: Array
    b: Any
    friction: float
    floats: bool = False

    @cached_property
    def mobility(self) -> Mobility:
        """How this contact can move."""
        return Mobility.of(self.z, self.floats)


@dataclass
class JointRow:
    """One row of a joint: its velocity u stays within [low, high], resisted by an impulse of at most `dry`."""

    z: Array
    at: list[int]
    u: Any
    low: Any
    high: Any
    dry: Any
    rubs: bool


@dataclass
class Stops:
    """Rows of joint stops, which count where `near` says that one may be reached, and impulses to begin with."""

    near: Any
    rows: list[JointRow]
    start: Array


class Packer:
    """Values in one vector for a rolled loop, and back."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, x: Any) -> slice:
        flat = np.asarray(x, dtype=object).ravel()
        start = len(self.values)
        self.values += list(flat)
        return slice(start, len(self.values))


class Impulses(NamedTuple):
    """Impulses of contacts (3,) each, of joints and of stops, and w = Z^T lambda.

    `residual` is the largest change of a velocity in the last round [m/s, rad/s].
    """

    contacts: list[Array]
    joints: list[Any]
    stops: list[Any]
    w: Array
    residual: Any


def solve_impulses(
    contacts: list[ContactRow], joints: list[JointRow], size: int, rounds: int, start: Array | None = None,
    stops: Stops | None = None, active: Any = True,
) -> Impulses:  # fmt: skip
    """Impulses on `size` joint velocities, beginning with `start`, contacts first; none where not `active`.

    One loop with the stops where they are near, one without them elsewhere: a kernel leaves out what nobody needs.
    """
    n = 3 * len(contacts) + len(joints)
    start = np.zeros(n) if start is None else start
    carry, braked = [0.0] * (size + n + 1), []
    if stops is not None:
        sweeps = _Sweeps(contacts, joints + stops.rows, size)
        x = np.concatenate([start, stops.start])
        done = sweeps.run(rounds, sweeps.begin([0.0] * (size + len(x) + 1), x, stops.near), stops.near)
        carry, braked = [*done[: size + n], done[-1]], list(done[size + n : -1])
        active = sc.logical_and(active, sc.logical_not(stops.near))
    sweeps = _Sweeps(contacts, joints, size)
    if n:
        carry = sweeps.run(rounds, sweeps.begin(carry, start, active), active)
    x = carry[size:-1]
    each = [np.array(x[k : k + 3]) for k in range(0, 3 * len(contacts), 3)]
    return Impulses(each, list(x[3 * len(contacts) :]), braked, np.array(carry[:size]), carry[-1])


class _Sweeps:
    """Rounds over all rows, in a rolled loop that passes on w, the impulses, and how much velocities changed."""

    def __init__(self, contacts: list[ContactRow], joints: list[JointRow], size: int) -> None:
        self.pack, self.size = Packer(), size
        self.contacts = [_ContactPlan(row, self.pack) for row in contacts]
        self.joints = [_JointPlan(row, self.pack) for row in joints]

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

    def run(self, rounds: int, carry: list[Any], when: Any = True) -> Array:
        """`rounds` rounds, and up to `MOST` times as many while velocities still change by more than `ROUGH`."""

        def sweep(c: Any, given: Any) -> Array:
            return _as_array([c[0] + 1.0, *self._sweep(c[1:], given)])

        def enough(c: Any) -> Any:
            return sc.logical_and(float(rounds) <= c[0], sc.logical_not(c[-1] > ROUGH))

        begin, given = _as_array([0.0, *carry]), _as_array(self.pack.values)
        end: Array = sc.repeat(MOST * rounds, sweep, begin, given, when, enough, usual=rounds)
        return end[1:]

    def _sweep(self, carry: Any, given: Any) -> Any:
        first = 3 * len(self.contacts)
        w, x = np.array(carry[: self.size]), list(carry[self.size : -1])
        change: Any = 0.0
        for k, joint in enumerate(self.joints):
            w, x[first + k], change = joint.relax(w, x[first + k], given, change)
        for k, plan in enumerate(self.contacts):
            w, new, change = plan.relax(w, np.array(x[3 * k : 3 * k + 3]), given, change)
            x[3 * k : 3 * k + 3] = list(new)
        return _as_array([*w, *x, change])


def _moved(u: Any, z: Any, w: Any) -> Any:
    """u + z w, as two sums side by side that end with the joints next to the world.

    Those joints are moved by every row, so rows wait for each other there.
    """
    sums = [u, 0.0]
    for k, (a, b) in enumerate(zip(z[::-1], w[::-1], strict=True)):
        sums[k % 2] = sums[k % 2] + a * b
    return sums[0] + sums[1]


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


class _ContactPlan:
    """Where one contact's numbers lie among the given values, and its step."""

    def __init__(self, row: ContactRow, pack: Packer) -> None:
        self.row, self.at, self.mu, self.moves = row, row.at, row.friction, row.mobility
        A, B, free = self.moves.A, self.moves.inverse, self.moves.free
        self.z, self.u, self.b = pack.add(row.z), pack.add(row.u), pack.add(self.moves.lift(row.b))
        self.inverse = pack.add([B[0, 0], B[0, 1], B[0, 2], B[1, 1], B[1, 2], B[2, 2]])
        self.gains = pack.add([self.moves.gain, 1.0 / (self.moves.steep + TINY)])
        self.free = pack.add([] if self.moves.regular is True else [free[0, 0], free[0, 1], free[1, 1]])
        self.cross = pack.add([A[0, 0], A[1, 0], A[2, 0], self.moves.steep])

    def begin(self, x: Array) -> Array:
        """An impulse to begin with: x without what has no say in the motion."""
        return np.array([sc.where(self.moves.gain > 0.0, x[0], 0.0), *(self.moves.free @ x[1:])])

    def energy(self, x: Array) -> Any:
        """What the impulse x does at the free velocity beyond lifting the point as it should be lifted [J]."""
        return x @ self.row.u - x[0] * sc.maximum(self.row.b, 0.0)

    def relax(self, w: Array, x: Array, given: Any, change: Any) -> tuple[Array, Array, Any]:
        """w, impulse and largest change after solving this contact's rows with all others held."""
        z = np.array(given[self.z]).reshape(3, len(self.at))
        u = np.array([_moved(a, row, w[self.at]) for a, row in zip(given[self.u], z, strict=True)])
        b = given[self.b][0]
        xx, xy, xz, yy, yz, zz = given[self.inverse]
        gain_n, gain_t = given[self.gains]
        A_nn, A_1n, A_2n, steep = given[self.cross]
        e = u[0] - b
        stick = x - np.array(
            [xx * e + xy * u[1] + xz * u[2], xy * e + yy * u[1] + yz * u[2], xz * e + yz * u[1] + zz * u[2]]
        )
        limit = self.mu * stick[0]
        inside = sc.logical_and(stick[0] >= 0.0, stick[1] * stick[1] + stick[2] * stick[2] <= limit * limit)
        n = sc.maximum(0.0, x[0] - gain_n * e)
        slip = [u[k] + a * (n - x[0]) for k, a in ((1, A_1n), (2, A_2n))]
        if self.moves.regular is not True:
            f11, f12, f22 = given[self.free]
            slip = [f11 * slip[0] + f12 * slip[1], f12 * slip[0] + f22 * slip[1]]
        t = [x[1] - gain_t * slip[0], x[2] - gain_t * slip[1]]
        limit = self.mu * n
        length = sc.sqrt(t[0] * t[0] + t[1] * t[1])
        grips = length <= limit
        # on the cone in the direction found, with the normal impulse that this direction needs; for t of length 1
        needs = sc.maximum(A_nn * length + self.mu * (A_1n * t[0] + A_2n * t[1]), JAM * A_nn * length)
        alone = u[0] - (A_nn * x[0] + A_1n * x[1] + A_2n * x[2])
        on_cone = sc.maximum(0.0, b - alone) / (needs + TINY)
        pull = self.mu * on_cone
        slide = [
            sc.where(grips, n, length * on_cone), sc.where(grips, t[0], pull * t[0]), sc.where(grips, t[1], pull * t[1])
        ]  # fmt: skip
        new = np.array([sc.where(inside, a, c) for a, c in zip(stick, slide, strict=True)])
        step = new - x
        w = w.copy()
        w[self.at] = w[self.at] + z.T @ step
        change = sc.largest([A_nn * step[0], steep * step[1], steep * step[2]], change)
        return w, new, change


class _JointPlan:
    """Where one joint row's numbers lie among the given values, and its step."""

    def __init__(self, row: JointRow, pack: Packer) -> None:
        self.row, self.at = row, row.at
        A = row.z @ row.z
        inverse = sc.where(A > 0.0, 1.0 / (A + TINY), 0.0)
        self.z, self.u = pack.add(row.z), pack.add([row.u, A, inverse])
        self.stops = pack.add([row.low * inverse, row.high * inverse, row.dry])

    def energy(self, x: Any) -> Any:
        """What the impulse x does at the free velocity beyond bringing the joint back from beyond its stops [J]."""
        row = self.row
        return x * (row.u - sc.minimum(sc.maximum(0.0, row.low), row.high))

    def relax(self, w: Array, x: Any, given: Any, change: Any) -> tuple[Array, Any, Any]:
        """w, impulse and largest change after solving this joint's row with all others held."""
        z, (u, A, inverse) = np.array(given[self.z]), given[self.u]
        low, high, dry = given[self.stops]
        still = x - inverse * _moved(u, z, w[self.at])  # brings the joint to rest, and the stops are this far from it
        new = sc.minimum(sc.maximum(still, -dry), dry) if self.row.rubs else 0.0
        new = sc.minimum(sc.maximum(new, low + still), high + still)
        w = w.copy()
        w[self.at] = w[self.at] + z * (new - x)
        return w, new, sc.largest([A * (new - x)], change)
