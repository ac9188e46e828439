"""The classical Runge-Kutta method of order 4 on closed loops.

It integrates positions and velocities of all joints by (1) of `smooth_motion`: every stage is evaluated on closed
loops, the order is 4 whatever the joints are, and the result does not depend on the charts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.clusters.closing import closest, project_velocity
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive
from kinloop.sim.integrators.fixed_step import FixedStep
from kinloop.sim.integrators.integrator import IntegratorOptions
from kinloop.sim.smooth_motion import closed_rate, state_rate
from kinloop.sim.stepper import Moved, System


@dataclass(frozen=True)
class RungeKutta(FixedStep):
    """`substeps` classical steps of order 4 within every dt; smooth forces only."""

    substeps: int = 8

    name = "rk4"

    @classmethod
    def make(cls, options: IntegratorOptions) -> Self:
        return cls(options.substeps)

    @property
    def key(self) -> tuple[Any, ...]:
        return self.name, self.substeps

    def step(self, system: System, q: Array, v: Array, qd: Array, memory: Array, u: Array) -> Moved:
        tree = system.tree
        _, qd, _ = tree.spanning_motion(q, v)
        q1, qd1, correction = runge_kutta_steps(tree, system.drive, q, qd, u, system.dt, self.substeps)
        return Moved(q1, qd1[tree.independent_dofs], qd1, memory, correction, q, {})


def runge_kutta(tree: ClusterTree, drive: Drive, q: Array, qd: Array, u: Array, h: float) -> tuple[Array, Array, Any]:
    """(q, qd) after the classical step of order 4, closed, and the size of the last correction."""

    def ahead(k: tuple[Array, Array], part: float) -> tuple[Array, Array]:
        return q + part * h * k[0], qd + part * h * k[1]

    k1 = closed_rate(tree, drive, (q, qd), u)
    k2 = state_rate(tree, drive, ahead(k1, 0.5), u)
    k3 = state_rate(tree, drive, ahead(k2, 0.5), u)
    k4 = state_rate(tree, drive, ahead(k3, 1.0), u)
    q, qd = (x + (h / 6.0) * (a + 2.0 * (b + c) + d) for x, a, b, c, d in zip((q, qd), k1, k2, k3, k4, strict=True))
    q, correction = closest(tree, q)
    return q, project_velocity(tree, q, qd), correction


def runge_kutta_steps(
    tree: ClusterTree, drive: Drive, q: Array, qd: Array, u: Array, h: float, n: int
) -> tuple[Array, Array, Any]:
    """(q, qd) after the time h in n classical steps, and the largest last correction: one rolled loop."""
    nq = len(q)

    def body(carry: Array, given: Array) -> Array:
        q, qd, correction = runge_kutta(tree, drive, carry[:nq], carry[nq:-1], given, h / n)
        return np.array([*q, *qd, sc.maximum(carry[-1], correction)])

    end = sc.repeat(n, body, np.array([*q, *qd, 0.0]), u)
    return end[:nq], end[nq:-1], end[-1]
