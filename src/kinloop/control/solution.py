"""What trajectory optimisation found: states, controls, feedback, and what became of every problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from kinloop.scalar import Array


class Outcome(IntEnum):
    """What became of a problem. The integers are those in `Solution.status`."""

    CONVERGED = 1
    """No step lowers the cost by more than the tolerance: a local minimum, to first order."""
    ITERATIONS = 2
    """The iterations were used up while the cost still fell."""
    STALLED = 3
    """Steps that should lower the cost do not, however short: at a kink of the cost or of contact, or in rounding."""
    NO_START = 4
    """The motion from the start, or its cost, is not finite: nothing was optimised."""
    NO_SLOPES = 5
    """A step of the motion, or its cost, has no derivatives."""


@dataclass(frozen=True)
class Solution:
    """q (T + 1, nq) [rad, m], v (T + 1, nv), controls (T, nu) and gains (T, nu, 2 nv) of a motion, and its cost.

    Near the motion u = controls[k] + gains[k] @ (difference(q[k], q), v - v[k]), cut at the limits, is the best control
    to second order. `status` are integers of `Outcome`, `reasons` say the same in words; `iterations` is how many were
    taken, `decrease` by how much the last model of the problem foretold that the cost could fall yet. All with an axis
    of problems in front where there are several. Gains are nan where there are none.
    """

    q: Array
    v: Array
    controls: Array
    gains: Array
    cost: Array
    status: Array
    reasons: tuple[str, ...]
    iterations: Array
    decrease: Array

    @property
    def converged(self) -> Array:
        """Which problems (B,) converged."""
        return np.asarray(self.status == int(Outcome.CONVERGED))

    def first(self) -> Solution:
        """The first problem, without an axis of problems."""
        arrays = {name: x[0] for name, x in self.__dict__.items() if isinstance(x, np.ndarray)}
        return replace(self, **arrays)
