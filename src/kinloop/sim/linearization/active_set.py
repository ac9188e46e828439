"""Which laws of contact hold as equations at a solution of the contact problem, and these equations.

Where impulses lambda solve the problem of `contact.solver`, every row obeys one of a few equations F = 0 in its
velocity U = u + A lambda and its impulse. Contacts (normal n, tangents t, friction mu):

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
from kinloop.sim.contact.joint_limits import JointLimit
from kinloop.sim.contact.joint_stops import JointPath
from kinloop.sim.contact.row_steps import ContactRow, JointRow
from kinloop.sim.contact.solver import Impulses
from kinloop.sim.linearization.row_chain import Blocks, RowChain
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


def joint_mode(row: JointRow | JointPath, x: Any, rubs: bool) -> Any:
    """The `JointMode` of a joint with the impulse x, which has dry friction or not."""
    out: Any = float(JointMode.FREE)
    if rubs:
        beyond = sc.where(row.high < 0.0, float(JointMode.AT_UPPER), float(JointMode.HELD))
        within = sc.where(row.low > 0.0, float(JointMode.AT_LOWER), beyond)
        out = sc.where(sc.abs(x) < row.dry, within, out)
    out = sc.where(x > (1.0 + EDGE) * row.dry, float(JointMode.AT_LOWER), out)
    return sc.where(x < -(1.0 + EDGE) * row.dry, float(JointMode.AT_UPPER), out)


class Local(NamedTuple):
    """The slopes of a row's, or a contact's three, equations: of its own velocities U and of its own impulses."""

    U: Array
    impulse: Array


class Equations:
    """The equations F = 0 of contacts and joints whose modes are known.

    Impulses x bring about Z x in some space, and rows move by `R` (rows, m) of it; of some joints, by number, by what
    is `soft` in them besides.
    """

    def __init__(
        self, contacts: list[ContactRow], joints: list[JointRow], R: Array, Z: Array, chosen: list[Chosen],
        modes: list[Any], soft: dict[int, Any] | None = None,
    ) -> None:  # fmt: skip
        self.contacts, self.joints, self.R, self.Z, self.chosen, self.modes = contacts, joints, R, Z, chosen, modes
        self.soft = soft or {}

    def velocities(self, x: Array) -> Array:
        """U - u for impulses x."""
        moved: Array = self.R @ (self.Z @ x)
        for k, soft in self.soft.items():
            moved[3 * len(self.contacts) + k] += soft * x[3 * len(self.contacts) + k]
        return moved

    @property
    def codes(self) -> tuple[Array, Array]:
        """`ContactMode`s and `JointMode`s."""
        return np.array([c.code for c in self.chosen]), np.array(self.modes)

    @property
    def sizes(self) -> Array:
        """The usual size of every equation's own slope: of a contact that of its block; 1 where nothing can move it."""
        n, own = 3 * len(self.contacts), [line @ column for line, column in zip(self.R, self.Z.T, strict=True)]
        blocks = [own[k] + own[k + 1] + own[k + 2] for k in range(0, n, 3)]
        joints = [own[n + k] + self.soft.get(k, 0.0) for k in range(len(self.joints))]
        sizes = [x for x in blocks for _ in range(3)] + joints
        return np.array([sc.where(x > TINY, x, 1.0) for x in sizes])

    def solved(self, x: Array) -> Array:
        """Impulses x brought onto the equations by Newton's method."""
        for _ in range(ROUNDS):
            x = x - self.slopes(x).solve(self.missed(x))
        return x

    def missed(self, x: Array) -> Array:
        """F (rows,) for the impulses x."""
        U, n, sizes = self.velocities(x), 3 * len(self.contacts), self.sizes
        out: list[Any] = []
        for k, (row, chosen) in enumerate(zip(self.contacts, self.chosen, strict=True)):
            here = slice(3 * k, 3 * k + 3)
            out += contact_missed(row, chosen, row.u + U[here], x[here], sizes[3 * k])
        for k, (joint, mode) in enumerate(zip(self.joints, self.modes, strict=True)):
            out.append(joint_missed(joint, mode, joint.u + U[n + k], x[n + k], sizes[n + k]))
        return np.array(out)

    def local(self, x: Array) -> list[Local]:
        """The slopes of all contacts, then of all joints, at the impulses x."""
        U, n, sizes = self.velocities(x), 3 * len(self.contacts), self.sizes
        out = []
        for k, (row, chosen) in enumerate(zip(self.contacts, self.chosen, strict=True)):
            here = slice(3 * k, 3 * k + 3)
            out.append(_contact_slopes(row, chosen, row.u + U[here], x[here], sizes[3 * k]))
        for k, mode in enumerate(self.modes):
            size, held = sizes[n + k], mode > 0.5
            out.append(Local(np.array([[sc.where(held, 1.0, 0.0)]]), np.array([[sc.where(held, 0.0, size)]])))
        return out

    def slopes(self, x: Array) -> RowChain:
        """K = dF / d lambda at the impulses x, factored."""
        n, local, sizes = 3 * len(self.contacts), self.local(x), self.sizes
        groups = []
        for first, rows, parts in ((0, 3, local[: len(self.contacts)]), (n, 1, local[len(self.contacts) :])):
            here, count = slice(first, first + rows * len(parts)), len(parts)
            if count:
                R, Z = self.R[here].reshape(count, rows, -1), self.Z[:, here].T.reshape(count, rows, -1)
                S = np.array([p.impulse for p in parts])
                for k, soft in self.soft.items() if rows == 1 else ():
                    S[k] = S[k] + parts[k].U * soft
                U, own = np.array([p.U for p in parts]), sizes[here].reshape(count, rows)
                groups.append(Blocks(R, Z.transpose(0, 2, 1), U, S, own))
        return RowChain(groups)


