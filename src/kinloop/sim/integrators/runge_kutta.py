"""The classical Runge-Kutta method of order 4 on closed loops.

It integrates positions and velocities of all joints by (1) of `smooth_motion`: every stage is evaluated on closed
loops, and the order is 4 whatever the joints are. A step that would evaluate the acceleration where it is lost to
rounding (`singularity`) is refused; the row then takes steps of other lengths, which do not meet that configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.sim.actuators import Drive, joint_forces
from kinloop.sim.integrators.fixed_step import FixedStep
from kinloop.sim.integrators.integrator import IntegratorOptions
from kinloop.sim.on_loops import closed_twice, projected
from kinloop.sim.singularity import is_blind, loop_speed
from kinloop.sim.smooth_motion import state_rate
from kinloop.sim.stepper import Moved, System
from kinloop.spatial.transform import Array


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

    def step(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any) -> Moved:
        tree, part = system.tree, h * (1.0 / self.substeps)
        nq, start = len(q), np.array([*q, *qd, 0.0, 1.0, 0.0])

        def body(carry: Array, given: Array) -> Array:
            x, (worst, nearest, work) = carry[:-3], carry[-3:]
            end = runge_kutta(tree, system.drive, x[:nq], x[nq:], given[1:], given[0])
            return np.array(
                [*end.q, *end.qd, sc.maximum(worst, end.correction), sc.minimum(nearest, end.nearness), work + end.work]
            )

        end = sc.repeat(self.substeps, body, start, np.array([part, *u]))
        worst, nearest, work = end[-3:]
        blind = is_blind(nearest, loop_speed(tree, qd), part)
        correction = sc.where(blind, np.inf, worst)
        return Moved(end[:nq], end[nq:-3], memory, correction, nearest, work, {})


class Stage(NamedTuple):
    """The end of one classical step."""

    q: Array
    qd: Array
    correction: Any
    nearness: Any
    work: Any


def runge_kutta(tree: ClusterTree, drive: Drive, q: Array, qd: Array, u: Array, h: Any) -> Stage:
    """(q, qd) after the classical step of order 4, closed; what forces did, by the same rule."""

    def ahead(k: tuple[Array, Array], part: float) -> tuple[Array, Array]:
        return q + (part * h) * k[0], qd + (part * h) * k[1]

    def power(x: tuple[Array, Array]) -> Any:
        return joint_forces(drive, *x, u) @ x[1]

    x1 = (q, qd)
    k1, r1 = state_rate(tree, drive, x1, u)
    x2 = ahead(k1, 0.5)
    k2, r2 = state_rate(tree, drive, x2, u)
    x3 = ahead(k2, 0.5)
    k3, r3 = state_rate(tree, drive, x3, u)
    x4 = ahead(k3, 1.0)
    k4, r4 = state_rate(tree, drive, x4, u)
    q, qd = (x + (h / 6.0) * (a + 2.0 * (b + c) + d) for x, a, b, c, d in zip(x1, k1, k2, k3, k4, strict=True))
    q, correction = closed_twice(tree, tree.top.normalized(q))
    near = sc.minimum(sc.minimum(r1, r2), sc.minimum(r3, r4))
    work = (h / 6.0) * (power(x1) + 2.0 * (power(x2) + power(x3)) + power(x4))
    return Stage(q, projected(tree, q, qd), correction, near, work)
