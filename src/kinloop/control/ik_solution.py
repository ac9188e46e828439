"""What inverse kinematics found: configurations, how far tasks are from their targets, how the search ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from kinloop.control.tasks import Task
from kinloop.scalar import Array


class IKStatus(IntEnum):
    """How a search ended."""

    REACHED = 1
    """All tasks of the first level are at their targets."""
    AT_LIMIT = 2
    """No step brings tasks nearer, and limits of joints hold some back."""
    NOT_REACHED = 3
    """No step brings tasks nearer: targets are out of reach or contradict each other, or this is a singular place."""
    UNFINISHED = 4
    """Iterations ran out; the search can go on from q."""


SENTENCES = {
    IKStatus.AT_LIMIT: "joint limits hold it back",
    IKStatus.NOT_REACHED: "no step from there brings it nearer",
    IKStatus.UNFINISHED: "the iterations ran out; call solve again from the q that was found",
}


@dataclass(frozen=True)
class IKSolution:
    """The best configuration q (nq) [rad, m] found, of one search or of a batch of them (B, nq).

    `residual` (tasks) is the largest error of every task [m, rad], `status` an `IKStatus`, `iterations` how many rounds
    it took, `beyond` how far the joint worst off is outside its limits [rad, m]: zero unless the search began outside.
    """

    tasks: tuple[Task, ...]
    q: Array
    residual: Array
    status: Array
    iterations: Array
    beyond: Array

    @staticmethod
    def of(tasks: Sequence[Task], q: Array, residual: Array, ended: Array) -> IKSolution:
        """From the outputs of the search: q (nq) [rad, m], residual (tasks) [m, rad] and how it ended."""
        status, iterations = (ended[..., k].astype(int) for k in (0, 1))
        return IKSolution(tuple(tasks), q, residual, status, iterations, ended[..., 2])

    @property
    def reached(self) -> Array:
        """Whether all tasks of the first level are at their targets, of every row (B,)."""
        return np.asarray(self.status == IKStatus.REACHED)

    @property
    def reasons(self) -> list[str]:
        """A sentence for every row, in order: empty where tasks are reached."""
        return [self._reason(k) for k in np.ndindex(self.status.shape)]

    def _reason(self, k: tuple[int, ...]) -> str:
        status = IKStatus(int(self.status[k]))
        if status == IKStatus.REACHED:
            return ""
        first = min(t.level for t in self.tasks)
        worst = max((float(r), t.label) for r, t in zip(self.residual[k], self.tasks, strict=True) if t.level == first)
        return f"{worst[1]} is off by {worst[0]:.3g} [m, rad]: {SENTENCES[status]}"

    def improved(self, rows: Array, other: IKSolution) -> IKSolution:
        """This solution with some rows (n,) replaced where the other one, of these rows, is better."""
        first = [t.level == min(t.level for t in self.tasks) for t in self.tasks]
        before, after = (np.max(s.residual[..., first], axis=-1) for s in (self, other))
        kept = np.nonzero(np.atleast_1d(rows))
        better = other.reached | ((after < before[rows]) & (other.beyond <= self.beyond[rows]))

        def merge(a: Array, b: Array) -> Array:
            out = np.array(a)
            flat = out.reshape(*np.shape(np.atleast_1d(rows)), *out.shape[np.ndim(rows) :])
            some = flat[kept]
            some[better] = b[better]
            flat[kept] = some
            return flat.reshape(out.shape)

        names = ("q", "residual", "status", "iterations", "beyond")
        return IKSolution(self.tasks, *(merge(getattr(self, n), getattr(other, n)) for n in names))
