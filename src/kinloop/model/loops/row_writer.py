"""The rows that hold two loop frames together, written one by one: what joint types and loop kinds compose.

A loop is written with a few kinds of rows on two loop frames, P on the predecessor and S on the
successor, d the vector from P to S, everything in the axes of their nearest common ancestor:

    point          d = 0                            three rows
    along(n)       n_P . d = 0                      no shift in direction n, fixed in P
    square(a, b)   a_P . b_S = 0                    two directions stay perpendicular
    screw(n, h)    n_P . d = h * angle about n, in whichever turn
    distance(L)    (d . d - L^2) / (2 L) = 0

A row of `square` is zero also where the successor stands the other way round; `face` tells the two apart.
`parallel` and `aligned` are squares that leave one turn and none. K is the derivative of phi where the loop
is closed. Derivation: docs/algorithms/constraints.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.model.joints import perpendicular
from kinloop.model.loops.chain_motion import ChainEnd, Column
from kinloop.model.loops.loop_rows import LoopRows
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross

Direction = Sequence[float] | Array

AT_THE_POLE = 1e-30
"""Squared size of `square` rows below which the successor counts as exactly back to front: any way home will do."""


_NOTHING, _AXES = np.zeros(3), np.eye(3)


class RowUnit(Enum):
    """What a row measures: a shift [m] or a turn [rad]."""

    SHIFT = "m"
    TURN = "rad"


class RowWriter:
    """Both ends of a loop, and the rows written so far."""

    def __init__(self, P: ChainEnd, S: ChainEnd, frame_P: Transform, frame_S: Transform) -> None:
        self.P, self.S = P, S
        self.R_P, self.R_S = P.T.R @ frame_P.R, S.T.R @ frame_S.R
        self.p_P, self.v_P, self.a_P = P.point(frame_P.p)
        self.p_S, self.v_S, self.a_S = S.point(frame_S.p)
        self.d = self.p_S - self.p_P
        self.phi: list[Any] = []
        self.K: list[list[Any]] = []
        self.k: list[Any] = []
        self.wrench: list[tuple[Array, Array]] = []
        """Moment and force at the successor's point, of every row."""
        self.units: list[RowUnit] = []

    @staticmethod
    def at_rest() -> RowWriter:
        """A writer on two frames that coincide and on which nothing moves: it tells which rows a kind writes."""
        return RowWriter(ChainEnd.at_rest(), ChainEnd.at_rest(), Transform.identity(), Transform.identity())

    def _ends(self) -> list[tuple[float, Column, Array]]:
        """Sign, column and point of action for every coordinate on either path."""
        return [(-1.0, c, self.p_P) for c in self.P.columns] + [(1.0, c, self.p_S) for c in self.S.columns]

    def _add(self, unit: RowUnit, phi: Any, K: list[Any], k: Any, moment: Array, force: Array) -> None:
        """One row; `moment` and `force` at the successor's point are what a unit multiplier does to it."""
        self.units.append(unit)
        self.phi.append(phi)
        self.K.append(K)
        self.k.append(k)
        self.wrench.append((moment, force))

    def point(self) -> None:
        """d = 0: the origins of the two frames coincide."""
        moves = [sign * (c.u + cross(c.w, at - c.origin)) for sign, c, at in self._ends()]
        bias = self.a_P - self.a_S
        for x in range(3):
            self._add(RowUnit.SHIFT, self.d[x], [m[x] for m in moves], bias[x], _NOTHING, _AXES[x])

    def along(self, n: Direction) -> None:
        """n_P . d = 0: no shift in the direction n of P."""
        n = self.R_P @ np.asarray(n)
        self._add(RowUnit.SHIFT, *self._shift(n), _NOTHING, n)

    def _shift(self, n: Array) -> tuple[Any, list[Any], Any]:
        """phi, K and k of n . d, where n turns with P."""
        turn, lever = cross(self.P.w, n), cross(n, self.d)
        K = [
            sign * (n @ (c.u + cross(c.w, at - c.origin))) + (c.w @ lever if sign < 0 else 0.0)
            for sign, c, at in self._ends()
        ]
        k = n @ (self.a_P - self.a_S) - 2.0 * (turn @ (self.v_S - self.v_P))
        k = k - (cross(self.P.w, turn) + cross(self.P.alpha, n)) @ self.d
        return n @ self.d, K, k

    def screw(self, axis: Direction, pitch: float) -> None:
        """n_P . d = pitch [m/rad] times the angle about n, the axis; in whichever turn."""
        t1, _ = perpendicular(axis)
        n = self.R_P @ np.asarray(axis)
        phi, K, k = self._shift(n)
        a, b = self.R_P @ t1, self.R_S @ t1
        if pitch != 0:
            # the angle is known up to whole turns, and so is the advance: compare them on the circle
            sine, cosine = n @ cross(a, b), a @ b
            s, c = sc.sin(phi / pitch), sc.cos(phi / pitch)
            phi = -pitch * sc.atan2(sine * c - cosine * s, cosine * c + sine * s)
        K = [x - pitch * sign * (n @ c.w) for x, (sign, c, _) in zip(K, self._ends(), strict=True)]
        spin = (self.S.alpha - self.P.alpha) @ n + (self.S.w - self.P.w) @ cross(self.P.w, n)
        self._add(RowUnit.SHIFT, phi, K, k + pitch * spin, -pitch * n, n)

    def square(self, a: Direction, b: Direction) -> None:
        """a_P . b_S = 0: the direction a of P and the direction b of S are perpendicular."""
        a, b = self.R_P @ np.asarray(a), self.R_S @ np.asarray(b)
        normal = cross(b, a)
        turn_a, turn_b = cross(self.P.w, a), cross(self.S.w, b)
        k = (self.P.alpha - self.S.alpha) @ normal - 2.0 * (turn_a @ turn_b)
        k = k - cross(self.P.w, turn_a) @ b - a @ cross(self.S.w, turn_b)
        phi = a @ b
        K = [sign * (c.w @ normal) for sign, c, _ in self._ends()]
        self._add(RowUnit.TURN, phi, K, k, normal, _NOTHING)

    def face(self, a: Direction, count: int) -> None:
        """Count the last rows of `square` from the side on which direction a of S points along that of P.

        Behind the equator phi goes on growing, from 1 to 2 at the far pole, and the rows change sign so
        that a step against phi leads back over it. Nothing changes where the loop is closed, or nearly.
        """
        away = (self.R_P @ np.asarray(a)) @ (self.R_S @ np.asarray(a)) < 0.0
        if away is False or away is np.False_:
            return
        e = self.phi[-count:]
        squared = sum((x * x for x in e), start=0.0)
        pole = squared <= AT_THE_POLE
        size = sc.sqrt(sc.where(pole, 1.0, squared))
        beyond = [sc.where(pole, 2.0 if x is e[0] else 0.0, x / size * (2.0 - size)) for x in e]
        self.phi[-count:] = [sc.where(away, new, old) for new, old in zip(beyond, e, strict=True)]
        if away is True or away is np.True_:
            self.K[-count:] = [[-x for x in row] for row in self.K[-count:]]
            self.k[-count:] = [-x for x in self.k[-count:]]
            self.wrench[-count:] = [(-moment, -force) for moment, force in self.wrench[-count:]]

    def parallel(self, axis: Direction) -> None:
        """The axis of S points along that of P: two rows, which leave the turn about it."""
        t1, t2 = perpendicular(axis)
        self.square(t1, axis)
        self.square(t2, axis)
        self.face(axis, 2)

    def aligned(self, axis: Direction) -> None:
        """No turn at all: `parallel(axis)`, and a third row against the turn about it."""
        t1, t2 = perpendicular(axis)
        self.parallel(axis)
        self.square(t1, t2)
        self.face(t1, 1)

    def distance(self, length: float) -> None:
        """(d . d - L^2) / (2 L) = 0: the origins are L [m] apart."""
        d, rate = self.d, self.v_S - self.v_P
        K = [sign * (d @ (c.u + cross(c.w, at - c.origin))) / length for sign, c, at in self._ends()]
        k = -(rate @ rate + d @ (self.a_S - self.a_P)) / length
        self._add(RowUnit.SHIFT, (d @ d - length * length) / (2.0 * length), K, k, _NOTHING, d / length)

    def rows(self) -> LoopRows:
        """Everything written so far."""
        dofs = [c.dof for _, c, _ in self._ends()]
        dtype = object if any(isinstance(x, sc.Symbol) for x in (*self.phi, *self.k)) else float
        K = np.array(self.K, dtype=dtype).reshape(len(self.phi), len(dofs))
        return LoopRows(dofs, np.array(self.phi, dtype=dtype), K, np.array(self.k, dtype=dtype))

    def wrenches(self) -> Array:
        """The wrench on the successor (columns) per unit of each row's multiplier; the predecessor feels the opposite.

        About the origin and in the axes of the nearest common ancestor.
        """
        about_origin = [np.concatenate([moment + cross(self.p_S, force), force]) for moment, force in self.wrench]
        return np.stack(about_origin, axis=1) if about_origin else np.zeros((6, 0))
