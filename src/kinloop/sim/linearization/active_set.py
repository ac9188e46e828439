"""Which laws of contact hold as equations at a solution of the contact problem, and these equations.

Where impulses lambda solve the problem of `contact.solver`, every row obeys one of a few equations F = 0 in its velocity
U = u + Z w, w = Z^T lambda, and its impulse. Contacts (normal n, tangents t, friction mu):

    open       lambda = 0
    sticking   U_n = b,   U_t = 0
    sliding    U_n = b,   lambda_t = -mu lambda_n U_t / |U_t|                                                   (1)

joints with stops and dry friction:

    free       lambda = 0, or the whole of the dry friction
    held       U = 0
    at a stop  U = its bound.

A contact that carries nothing counts as open even if it touches, one on the edge of its cone as sliding, a joint whose
dry friction is used up as free: at such ties the derivative is the one on that side.
Derivation: docs/algorithms/linearization.md.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import TINY
from kinloop.sim.contact.joint_stops import JointLimit, JointPath
from kinloop.sim.contact.propagation import Propagated
from kinloop.sim.contact.solver import ContactRow, Impulses, JointRow
from kinloop.sim.linearization.soft_elimination import Elimination
from kinloop.sim.smooth_motion import SmoothMotion

EDGE = 1e-9
"""A contact slides where its friction is at the edge of its cone but for this part of it."""

ROUNDS = 2
"""Newton's rounds that bring the impulses of the sweeps onto the equations: sticking needs one, sliding two."""


class ContactMode(IntEnum):
    """What a contact does in a step."""

    OPEN = 0
    STICKING = 1
    SLIDING = 2


class JointMode(IntEnum):
    """What a joint with stops or dry friction does in a step: HELD by dry friction, AT_LOWER or AT_UPPER stop."""

    FREE = 0
    HELD = 1
    AT_LOWER = 2
    AT_UPPER = 3


class Chosen(NamedTuple):
    """The equations that a contact obeys: whether it presses and, if so, slides."""

    presses: Any
    slides: Any

    @property
    def code(self) -> Any:
        """A `ContactMode`."""
        pressing = sc.where(self.slides, float(ContactMode.SLIDING), float(ContactMode.STICKING))
        return sc.where(self.presses, pressing, float(ContactMode.OPEN))


def contact_choice(row: ContactRow, x: Array) -> Chosen:
    """What a contact with the impulse x does."""
    presses = x[0] > 0.0
    if row.mobility.regular is not True:
        presses = sc.logical_and(presses, row.mobility.gain > 0.0)
    limit = ((1.0 - EDGE) * row.friction) * x[0]
    return Chosen(presses, sc.logical_not(x[1] * x[1] + x[2] * x[2] < limit * limit))


def joint_mode(row: JointRow, x: Any) -> Any:
    """The `JointMode` of a joint with the impulse x."""
    stopped = sc.where(row.high < 0.0, float(JointMode.AT_UPPER), float(JointMode.HELD if row.rubs else JointMode.FREE))
    within = sc.where(row.low > 0.0, float(JointMode.AT_LOWER), stopped) if row.rubs else float(JointMode.FREE)
    out = sc.where(sc.abs(x) < row.dry, within, float(JointMode.FREE)) if row.rubs else float(JointMode.FREE)
    out = sc.where(x > (1.0 + EDGE) * row.dry, float(JointMode.AT_LOWER), out)
    return sc.where(x < -(1.0 + EDGE) * row.dry, float(JointMode.AT_UPPER), out)