class ActiveSet:
    """Stands in for the solver where a solution `given` is known, and says what the equations F = 0 are there.

    Called as `joint_stops.solve_with_joints`, once, while a step is computed: from then on it has the equations of the
    step, and the impulses brought onto them.
    """

    def __init__(self, given: Array) -> None:
        self.given = self.impulses = given
        self.equations: Equations | None = None

    def __call__(
        self, joints: list[JointLimit], paths: list[JointPath], tree: ClusterTree, s: SmoothMotion,
        contacts: list[ContactRow], touching: Any, rounds: int, start: Array,
    ) -> tuple[Impulses, list[Any]]:  # fmt: skip
        n, rows = 3 * len(contacts), [p.row(tree, s, j.rubs) for j, p in zip(joints, paths, strict=True)]
        chosen = [contact_choice(row, self.given[3 * k : 3 * k + 3]) for k, row in enumerate(contacts)]
        modes = [joint_mode(row, x, row.rubs) for row, x in zip(rows, self.given[n:], strict=True)]
        Z = _propagated(contacts, rows, tree.nv)
        soft = {k: row.soft for k, row in enumerate(rows) if not row.is_stiff}
        self.equations = Equations(contacts, rows, Z, Z.T, chosen, modes, soft)
        x = self.impulses = self.equations.solved(self.given)
        each = [x[k : k + 3] for k in range(0, n, 3)]
        return Impulses(each, [], [], Z.T @ x, 0.0), list(x[n:])


def _propagated(contacts: list[ContactRow], joints: list[JointRow], nv: int) -> Array:
    """The propagations (rows, nv) of all rows."""
    rows = [(line, c.at) for c in contacts for line in c.z] + [(j.z, j.at) for j in joints]
    Z = np.full((len(rows), nv), 0.0, dtype=object if any(sc.is_symbolic(z) for z, _ in rows) else float)
    for k, (z, at) in enumerate(rows):
        Z[k, at] = z
    return Z


