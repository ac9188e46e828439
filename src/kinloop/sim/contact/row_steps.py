"""Single rows of the contact solver: what each is given, and the impulse it takes while all others are held.

Letters and equations are those of `solver`: contacts have exact steps for (2) and small ones by (3), joints have exact
steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import TINY, Mobility

JAM = 0.1
"""Where friction presses a contact together about as fast as it slides, its impulse would grow beyond measure: it grows
by no more than ten times the normal impulse in a round."""


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
    friction: Any
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


class Packer:
    """Values in one vector for a rolled loop, and back."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, x: Any) -> slice:
        flat = np.asarray(x, dtype=object).ravel()
        start = len(self.values)
        self.values += list(flat)
        return slice(start, len(self.values))


def moved(u: Any, z: Any, w: Any) -> Any:
    """u + z w, as two sums side by side that end with the joints next to the world.

    Those joints are moved by every row, so rows wait for each other there.
    """
    sums = [u, 0.0]
    for k, (a, b) in enumerate(zip(z[::-1], w[::-1], strict=True)):
        sums[k % 2] = sums[k % 2] + a * b
    return sums[0] + sums[1]


class ContactPlan:
    """Where one contact's numbers lie among the given values, and its step."""

    def __init__(self, row: ContactRow, pack: Packer) -> None:
        self.row, self.at, self.moves = row, row.at, row.mobility
        A, B, free = self.moves.A, self.moves.inverse, self.moves.free
        self.z, self.u, self.b = pack.add(row.z), pack.add(row.u), pack.add(self.moves.lift(row.b))
        self.inverse = pack.add([B[0, 0], B[0, 1], B[0, 2], B[1, 1], B[1, 2], B[2, 2]])
        self.gains = pack.add([self.moves.gain, 1.0 / (self.moves.steep + TINY)])
        self.free = pack.add([] if self.moves.regular is True else [free[0, 0], free[0, 1], free[1, 1]])
        self.cross = pack.add([A[0, 0], A[1, 0], A[2, 0], self.moves.steep])
        self.rough = pack.add([row.friction] if isinstance(row.friction, sc.Symbol) else [])

    def friction(self, given: Any) -> Any:
        """The coefficient of friction, a number or one of the given values."""
        return given[self.rough][0] if isinstance(self.row.friction, sc.Symbol) else self.row.friction

    def begin(self, x: Array) -> Array:
        """An impulse to begin with: x without what has no say in the motion."""
        return np.array([sc.where(self.moves.gain > 0.0, x[0], 0.0), *(self.moves.free @ x[1:])])

    def energy(self, x: Array) -> Any:
        """What the impulse x does at the free velocity beyond lifting the point as it should be lifted [J]."""
        return x @ self.row.u - x[0] * sc.maximum(self.row.b, 0.0)

    def power(self, x: Array, given: Any) -> Any:
        """What the impulse x does at the free velocity [J]."""
        return x @ np.array(given[self.u])

    def relax(self, w: Array, x: Array, given: Any, change: Any) -> tuple[Array, Array, Any]:
        """w, impulse and largest change after solving this contact's rows with all others held."""
        z = np.array(given[self.z]).reshape(3, len(self.at))
        u = np.array([moved(a, row, w[self.at]) for a, row in zip(given[self.u], z, strict=True)])
        b, mu = given[self.b][0], self.friction(given)
        xx, xy, xz, yy, yz, zz = given[self.inverse]
        gain_n, gain_t = given[self.gains]
        A_nn, A_1n, A_2n, steep = given[self.cross]
        e = u[0] - b
        stick = x - np.array(
            [xx * e + xy * u[1] + xz * u[2], xy * e + yy * u[1] + yz * u[2], xz * e + yz * u[1] + zz * u[2]]
        )
        limit = mu * stick[0]
        inside = sc.logical_and(stick[0] >= 0.0, stick[1] * stick[1] + stick[2] * stick[2] <= limit * limit)
        n = sc.maximum(0.0, x[0] - gain_n * e)
        slip = self._free([u[k] + a * (n - x[0]) for k, a in ((1, A_1n), (2, A_2n))], given)
        t = [x[1] - gain_t * slip[0], x[2] - gain_t * slip[1]]
        limit = mu * n
        length = sc.sqrt(t[0] * t[0] + t[1] * t[1])
        grips = length <= limit
        # on the cone in the direction found, with the normal impulse that this direction needs; for t of length 1
        needs, least = A_nn * length + mu * (A_1n * t[0] + A_2n * t[1]), JAM * A_nn * length
        short = b - (u[0] - (A_nn * x[0] + A_1n * x[1] + A_2n * x[2]))
        # where that would be too much at once, a part of the way there from the impulse that it has
        jams = needs < least
        short = sc.where(jams, length * short + x[0] * (least - needs), short)
        on_cone = sc.maximum(0.0, short) / (sc.where(jams, length * least, needs) + TINY)
        pull = mu * on_cone
        slide = [
            sc.where(grips, n, length * on_cone), sc.where(grips, t[0], pull * t[0]), sc.where(grips, t[1], pull * t[1])
        ]  # fmt: skip
        new = np.array([sc.usually(sc.where(inside, a, c)) for a, c in zip(stick, slide, strict=True)])
        step = new - x
        w = w.copy()
        w[self.at] = w[self.at] + z.T @ step
        change = sc.largest([A_nn * step[0], steep * step[1], steep * step[2]], change)
        return w, new, change

    def approach(self, w: Array, x: Array, given: Any, change: Any) -> tuple[Array, Array, Any]:
        """w, impulse and largest change after a small step (3) of this contact with all others held."""
        mu = self.friction(given)
        z, (A_nn, _, _, steep) = np.array(given[self.z]).reshape(3, len(self.at)), given[self.cross]
        u = np.array([moved(a, row, w[self.at]) for a, row in zip(given[self.u], z, strict=True)])
        slip = self._free(u[1:], given)
        far = A_nn + steep
        gain = 1.0 / (far + TINY)
        n = x[0] - gain * (u[0] - given[self.b][0] + mu * sc.sqrt(slip @ slip))
        t = x[1:] - gain * slip
        length = sc.sqrt(t @ t)
        inside, apart = length <= mu * n, mu * length <= -n
        on_cone = sc.where(apart, 0.0, (n + mu * length) * (1.0 / (1.0 + mu * mu)))
        pull = sc.where(inside, 1.0, mu * on_cone / (length + TINY))
        moves = sc.where(given[self.gains][0] > 0.0, 1.0, 0.0)
        step = moves * np.array([sc.where(inside, n, on_cone), *(pull * t)]) - x
        w = w.copy()
        w[self.at] = w[self.at] + z.T @ step
        return w, x + step, sc.largest([far * y for y in step], change)

    def _free(self, slip: Any, given: Any) -> Any:
        """The part of a slip in which friction has a say."""
        if self.moves.regular is True:
            return slip
        f11, f12, f22 = given[self.free]
        return np.array([f11 * slip[0] + f12 * slip[1], f12 * slip[0] + f22 * slip[1]])


class JointPlan:
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
        still = x - inverse * moved(u, z, w[self.at])  # brings the joint to rest, and the stops are this far from it
        held = sc.usually(sc.minimum(sc.usually(sc.maximum(still, -dry)), dry)) if self.row.rubs else 0.0
        new = sc.usually(sc.minimum(sc.usually(sc.maximum(held, low + still)), high + still))
        w = w.copy()
        w[self.at] = w[self.at] + z * (new - x)
        return w, new, sc.largest([A * (new - x)], change)
