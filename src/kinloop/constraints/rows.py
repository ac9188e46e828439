"""Loop equations phi(q) = 0 with Jacobian K and bias k (K qdd = k), for every kind of loop joint.

A loop joint is written with a few kinds of rows on the two loop frames, P on the predecessor and S on
the successor, d the vector from P to S, everything in the axes of their nearest common ancestor:

    point          d = 0                            three rows
    along(n)       n_P . d = 0                      no shift in direction n, fixed in P
    square(a, b)   a_P . b_S = 0                    two directions stay perpendicular
    screw(n, h)    n_P . d = h * angle about n, in whichever turn
    distance(L)    (d . d - L^2) / (2 L) = 0

A row of `square` is zero also where the successor stands the other way round; `face` tells the two apart.
K is the derivative of phi where the loop is closed. Derivation: docs/algorithms/constraints.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.constraints.chains import ChainEnd, Column, walk
from kinloop.model import joints as jt
from kinloop.model.parts import LoopJoint, Rod
from kinloop.model.topology import Topology
from kinloop.spatial import cross
from kinloop.spatial.transform import Array


class Rows(NamedTuple):
    """Equations of one constraint over the coordinates `dofs`: phi (r,), K (r, len(dofs)), k (r,)."""

    dofs: list[int]
    phi: Array
    K: Array
    k: Array


class _Loop:
    """Both ends of a loop, and the rows written so far."""

    def __init__(self, P: ChainEnd, S: ChainEnd, frame_P: Any, frame_S: Any) -> None:
        self.P, self.S = P, S
        self.R_P, self.R_S = P.T.R @ frame_P.R, S.T.R @ frame_S.R
        self.p_P, self.v_P, self.a_P = P.point(frame_P.p)
        self.p_S, self.v_S, self.a_S = S.point(frame_S.p)
        self.d = self.p_S - self.p_P
        self.phi: list[Any] = []
        self.K: list[list[Any]] = []
        self.k: list[Any] = []
        self.wrench: list[Array] = []

    def _ends(self) -> list[tuple[float, Column, Array]]:
        """Sign, column and point of action for every coordinate on either path."""
        return [(-1.0, c, self.p_P) for c in self.P.columns] + [(1.0, c, self.p_S) for c in self.S.columns]

    def _add(self, phi: Any, K: list[Any], k: Any, moment: Array, force: Array) -> None:
        """One row; `moment` and `force` at the successor's point are what a unit multiplier does to it."""
        self.phi.append(phi)
        self.K.append(K)
        self.k.append(k)
        self.wrench.append(np.concatenate([moment + cross(self.p_S, force), force]))

    def point(self) -> None:
        moves = [sign * (c.u + cross(c.w, at - c.origin)) for sign, c, at in self._ends()]
        bias = self.a_P - self.a_S
        for x in range(3):
            self._add(self.d[x], [m[x] for m in moves], bias[x], np.zeros(3), np.eye(3)[x])

    def along(self, n: Array, pitch: float | None = None) -> None:
        n = self.R_P @ n
        turn, lever = cross(self.P.w, n), cross(n, self.d)
        K = [
            sign * (n @ (c.u + cross(c.w, at - c.origin))) + (c.w @ lever if sign < 0 else 0.0)
            for sign, c, at in self._ends()
        ]
        k = n @ (self.a_P - self.a_S) - 2.0 * (turn @ (self.v_S - self.v_P))
        k = k - (cross(self.P.w, turn) + cross(self.P.alpha, n)) @ self.d
        phi = n @ self.d
        moment = np.zeros(3)
        if pitch is not None:
            phi, K, k = self._screw(n, pitch, phi, K, k)
            moment = -pitch * n
        self._add(phi, K, k, moment, n)

    def _screw(self, n: Array, pitch: float, phi: Any, K: list[Any], k: Any) -> tuple[Any, list[Any], Any]:
        t1, _ = jt.perpendicular(self.axis)
        a, b = self.R_P @ t1, self.R_S @ t1
        if pitch != 0:
            # the angle is known up to whole turns, and so is the advance: compare them on the circle
            sine, cosine = n @ cross(a, b), a @ b
            s, c = sc.sin(phi / pitch), sc.cos(phi / pitch)
            phi = -pitch * sc.atan2(sine * c - cosine * s, cosine * c + sine * s)
        K = [x - pitch * sign * (n @ c.w) for x, (sign, c, _) in zip(K, self._ends(), strict=True)]
        spin = (self.S.alpha - self.P.alpha) @ n + (self.S.w - self.P.w) @ cross(self.P.w, n)
        return phi, K, k + pitch * spin

    def square(self, a: Array, b: Array) -> None:
        a, b = self.R_P @ a, self.R_S @ b
        normal = cross(b, a)
        turn_a, turn_b = cross(self.P.w, a), cross(self.S.w, b)
        k = (self.P.alpha - self.S.alpha) @ normal - 2.0 * (turn_a @ turn_b)
        k = k - cross(self.P.w, turn_a) @ b - a @ cross(self.S.w, turn_b)
        self._add(a @ b, [sign * (c.w @ normal) for sign, c, _ in self._ends()], k, normal, np.zeros(3))

    def face(self, a: Array, count: int) -> None:
        """Count the last rows of `square` from the side on which direction a of S points along that of P.

        Behind the equator phi goes on growing, from 1 to 2 at the far pole, and the rows change sign so
        that a step against phi leads back over it. Nothing changes where the loop is closed, or nearly.
        """
        away = (self.R_P @ a) @ (self.R_S @ a) < 0.0
        if away is False or away is np.False_:
            return
        e = self.phi[-count:]
        squared = sum((x * x for x in e), start=0.0)
        pole = squared <= 1e-30
        size = sc.sqrt(sc.where(pole, 1.0, squared))
        beyond = [sc.where(pole, 2.0 if x is e[0] else 0.0, x / size * (2.0 - size)) for x in e]
        self.phi[-count:] = [sc.where(away, new, old) for new, old in zip(beyond, e, strict=True)]
        if away is True or away is np.True_:
            self.K[-count:] = [[-x for x in row] for row in self.K[-count:]]
            self.k[-count:] = [-x for x in self.k[-count:]]
            self.wrench[-count:] = [-x for x in self.wrench[-count:]]

    def distance(self, length: float) -> None:
        d, rate = self.d, self.v_S - self.v_P
        K = [sign * (d @ (c.u + cross(c.w, at - c.origin))) / length for sign, c, at in self._ends()]
        k = -(rate @ rate + d @ (self.a_S - self.a_P)) / length
        self._add((d @ d - length * length) / (2.0 * length), K, k, np.zeros(3), d / length)

    axis: Any = None

    def rows(self) -> Rows:
        dofs = [c.dof for _, c, _ in self._ends()]
        dtype = object if sc.is_symbolic(np.array(self.phi), np.array(self.k)) else float
        K = np.array(self.K, dtype=dtype).reshape(len(self.phi), len(dofs))
        return Rows(dofs, np.array(self.phi, dtype=dtype), K, np.array(self.k, dtype=dtype))