def contact_missed(row: ContactRow, chosen: Chosen, velocity: Array, p: Array, size: Any) -> list[Any]:
    """F of a contact with these velocities and the impulse p; `size` is that of its own slope."""
    slip, rest = _tangents(row, velocity[1:], p[1:])
    unit, _ = _direction(slip)
    out = [sc.where(chosen.presses, velocity[0] - row.mobility.lift(row.b), size * p[0])]
    for t in range(2):
        slide = size * (p[1 + t] + (row.friction * p[0]) * unit[t])
        pressing = sc.where(chosen.slides, slide, slip[t] + size * rest[t])
        out.append(sc.where(chosen.presses, pressing, size * p[1 + t]))
    return out


def joint_missed(row: JointRow, mode: Any, velocity: Any, p: Any, size: Any) -> Any:
    """F of a joint with this velocity and the impulse p; `size` is that of its own slope."""
    used = row.dry * sc.where(p < 0.0, -1.0, sc.where(p > 0.0, 1.0, 0.0))
    return sc.where(mode > 0.5, velocity - joint_target(row, mode), size * (p - used))


def joint_target(row: JointRow | JointPath, mode: Any) -> Any:
    """The velocity of a joint that is held or at a stop."""
    upper = sc.where(mode > JointMode.AT_UPPER - 0.5, row.high, row.low)
    return sc.where(mode > JointMode.AT_LOWER - 0.5, upper, 0.0)


def _contact_slopes(row: ContactRow, chosen: Chosen, velocity: Array, p: Array, size: Any) -> Local:
    """The slopes of a contact with the impulse p, by what it does."""
    free = np.eye(2) if row.mobility.regular is True else row.mobility.free
    unit, length = _direction(_tangents(row, velocity[1:], p[1:])[0])
    across = (size * row.friction * p[0] / length) * (free - np.outer(unit, unit @ free))
    U, impulse = (np.full((3, 3), 0.0, dtype=object) for _ in range(2))
    U[0, 0], impulse[0, 0] = sc.where(chosen.presses, 1.0, 0.0), sc.where(chosen.presses, 0.0, size)
    for i in range(2):
        sliding = sc.logical_and(chosen.presses, chosen.slides)
        impulse[1 + i, 0] = sc.where(sliding, (size * row.friction) * unit[i], 0.0)
        for j in range(2):
            one = size if i == j else 0.0
            U[1 + i, 1 + j] = sc.where(chosen.presses, sc.where(chosen.slides, across[i, j], free[i, j]), 0.0)
            stick = one - size * free[i, j] if row.mobility.regular is not True else 0.0
            pressing = sc.where(chosen.slides, one, stick)
            impulse[1 + i, 1 + j] = sc.where(chosen.presses, pressing, one)
    return Local(U, impulse)


def _tangents(row: ContactRow, U: Array, p: Array) -> tuple[Array, Array]:
    """The slip that friction has a say in, and the part of the tangential impulse p that has none in the motion."""
    if row.mobility.regular is True:
        return U, np.zeros(2)
    free = row.mobility.free
    return free @ U, p - free @ p


def turning_missed(rate: Array, p: Array, limit: Any, presses: Any, size: Any) -> list[Any]:
    """F of torques p (1 or 2,) about axes of a contact that turns at the `rate` about them, with a limit of their own.

    Torques stick or slide by themselves: neither weakens the other, or sliding friction.
    """
    length, most = sc.sqrt(rate @ rate) + TINY, (1.0 - EDGE) * limit
    slides = sc.logical_not(p @ p < most * most)
    out = []
    for x, u in zip(p, rate, strict=True):
        pressing = sc.where(slides, size * (x + limit * (u / length)), u)
        out.append(sc.where(presses, pressing, size * x))
    return out


def _direction(slip: Array) -> tuple[Array, Any]:
    """The direction of a slip, and its length."""
    length = sc.sqrt(slip[0] * slip[0] + slip[1] * slip[1]) + TINY
    return slip / length, length
