"""The state of a batch: what survives a change of charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop.scalar import Array


@dataclass(frozen=True)
class State:
    """A batch of states: positions q (B, nq) and velocities qd (B, n_spanning) of all joints, time t (B,).

    `ok` is False for a batch row that has stopped for good. `memory` (B, n) holds first guesses for the next step
    (smooth acceleration, impulses); zeros serve too. `charts` says in which coordinates all rows last moved, if in the
    same; None leaves that to the simulator.
    """

    q: Array
    qd: Array
    t: Array
    ok: Array
    memory: Array
    charts: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self.q)

    def arrays(self) -> tuple[Array, ...]:
        """Everything that is said per batch row: q, qd, t, ok, memory."""
        return self.q, self.qd, self.t, self.ok, self.memory

    def repeated(self, rows: int) -> State:
        """The first batch row, so many times."""
        q, qd, t, ok, memory = (np.repeat(x[:1], rows, axis=0) for x in self.arrays())
        return State(q, qd, t, ok, memory, self.charts)
