"""The numbers that a step kernel keeps on every batch row besides its state: names for the columns of one vector."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.status import Status

PEAKS = ("loop_error", "imbalance", "turning", "contact_force", "penetration", "residual", "iterations", "missed")
"""Fields of a `Watch` that are the largest values over all steps."""


class Watch(NamedTuple):
    """How far a batch row has come, and what happened on the way.

    Read from a vector, the fields are numbers or symbols. Read from an array of vectors (B, n), they are its columns
    (B,), as views: what is assigned to an element of a column is assigned in the array.
    """

    status: Any
    """A `Status`, as a float."""
    steps: Any
    """Steps taken so far."""
    nearest: Any
    """The smallest nearness of the loops to a singular configuration so far (`singularity`)."""
    passed: Any
    """1 where the row has passed a singular configuration, else 0."""
    last: Any
    """The nearness at the step before; zero where there is none, after which nothing seems passed ..."""
    before_last: Any
    """... and at the one before that."""
    work: Any
    """What motors, springs and damping have done so far [J] (`energy_monitor`, as the next four), ..."""
    energy: Any
    """... kinetic and potential energy after the last step [J], ..."""
    unexplained: Any
    """... what of it no force has supplied [J], ..."""
    imbalance: Any
    """... the largest amount of that so far [J], ..."""
    motion: Any
    """... and the largest sum of kinetic energy and work so far [J]; zero where nobody watches."""
    fault: Any
    """Why the last step was refused: a `Fault`, as a float; 0 where none was."""
    loop_error: Any
    """Largest so far: how far a loop was open [m, rad], ..."""
    turning: Any
    """... how fast a joint turned [rad/s], ..."""
    contact_force: Any
    """... the force of all contacts together [N], ..."""
    penetration: Any
    """... how deep a contact was in the ground [m], ..."""
    residual: Any
    """... how much the contact solver's last sweep changed a velocity [m/s], ..."""
    iterations: Any
    """... how many sweeps it took in a step, ..."""
    missed: Any
    """... and how many contacts there was no slot for (`contact.pair_contact`)."""

    @classmethod
    def of(cls, array: Array) -> Watch:
        """Names for the entries of a vector, or for the columns of an array (B, n)."""
        return cls(*array.T)

    def has(self, status: Status) -> Any:
        """Whether the status is this one; for a batch row by row, (B,)."""
        return self.status == float(status)

    def vector(self) -> Array:
        """The fields as the vector that a kernel takes and gives."""
        return np.array(self)


BEGINNING = Watch(*np.zeros(len(Watch._fields)))._replace(status=float(Status.RUNNING), nearest=1.0).vector()
"""What is watched of a batch row that begins."""


def alike(rows: Array, *keys: Array) -> list[Array]:
    """Rows, by number, in groups with equal keys."""
    if not len(rows):
        return []
    _, found = np.unique(np.stack([k[rows] for k in keys]), axis=1, return_inverse=True)
    group = found.ravel()
    return [rows[group == g] for g in range(int(group.max()) + 1)]
