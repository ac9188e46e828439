"""The numbers that a step kernel keeps on every batch row besides its state: names for the columns of one vector."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.charts.thresholds import REACH_LIMIT, VOLUME_LIMIT
from kinloop.sim.status import Status


class Watch(NamedTuple):
    """How far a batch row has come and how good its charts must stay.

    Read from a vector, the fields are numbers or symbols. Read from an array of vectors (B, 5), they are its columns
    (B,), as views: what is assigned to an element of a column is assigned in the array.
    """

    status: Any
    """A `Status`, as a float."""
    steps: Any
    """Steps taken so far."""
    lowest_volume: Any
    """The smallest volume of the loops seen so far (`charts.gauge`, (3))."""
    reach_limit: Any
    """The row stops before a step that begins with a larger reach of its charts (`charts.gauge`, (2)) ..."""
    volume_limit: Any
    """... or with a smaller volume of its loops."""

    @classmethod
    def of(cls, array: Array) -> Watch:
        """Names for the entries of a vector, or for the columns of an array (B, 5)."""
        return cls(*array.T)

    def has(self, status: Status) -> Any:
        """Whether the status is this one; for a batch row by row, (B,)."""
        return self.status == float(status)

    def vector(self) -> Array:
        """The fields as the vector that a kernel takes and gives."""
        return np.array(self)


def begin_watch(rows: int) -> Array:
    """What is watched of batch rows that begin, (rows, 5)."""
    first = Watch(float(Status.RUNNING), 0.0, 1.0, REACH_LIMIT, VOLUME_LIMIT)
    return np.tile(first.vector(), (rows, 1))
