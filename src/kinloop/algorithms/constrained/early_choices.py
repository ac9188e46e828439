"""What `pv_early` eliminates where: decided from numbers as they come, or, on symbols, as a plan says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.algorithms.constrained.multipliers import ROUNDING_OF_DIFFERENCES, rank_rows
from kinloop.algorithms.constrained.reflections import pivot_columns
from kinloop.scalar import Array

WEAK = 1e-4
"""A pivot below this part of its usual size costs digits: it is counted, and the state is better solved otherwise."""
EARLY = 1e-3
"""On numbers rows are not eliminated before they move a joint by this part (squared) of what they could."""
EARLY_IN_PLANS = 1e-8
"""The same when a plan is made: any row that moves a joint at all may go, since kernels watch their own pivots."""


class Choice(NamedTuple):
    """What to eliminate at a cluster: columns of Y to reflect onto, or rows to keep; usual sizes of the pivots.

    `square` is the usual |Y|^2 of a single column.
    """

    columns: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    sizes: tuple[float, ...] = ()
    square: float = 0.0


class EarlyPlan(NamedTuple):
    """The choice made at every cluster that rows pass, and the rows at the world that depend on others."""

    choices: dict[int, Choice]
    last: tuple[int, ...]

    @property
    def eliminated(self) -> int:
        """Rows that are gone before the world, less those that are redundant there."""
        return sum(len(c.rows) for c in self.choices.values()) - len(self.last)

    def alike(self, other: EarlyPlan) -> bool:
        """Whether another plan eliminates the same rows wherever this one does."""
        theirs = other.choices
        return all(k in theirs and theirs[k][:2] == c[:2] for k, c in self.choices.items())


class Decisions:
    """Ranks decided from numbers as they come, and remembered in `made`; or, with a plan, as it says."""

    def __init__(self, plan: EarlyPlan | None = None, early: float = EARLY) -> None:
        self.plan, self.early = plan, early
        self.made = EarlyPlan({}, ())

    def fresh(self, k: int, Y: Array, size: float, inverse: Array) -> Choice:
        """Rows that carry no multipliers of their own yet; `size` is what |Y|^2 could be."""
        if self.plan is not None:
            return self.plan.choices[k]
        columns, lengths = pivot_columns(Y, self.early * size)
        usual = lengths**2 * np.min(inverse, initial=np.inf) if len(columns) else lengths
        square = float(lengths[0] ** 2) if Y.shape[1] == 1 and len(columns) else 0.0
        self.made.choices[k] = Choice(columns, tuple(range(len(columns))), tuple(map(float, usual)), square)
        return self.made.choices[k]

    def coupled(self, k: int, L: Array, size: Array) -> Choice:
        """Rows that already act on each other; `size` is what the diagonal of L could be."""
        if self.plan is not None:
            return self.plan.choices[k]
        kept, _ = rank_rows(L, size, self.early, rounding=self.early)
        self.made.choices[k] = Choice((), tuple(kept), tuple(float(L[j, j]) for j in kept))
        return self.made.choices[k]

    def last(self, L: Array, size: Array | float) -> tuple[int, ...]:
        """Rows at the world that depend on others."""
        if self.plan is not None:
            return self.plan.last
        found = tuple(sorted(rank_rows(L, size, rounding=ROUNDING_OF_DIFFERENCES)[1]))
        self.made = self.made._replace(last=found)
        return found