class ActiveSet:
    """Stands in for the solver where a solution `impulses` is known, and says what the equations F = 0 are there.

    Called as `joint_stops.solve_with_joints`, once, while a step is computed: from then on it has the rows of the step,
    the impulses brought onto the equations by Newton's method, and the modes.
    """

    def __init__(self, impulses: Array) -> None:
        self.given = impulses

    def __call__(
        self, joints: list[JointLimit], paths: list[JointPath], tree: ClusterTree, s: SmoothMotion,
        contacts: list[ContactRow], touching: Any, rounds: int, start: Array,
    ) -> tuple[Impulses, list[Any]]:  # fmt: skip
        self.contacts, n = contacts, 3 * len(contacts)
        self.joints = []
        for joint, path in zip(joints, paths, strict=True):
            z, at = Propagated.joint(tree, s.kin, s.art, joint.dof).row()
            self.joints.append(JointRow(z[0], at, *path, bool(joint.friction)))
        self.Z = self._lines(tree.nv)
        self.A = self.Z @ self.Z.T
        self.chosen = [contact_choice(row, self.given[3 * k : 3 * k + 3]) for k, row in enumerate(contacts)]
        self.modes = [joint_mode(row, x) for row, x in zip(self.joints, self.given[n:], strict=True)]
        x = self.given
        for _ in range(ROUNDS):
            x = x - Elimination(self.slopes(x), self.sizes()).solve(self.equations(x))
        self.impulses = x
        each = [x[k : k + 3] for k in range(0, n, 3)]
        return Impulses(each, [], [], self.Z.T @ x, 0.0), list(x[n:])

    def _lines(self, nv: int) -> Array:
        """Z (rows, nv)."""
        rows = [(line, c.at) for c in self.contacts for line in c.z] + [(j.z, j.at) for j in self.joints]
        Z = np.full((len(rows), nv), 0.0, dtype=object if any(sc.is_symbolic(z) for z, _ in rows) else float)
        for k, (z, at) in enumerate(rows):
            Z[k, at] = z
        return Z

    @property
    def codes(self) -> tuple[Array, Array]:
        """`ContactMode`s and `JointMode`s."""
        return np.array([c.code for c in self.chosen]), np.array(self.modes)

    def sizes(self) -> Array:
        """The usual size of every equation's own slope."""
        return np.array([self.A[k, k] + TINY for k in range(len(self.A))])

    def equations(self, x: Array) -> Array:
        """F (rows,) for the impulses x."""
        U, out, n = self.Z @ (self.Z.T @ x), [], 3 * len(self.contacts)
        for k, (row, chosen) in enumerate(zip(self.contacts, self.chosen, strict=True)):
            here, size = slice(3 * k, 3 * k + 3), self.A[3 * k, 3 * k]
            velocity, p = row.u + U[here], x[here]
            stick, slip = _tangents(row, velocity[1:], p[1:], size)
            unit, _ = _direction(slip)
            slide = size * (p[1:] + (row.friction * p[0]) * unit)
            normal = velocity[0] - row.mobility.lift(row.b)
            out.append(sc.where(chosen.presses, normal, p[0] * size))
            for a, b, c in zip(stick, slide, p[1:], strict=True):
                out.append(sc.where(chosen.presses, sc.where(chosen.slides, b, a), c * size))
        for k, (joint, mode) in enumerate(zip(self.joints, self.modes, strict=True)):
            velocity, size = joint.u + U[n + k], self.A[n + k, n + k] + TINY
            free = size * (x[n + k] - sc.where(x[n + k] < 0.0, -1.0, sc.where(x[n + k] > 0.0, 1.0, 0.0)) * joint.dry)
            held = velocity - sc.where(_is(mode, 2), joint.low, sc.where(_is(mode, 3), joint.high, 0.0))
            out.append(sc.where(mode > 0.5, held, free))
        return np.array(out)

    def slopes(self, x: Array) -> Array:
        """K = dF / d lambda (rows, rows) at the impulses x."""
        A, n = self.A, 3 * len(self.contacts)
        K = np.full(A.shape, 0.0, dtype=object)
        U = self.Z @ (self.Z.T @ x)
        for k, (row, chosen) in enumerate(zip(self.contacts, self.chosen, strict=True)):
            here, i = slice(3 * k, 3 * k + 3), 3 * k
            size, p = A[i, i], x[here]
            K[i] = _line(chosen.presses, A[i], size, i)
            stick, slip = _tangents(row, A[i + 1 : i + 3], np.eye(len(A))[i + 1 : i + 3], size)
            unit, length = _direction(_tangents(row, (row.u + U[here])[1:], p[1:], size)[1])
            turn = (row.friction * p[0]) / length
            along = unit @ slip
            for j in range(2):
                slide = (size * turn) * (slip[j] - unit[j] * along)
                slide[i + 1 + j] = slide[i + 1 + j] + size
                slide[i] = slide[i] + (size * row.friction) * unit[j]
                pressing = [sc.where(chosen.slides, b, a) for a, b in zip(stick[j], slide, strict=True)]
                K[i + 1 + j] = _line(chosen.presses, np.array(pressing), size, i + 1 + j)
        for k, mode in enumerate(self.modes):
            K[n + k] = _line(mode > 0.5, A[n + k], A[n + k, n + k] + TINY, n + k)
        return K


def _is(mode: Any, code: int) -> Any:
    return sc.logical_and(mode > code - 0.5, mode < code + 0.5)


def _tangents(row: ContactRow, U: Array, p: Array, size: Any) -> tuple[Array, Array]:
    """What vanishes where a contact sticks, and the slip that friction has a say in, of two lines U and p."""
    if row.mobility.regular is True:
        return U, U
    free = row.mobility.free
    slip: Array = free @ U
    return slip + size * (p - free @ p), slip


def _direction(slip: Array) -> tuple[Array, Any]:
    """The direction of a slip, and its length."""
    length = sc.sqrt(slip[0] * slip[0] + slip[1] * slip[1]) + TINY
    return slip / length, length


def _line(when: Any, line: Array, size: Any, k: int) -> Array:
    """A line of K: `line` where `when` holds, else that of an impulse which is given."""
    other = np.full(len(line), 0.0, dtype=object)
    other[k] = size
    return np.array([sc.where(when, a, b) for a, b in zip(line, other, strict=True)], dtype=object)
