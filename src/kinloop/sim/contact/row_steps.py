"""Single rows of the contact solver: what each is given, and the impulse it takes while all others are held.

Letters and equations are those of `solver`: contacts have exact steps for (2) and small ones by (3), joints have exact
steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import TINY, Mobility, smallest
from kinloop.sim.contact.sparse_rows import Part, moved, products, pushed, velocities

JAM = 0.1
"""Where friction presses a contact together about as fast as it slides, its impulse would grow beyond measure: it grows
by no more than ten times the normal impulse in a round."""


@dataclass
class ContactRow:
    """Three rows (normal, two tangents) of a contact: z (3, n) over the joint velocities `at`, free velocity u (3,).

    The normal velocity must not fall below b. `floats` says that the contact can move in all directions, as all of a
    robot with a free base can. `sparse` are parts of z that may be absent, the others never are.
    """

    z: Array
    at: list[int]
    u: Array
    b: Any
    friction: Any
    floats: bool = False
    sparse: tuple[Part, ...] = ()

    def parts(self, absent: Any) -> list[Part]:
        """The parts of z, with these signs that those of `sparse` are absent."""
        some = {k for part in self.sparse for k in part.at}
        always = Part([k for k in range(len(self.at)) if k not in some])
        return [*(part._replace(absent=x) for part, x in zip(self.sparse, absent, strict=True)), always]

    @cached_property
    def A(self) -> Array:
        """z z^T."""
        return products(self.parts([part.absent for part in self.sparse]), self.z)

    @cached_property
    def mobility(self) -> Mobility:
        """How this contact can move."""
        return Mobility.by_block(self.A[:3, :3], self.floats)


@dataclass
class JointRow:
    """One row of a joint: its velocity u stays within [low, high], resisted by an impulse of at most `dry`.

    Where it is `soft`, that holds for u and `soft` times its impulse together, as for a spring with a damper.
    """

    z: Array
    at: list[int]
    u: Any
    low: Any
    high: Any
    dry: Any
    rubs: bool
    soft: Any = 0.0

    @property
    def own(self) -> Any:
        """How its velocity changes with its own impulse."""
        return self.z @ self.z if self.is_stiff else self.z @ self.z + self.soft

    @property
    def is_stiff(self) -> bool:
        return isinstance(self.soft, float) and self.soft == 0.0


class Packer:
    """Values in one vector for a rolled loop, and back; the vector begins with the values `there`."""

    def __init__(self, there: Any = ()) -> None:
        self.values: list[Any] = []
        self._there = list(there)
        self._places = {id(x): k for k, x in enumerate(self._there)}

    def add(self, x: Any) -> slice:
        """Where x is in the vector: among the values that are there already, or behind them."""
        flat = np.asarray(x, dtype=object).ravel()
        start = self._places.get(id(flat[0]), len(self._there)) if len(flat) else 0
        same = self._there[start : start + len(flat)]
        if len(same) < len(flat) or any(a is not b for a, b in zip(flat, same, strict=True)):
            start = len(self._there) + len(self.values)
            self.values += list(flat)
        return slice(start, start + len(flat))


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
        self.absent = pack.add([part.absent for part in row.sparse])

    def friction(self, given: Any) -> Any:
        """The coefficient of friction, a number or one of the given values."""
        return given[self.rough][0] if isinstance(self.row.friction, sc.Symbol) else self.row.friction

    def begin(self, x: Array) -> Array:
        """An impulse to begin with: x without what has no say in the motion."""
        return np.array([sc.where(self.moves.gain > 0.0, x[0], 0.0), *(self.moves.free @ x[1:])])

    def pushed(self, w: Array, x: Array) -> Array:
        """w with the impulse x added."""
        return pushed(self.row.parts([part.absent for part in self.row.sparse]), w, self.row.z, x)

    def energy(self, x: Array) -> Any:
        """What the impulse x does at the free velocity beyond lifting the point as it should be lifted [J]."""
        return x @ self.row.u - x[0] * sc.maximum(self.row.b, 0.0)

    def power(self, x: Array, given: Any) -> Any:
        """What the impulse x does at the free velocity [J]."""
        return x @ np.array(given[self.u])

    def smallest(self, x: Array, given: Any) -> Array:
        """The impulse x as the smallest one in its cone that has the same effect (`Mobility.shared`)."""
        if self.moves.regular is True:
            return x
        f11, f12, f22 = given[self.free]
        a = given[self.gains][0] * np.array(given[self.cross][1:3])
        return smallest(x, self.friction(given), a, np.array([[f11, f12], [f12, f22]]))

    def lift(self, given: Any) -> Any:
        """How fast it is to be lifted [m/s]."""
        return given[self.b][0]

    def relax(self, w: Array, x: Array, given: Any, change: Any) -> tuple[Array, Array, Any]:
        """w, impulse and largest change after solving this contact's rows with all others held."""
        return self._solved(w, x, given, change, self._exact_step)

    def approach(self, w: Array, x: Array, given: Any, change: Any, rests: Any = False) -> tuple[Array, Array, Any]:
        """w, impulse and largest change after a small step (3) of this contact with all others held.

        Where it `rests`, nothing lifts it: it only goes no deeper.
        """
        return self._solved(w, x, given, change, partial(self._small_step, rests=rests))

    def _solved(
        self, w: Array, x: Array, given: Any, change: Any, step: Callable[..., tuple[Array, list[Any]]]
    ) -> tuple[Array, Array, Any]:
        """w, impulse and largest change after a step with all others held."""
        z, parts = np.array(given[self.z]).reshape(-1, len(self.at)), self.row.parts(given[self.absent])
        new, changes = self._stepped(velocities(parts, given[self.u], z, w[self.at]), x, given, step)
        w = w.copy()
        w[self.at] = pushed(parts, w[self.at], z, new - x)
        return w, new, sc.largest(changes, change)

    def _stepped(
        self, u: Array, x: Array, given: Any, step: Callable[..., tuple[Array, list[Any]]]
    ) -> tuple[Array, list[Any]]:
        """The impulse after a step from x, with velocities u there, and how much it changes velocities."""
        return step(u, x, given)

    def _exact_step(self, u: Array, x: Array, given: Any) -> tuple[Array, list[Any]]:
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
        return new, [A_nn * step[0], steep * step[1], steep * step[2]]

    def _small_step(self, u: Array, x: Array, given: Any, rests: Any = False) -> tuple[Array, list[Any]]:
        b, mu, (A_nn, _, _, steep) = given[self.b][0], self.friction(given), given[self.cross]
        b = b if rests is False else sc.where(rests, sc.minimum(b, 0.0), b)
        slip = self._free(u[1:], given)
        far = A_nn + steep
        gain = 1.0 / (far + TINY)
        n = x[0] - gain * (u[0] - b + mu * sc.sqrt(slip @ slip))
        t = x[1:] - gain * slip
        length = sc.sqrt(t @ t)
        inside, apart = length <= mu * n, mu * length <= -n
        on_cone = sc.where(apart, 0.0, (n + mu * length) * (1.0 / (1.0 + mu * mu)))
        pull = sc.where(inside, 1.0, mu * on_cone / (length + TINY))
        moves = sc.where(given[self.gains][0] > 0.0, 1.0, 0.0)
        new = moves * np.array([sc.where(inside, n, on_cone), *(pull * t)])
        return new, [far * y for y in new - x]

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
        A = row.own
        inverse = sc.where(A > 0.0, 1.0 / (A + TINY), 0.0)
        self.z, self.u = pack.add(row.z), pack.add([row.u, A, inverse])
        self.stops = pack.add([row.low * inverse, row.high * inverse, row.dry])
        self.soft = pack.add([] if row.is_stiff else [row.soft])

    def energy(self, x: Any) -> Any:
        """What the impulse x does at the free velocity beyond bringing the joint back from beyond its stops [J]."""
        row = self.row
        return x * (row.u - sc.minimum(sc.maximum(0.0, row.low), row.high))

    def lift(self, given: Any) -> Any:
        """How fast it is to be brought back from beyond its stops [rad/s, m/s]."""
        if not self.row.is_stiff:
            return 0.0
        return given[self.u][1] * sc.maximum(given[self.stops][0], -given[self.stops][1])

    def relax(self, w: Array, x: Any, given: Any, change: Any, rests: Any = False) -> tuple[Array, Any, Any]:
        """w, impulse and largest change after solving this joint's row with all others held.

        Where it `rests`, nothing brings it back from beyond its stops: it only goes no further.
        """
        z, (u, A, inverse) = np.array(given[self.z]), given[self.u]
        low, high, dry = given[self.stops]
        if rests is not False and self.row.is_stiff:
            low, high = sc.where(rests, sc.minimum(low, 0.0), low), sc.where(rests, sc.maximum(high, 0.0), high)
        u = moved(u, z, w[self.at])
        u = u if self.row.is_stiff else u + given[self.soft][0] * x
        still = x - inverse * u  # brings the joint to rest, and the stops are this far from it
        held = sc.usually(sc.minimum(sc.usually(sc.maximum(still, -dry)), dry)) if self.row.rubs else 0.0
        new = sc.usually(sc.minimum(sc.usually(sc.maximum(held, low + still)), high + still))
        w = w.copy()
        w[self.at] = w[self.at] + z * (new - x)
        return w, new, sc.largest([A * (new - x)], change)
