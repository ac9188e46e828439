"""Inverse kinematics: closed configurations at which tasks are fulfilled, within limits, for whole batches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from kinloop.algorithms.requests import refuse_constrained_loops
from kinloop.clusters.framing import framed
from kinloop.control.differential_ik import DifferentialIK
from kinloop.control.ik_iteration import MOST, iterate
from kinloop.control.ik_problem import Problem
from kinloop.control.ik_solution import IKSolution, IKStatus
from kinloop.control.limited_coordinates import Limits, limited_coordinates
from kinloop.control.tasks import Task
from kinloop.errors import MethodError
from kinloop.inputs import checked, checked_count, checked_number
from kinloop.interpreted import rowwise
from kinloop.kernels import Computed
from kinloop.robot import Robot
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

METHODS = ("native", "qp")
"""How steps are found: inside one kernel, or by a QP solver from Python, step by step."""


class InverseKinematics:
    """Finds configurations of a robot that fulfil tasks, loops closed at every step and limits kept.

    `tasks` are those of `kinloop.control.tasks`: weighted within a level, levels in strict order. `limits`: True for
    those of the model, {joint: (lower, upper)} for others besides or in their place, False for none; joints that
    follow from others through loops have theirs kept too. docs/control.md.
    """

    def __init__(self, robot: Robot, tasks: Sequence[Task], limits: Limits = True) -> None:
        refuse_constrained_loops(robot.tree.top, "InverseKinematics")
        self.robot, self.tasks = robot, tuple(tasks)
        if not self.tasks:
            raise MethodError("inverse kinematics needs at least one task, such as PoseTask('hand')")
        for task in self.tasks:
            task.bodies(robot.tree.top)  # which also looks for their names
        self.limits = limited_coordinates(robot.tree, limits)
        self._problem = Problem(framed(robot.tree), self.tasks, self.limits)

    @cached_property
    def kernel(self) -> Computed:
        """The whole search as a kernel: (q, targets, (tolerance, iterations)) to q, residuals, how it ended."""
        p = self._problem
        sizes = {"q": self.robot.nq, "targets": sum(p.target_sizes), "settings": 2}
        call = partial(iterate, p)
        return self.robot.kernels.make("inverse_kinematics", call, sizes, key=p.key, sources=("control",))

    @cached_property
    def differential(self) -> DifferentialIK:
        """The same tasks and limits as one QP per control cycle: a velocity from where the robot is."""
        return DifferentialIK(self.robot, self._problem)

    def solve(
        self,
        q: ArrayLike,
        targets: Sequence[ArrayLike],
        tolerance: float = 1e-9,
        iterations: int = 100,
        attempts: int = 1,
        method: str = "native",
        solver: str = "daqp",
        threads: int | None = None,
    ) -> IKSolution:
        """The q (nq) [rad, m] nearest to fulfilling all tasks that the search finds from q on, or rows of them.

        `targets` has a target for every task, in order. A task is reached where its largest error is at most
        `tolerance` [m, rad]. Rows that are not go on from random configurations, `attempts` in all, the same ones
        for every row. `method="qp"` finds every step by a QP `solver` of the package qpsolvers, in Python.
        """
        tolerance = checked_number("tolerance", tolerance, "be a positive number", float(np.finfo(float).tiny))
        rounds = checked_count("iterations", iterations)
        if rounds > MOST:
            raise MethodError(f"iterations must be at most {MOST}, received {iterations}")
        if method not in METHODS:
            raise MethodError(f"method {method!r} is not one of {', '.join(map(repr, METHODS))}")
        q, given = self._rows(q, targets)
        settings = np.array([tolerance, float(rounds)])

        def search(q: Array, given: Array) -> IKSolution:
            if method == "native":
                alone = threads is None  # the quickest call names nothing
                out = self.kernel(q, given, settings) if alone else self.kernel(q, given, settings, threads=threads)
                return IKSolution.of(self.tasks, *out)
            found = rowwise(partial(self.differential.search, solver=solver), q, given, settings)
            return IKSolution.of(self.tasks, *found)

        found, more = search(q, given), checked_count("attempts", attempts) - 1
        for start in self.robot.random_state(0, size=more)[0] if more else ():
            again = found.status != IKStatus.REACHED
            if not again.any():
                break
            found = found.improved(again, search(np.broadcast_to(start, q.shape)[again], given[again]))
        return found

    def velocity(
        self, q: ArrayLike, targets: Sequence[ArrayLike], dt: float, gain: float = 1.0, solver: str = "daqp"
    ) -> Array:
        """The v (nv) [rad/s, m/s] that brings tasks nearer within dt [s], by a part `gain` of their errors, as one QP.

        Joints stay within limits of position and velocity, dependent ones too. One state.
        """
        q, given = self._rows(q, targets)
        dt = checked_number("dt", dt, "be a positive number of seconds", float(np.finfo(float).tiny))
        gain = checked_number("gain", gain, "be between 0 and 1", 0.0, 1.0)
        return rowwise(partial(self.differential.velocity, dt=dt, gain=gain, solver=solver), q, given)

    def _rows(self, q: ArrayLike, targets: Sequence[ArrayLike]) -> tuple[Array, Array]:
        """q and all targets in a row, checked, with the same leading axes."""
        top = self.robot.tree.top
        q = checked("q", q, self.robot.nq)
        self.robot.check_closed(q)
        if len(targets) != len(self.tasks):
            names = ", ".join(t.label for t in self.tasks)
            raise MethodError(f"there are {len(self.tasks)} tasks ({names}), and {len(targets)} targets were given")
        flat = [t.flat_target(top, x) for t, x in zip(self.tasks, targets, strict=True)]
        lead = np.broadcast_shapes(q.shape[:-1], *(x.shape[:-1] for x in flat))
        given = np.concatenate([np.broadcast_to(x, (*lead, x.shape[-1])) for x in flat], axis=-1)
        return np.ascontiguousarray(np.broadcast_to(q, (*lead, q.shape[-1]))), given
