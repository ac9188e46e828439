"""Slopes of steps with contact between bodies, from the kernel of `slot_steps`.

With F(state, x) = 0 the equations of the active set in the impulses x that act, along a direction d of the state

    F_x dx = -F_state d,        d(end) = end_state d + end_x dx.                                                   (1)

Few impulses act at a time, so that F_x is small; it is solved state by state. Rows that depend on each other (a box on
four corners) leave dx open and the motion not: the smallest dx is taken. Before, Newton's rounds bring the impulses
that the sweeps of the solver left onto F = 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import TINY
from kinloop.sim.contact.pair_contact import PairContact
from kinloop.sim.linearization.active_set import ROUNDS
from kinloop.sim.linearization.slot_steps import impulse_count

DEPENDENT = 1e-10
"""Combinations of rows that are less than this part of the largest depend on each other."""

AT_ONCE = 4096
"""Directions that the kernel takes in one call, which keeps its arrays small."""


class Slopes(NamedTuple):
    """What the kernel says along some directions, a line each: changes of the end and of F; F, axes, modes.

    And whether it found the contacts by itself (0), or not (1).
    """

    change: Array
    dF: Array
    F: Array
    axes: Array
    contacts: Array
    joints: Array
    doubt: Array


class SlotSlopes:
    """Slopes of steps from states that are `given`: inputs of the kernel by name, a line each.

    `memory` (B, ...) is what the steps left: their impulses begin the search for the solution.
    """

    def __init__(self, kernel: Any, contact: PairContact, given: dict[str, Array], memory: Array) -> None:
        self.kernel, self.contact, self.given = kernel, contact, given
        rows = len(memory)
        self.x = np.zeros((rows, impulse_count(contact)))
        self.x = in_rows(memory, self._values().axes, contact)
        for _ in range(ROUNDS):
            found = self._values()
            for k, (active, K) in enumerate(zip(*self._own_slopes(found), strict=True)):
                self.x[k, active] -= solved(K, found.F[k, active][:, None])[:, 0]
        self.at = self._values()

    def along(self, directions: dict[str, Array]) -> tuple[Array, Array]:
        """Changes (B, 2 nv, m) of the ends of steps along directions (m, ...), and by how much F is missed (B,)."""
        rows, count = len(self.x), len(next(iter(directions.values())))
        which = np.repeat(np.arange(rows), count)
        found = self._ask(which, {name: np.tile(x, (rows, 1)) for name, x in directions.items()})
        change, dF = (x.reshape(rows, count, -1).transpose(0, 2, 1) for x in (found.change, found.dF))
        out = np.array(change)
        actives, Ks, ends = self._own_ends()
        for k, (active, K, end) in enumerate(zip(actives, Ks, ends, strict=True)):
            out[k] += end @ solved(K, -dF[k, active])
        missed = [np.abs(F[active]).max(initial=0.0) for F, active in zip(self.at.F, actives, strict=True)]
        return out, np.array(missed)

    def _active(self, found: Slopes) -> list[Array]:
        """Of every state the impulses that equations determine: of contacts that press and of joints that are held."""
        pressing = np.repeat(found.contacts > 0.5, self.contact.rows, axis=1)
        return [np.flatnonzero(x) for x in np.concatenate([pressing, found.joints > 0.5], axis=1)]

    def _own(self, found: Slopes) -> tuple[list[Array], Slopes, Array]:
        """Active impulses, what the kernel says along each of them, and which state each line is of."""
        active = self._active(found)
        which = np.repeat(np.arange(len(active)), [len(a) for a in active])
        unit = np.zeros((len(which), self.x.shape[1]))
        unit[np.arange(len(which)), np.concatenate([np.zeros(0, dtype=int), *active])] = 1.0
        return active, self._ask(which, {"dx": unit}), which

    def _own_slopes(self, found: Slopes) -> tuple[list[Array], list[Array]]:
        """Active impulses, and how their equations change with them."""
        active, own, which = self._own(found)
        return active, [own.dF[which == k][:, a].T for k, a in enumerate(active)]

    def _own_ends(self) -> tuple[list[Array], list[Array], list[Array]]:
        """The same at the solution, and how the end changes with active impulses (2 nv, m)."""
        active, own, which = self._own(self.at)
        lines = [which == k for k in range(len(active))]
        K = [own.dF[line][:, a].T for line, a in zip(lines, active, strict=True)]
        return active, K, [own.change[line].T for line in lines]

    def _values(self) -> Slopes:
        """What there is at the states themselves."""
        return self._ask(np.arange(len(self.x)), {})

    def _ask(self, which: Array, along: dict[str, Array]) -> Slopes:
        """What the kernel says of states `which`, a line each, along directions; those that are not given are zero."""
        parts = []
        for first in range(0, max(len(which), 1), AT_ONCE):
            here = which[first : first + AT_ONCE]
            inputs = {name: x[here] for name, x in (*self.given.items(), ("impulses", self.x))}
            inputs |= {name: x[first : first + AT_ONCE] for name, x in along.items()}
            sizes = self.kernel.inputs
            lines = [inputs[n] if n in inputs else np.zeros((len(here), *size)) for n, size in sizes.items()]
            parts.append([np.asarray(x) for x in self.kernel(*lines)])
        return Slopes(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def in_rows(memory: Array, axes: Array, contact: PairContact) -> Array:
    """The impulses (B, n) that a step left in its memory, along the rows of contacts with these axes (B, slots, 9)."""
    own = memory[:, -contact.memory_size : -1]
    slots, joints = own[:, : contact.handed].reshape(len(own), contact.slots, -1), own[:, contact.handed :]
    world, R = slots[..., 4:], axes.reshape(len(own), contact.slots, 3, 3)
    parts = [np.einsum("bkij,bki->bkj", R, world[..., :3])]
    if contact.rows > 4:
        parts.append(np.einsum("bkij,bki->bkj", R, world[..., 3:]))
    elif contact.rows > 3:
        parts.append(world[..., 3:])
    return np.concatenate([np.concatenate(parts, axis=-1).reshape(len(own), -1), joints], axis=1)


def solved(K: Array, right: Array) -> Array:
    """The smallest x with K x = right, for columns of right; rows and columns of K are brought to a like size first."""
    if not len(K):
        return np.zeros((0, right.shape[1]))
    scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(K)), 1e-12 * np.abs(K).max() + TINY))
    found: Array = (
        scale[:, None] * np.linalg.lstsq(scale[:, None] * K * scale, scale[:, None] * right, rcond=DEPENDENT)[0]
    )
    return found
