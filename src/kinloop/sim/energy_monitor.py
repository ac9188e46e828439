"""Whether the energy of a batch row balances the work of the forces on it: a witness that no integrator can fool.

After every step kinetic and potential energy E are computed anew, with that of users' springs. What a step gained
beyond the work W of motors, springs at joints, damping and forces of users,

    E - E_before - W                                                                                             (1)

is unexplained. Summed over steps in which nothing touches it stays as small as the integrator is exact. Contacts, joint
stops and dry friction may take any amount, and give none: while something touches, what is unexplained may fall back to
zero, and no further.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.energy import potential_energy
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.outside import Outside
from kinloop.sim.smooth_motion import spanning_kinetic_energy
from kinloop.sim.watch import Watch

UNBALANCED = 5e-2
"""A row whose unexplained energy was once this part of its largest energy of motion and work is not to be trusted.
Steps of first order, as with contact, may book the power of a step too early or too late: 2 % at 1 ms are usual."""

PLACED = 1e-6
"""Contacts hold bodies in place to this [m]: what presses on them with a force F may gain F times as much, and lose it
again, while it rests."""

DEEP = 1e-3
"""A row that was deeper in the ground than this [m] was lifted by it, which takes energy."""

ROUNDING = 1e-9
"""Part of the energy at the beginning that counts as no motion."""


def begin_ledger(watch: Watch, energies: Array) -> None:
    """Write into the watch of rows that begin what they begin with: kinetic and potential energies (B, 2 or 3) [J]."""
    watch.energy[:] = np.sum(energies, axis=1)
    watch.motion[:] = energies[:, 0] + ROUNDING * (1.0 + np.abs(energies[:, 1]))


def energies(tree: ClusterTree, outside: Outside, q: Array, qd: Array) -> tuple[Any, Any]:
    """Kinetic and potential energy [J]."""
    potential = potential_energy(tree, q)
    potential = potential + outside.stored(tree.top, q) if outside.springs else potential
    return spanning_kinetic_energy(tree, q, qd), potential


def booked(before: Watch, kinetic: Any, potential: Any, work: Any, flying: Any = True) -> dict[str, Any]:
    """The fields of a `Watch` that (1) changes, after a step in which forces did `work`; `flying`: nothing touched."""
    energy, done = kinetic + potential, before.work + work
    total = before.unexplained + (energy - before.energy - work)
    if flying is not True:
        total = sc.where(flying, total, sc.maximum(sc.minimum(before.unexplained, 0.0), total))
    return {
        "energy": energy,
        "work": done,
        "unexplained": total,
        "imbalance": sc.maximum(before.imbalance, sc.abs(total)),
        "motion": sc.maximum(before.motion, kinetic + sc.abs(done)),
    }


def unbalanced(watch: Watch) -> Array:
    """Which rows' energy does not balance (B,); one that is no number does not either."""
    allowed = UNBALANCED * watch.motion + PLACED * watch.contact_force
    return np.asarray(~(watch.imbalance <= allowed) & (watch.motion > 0.0))


def imbalance_in_words(imbalance: float, motion: float, depth: float) -> str:
    """What a rollout says of a row whose energy does not balance, which was once so deep in the ground [m]."""
    remedy = (
        f"it was {1e3 * depth:.3g} mm below the ground, which lifted it: start above"
        if depth > DEEP
        else ("take shorter steps, or integrator='adaptive'")
    )
    return (
        f"has energy that no force supplied or took: {imbalance:.3g} J, where kinetic energy and work were at most "
        f"{motion:.3g} J; {remedy}"
    )
