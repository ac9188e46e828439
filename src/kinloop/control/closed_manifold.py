"""The manifold of closed configurations, as solvers of trajectories ask for it: steps along it and their slopes."""

from __future__ import annotations

from functools import partial

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.differentiated import closed_rate
from kinloop.algorithms.trees import positions
from kinloop.control.motions import SOURCES
from kinloop.control.smooth_dynamics import turned
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.linearization.traced import Traced


class ClosedManifold:
    """Closed configurations of a robot; steps (nv,) are those of `robot.integrate` and `robot.difference`."""

    def __init__(self, robot: Robot) -> None:
        self.robot, n, tree = robot, robot.nq, robot.tree

        def between(q0: Array, q1: Array) -> dict[str, Array]:
            found, units = np.asarray(positions.difference(tree, q0, q1), dtype=object), np.eye(tree.nv)
            both, none = [*q0, *q1], np.zeros(n)
            first = [sc.jvp(found, both, [*closed_rate(tree, q0, e), *none]) for e in units]
            second = [sc.jvp(found, both, [*none, *closed_rate(tree, q1, e)]) for e in units]
            return {"first": np.stack(first, axis=1), "second": np.stack(second, axis=1)}

        make = partial(robot.kernels.make, sources=(*SOURCES, "control/closed_manifold.py"))
        sizes, step = {"q0": n, "q1": n}, {"q": n, "step": robot.nv}
        self._between = make("difference_slopes", Traced(between, sizes), sizes)
        call = Traced(lambda q, step: dict(zip(("first", "second"), turned(robot, q, step), strict=True)), step)
        self._ahead = make("integrate_slopes", call, step)

    def difference_slopes(self, q0: Array, q1: Array) -> tuple[Array, Array]:
        """How difference(q0, q1) changes with q0 and with q1, (nv, nv) each."""
        first, second = self._between(q0, q1)
        return first, second

    def integrate_slopes(self, q: Array, step: Array) -> tuple[Array, Array]:
        """How integrate(q, step) changes with q and with the step, (nv, nv) each."""
        first, second = self._ahead(q, step)
        return first, second