def _both_ends(top: Topology, loop: LoopJoint | Rod, q: Array, qd: Array | None) -> tuple[ChainEnd, ChainEnd]:
    i, j = top.body_index[loop.predecessor], top.body_index[loop.successor]
    _, to_i, to_j = top.paths(i, j)
    return walk(top, to_i, q, qd), walk(top, to_j, q, qd)


def joint_rows(top: Topology, loop: LoopJoint, q: Array, qd: Array | None = None) -> Rows:
    """Rows of a loop closed by a joint of any type."""
    return _joint(top, loop, q, qd).rows()


def wrench_basis(top: Topology, loop: LoopJoint | Rod, q: Array) -> Array:
    """The wrench on the successor (columns) per unit of each row's multiplier; the predecessor feels the opposite.

    About the origin and in the axes of the nearest common ancestor.
    """
    L = _joint(top, loop, q, None) if isinstance(loop, LoopJoint) else _rod(top, loop, q, None)
    return np.stack(L.wrench, axis=1) if L.wrench else np.zeros((6, 0))


def _joint(top: Topology, loop: LoopJoint, q: Array, qd: Array | None) -> _Loop:
    L = _Loop(*_both_ends(top, loop, q, qd), loop.predecessor_placement, loop.successor_placement)
    kind = loop.type
    axis = L.axis = np.array(getattr(kind, "axis", jt.Z))
    t1, t2 = jt.perpendicular(axis)
    match kind:
        case jt.Free():
            pass
        case jt.Spherical():
            L.point()
        case jt.Universal():
            L.point()
            L.square(axis, np.array(kind.axis2))
        case jt.Planar():
            L.along(axis)
        case jt.Prismatic() | jt.Cylindrical() | jt.Helical():
            L.along(t1)
            L.along(t2)
        case _:
            L.point()
    if isinstance(kind, jt.Helical):
        L.along(axis, pitch=kind.pitch)
    if not isinstance(kind, jt.Free | jt.Spherical | jt.Universal):
        L.square(t1, axis)
        L.square(t2, axis)
        L.face(axis, 2)
    if isinstance(kind, jt.Fixed | jt.Prismatic):
        L.square(t1, t2)
        L.face(t1, 1)
    return L


def shift_rows(kind: jt.JointType) -> int:
    """How many rows of a loop joint hold back a shift; they come first, then the rows that hold back a turn."""
    match kind:
        case jt.Free():
            return 0
        case jt.Planar():
            return 1
        case jt.Prismatic() | jt.Cylindrical():
            return 2
    return 3


def rod_rows(top: Topology, rod: Rod, q: Array, qd: Array | None = None) -> Rows:
    """The row of a rod of fixed length."""
    return _rod(top, rod, q, qd).rows()


def _rod(top: Topology, rod: Rod, q: Array, qd: Array | None) -> _Loop:
    P, S = _both_ends(top, rod, q, qd)
    L = _Loop(P, S, _Point(rod.predecessor_point), _Point(rod.successor_point))
    L.distance(rod.length)
    return L


class _Point(NamedTuple):
    p: Array
    R: Array = np.eye(3)
