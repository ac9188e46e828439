"""The classical Runge-Kutta method of order 4 on closed loops.

It integrates positions and velocities of all joints by (1) of `smooth_motion`: every stage is evaluated on closed
loops, and the order is 4 whatever the joints are. Where a step would evaluate the acceleration so near to a singular
configuration that it is lost to rounding (`singularity`), those of the steps before lead over it (`history`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive, joint_forces
from kinloop.sim.integrators.fixed_step import FixedStep
from kinloop.sim.integrators.history import Past, coasted, extrapolated, read_past, respaced, updated, weights
from kinloop.sim.integrators.integrator import IntegratorOptions
from kinloop.sim.on_loops import closed_twice, projected
from kinloop.sim.singularity import is_blind, loop_speed
from kinloop.sim.smooth_motion import state_rate
from kinloop.sim.stepper import Moved, System

MEMORY = 4
"""Differences of the acceleration that are kept."""

LEAST_KNOWN = 2.0
"""A row passes blindly from so many known differences on; before, its step is refused."""


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

    def memory_size(self, system: System) -> int:
        """Differences of the acceleration at the beginnings of steps, how many are known, step length and controls."""
        return (MEMORY * len(system.drivers) + 2 + len(system.drive.motors)) if system.bends else 0

    def respaced(self, system: System, memory: Array, h: float) -> Array:
        return respaced(memory, MEMORY, len(system.drivers), h, since=1.0) if memory.shape[1] else memory

    def step(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any) -> Moved:
        tree, nq, part = system.tree, len(q), h * (1.0 / self.substeps)

        def body(carry: Array, given: Array) -> Array:
            x, (worst, nearest, work) = carry[:-3], carry[-3:]
            end = runge_kutta(tree, system.drive, x[:nq], x[nq:], given[1:], given[0])
            worst, nearest = sc.maximum(worst, end.correction), sc.minimum(nearest, end.nearness)
            return np.array([*end.q, *end.qd, worst, nearest, work + end.work])

        end = sc.repeat(self.substeps, body, np.array([*q, *qd, 0.0, 1.0, 0.0]), np.array([part, *u]))
        worst, nearest, work = end[-3:]
        moved = Moved(end[:nq], end[nq:-3], memory, worst, nearest, work, {})
        return self._remembering(system, q, qd, memory, u, h, moved) if len(memory) else moved

    def _remembering(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any, moved: Moved) -> Moved:
        """The step, or where accelerations on the way are lost to rounding the one that the steps before lead to."""
        tree, held = system.tree, np.array([h, *u])
        past = read_past(memory, MEMORY, len(system.drivers), held)
        blind = is_blind(moved.nearness, loop_speed(tree, qd), h * (1.0 / self.substeps))
        rates, near = state_rate(tree, system.drive, (q, qd), u)
        a = rates[1][system.drivers]
        lost = is_blind(near, loop_speed(tree, qd), h)
        ahead = extrapolated(past.differences, past.known)
        a = sc.where(lost, ahead, a)
        differences, w = updated(a, past.differences), weights(MEMORY + 1, Fraction(0), Fraction(1))
        ahead, ahead_qd = coasted(tree, q, qd, differences, past.known + 1.0, w, h)
        ahead, correction = closed_twice(tree, ahead)
        unknown = sc.logical_and(blind, past.known < LEAST_KNOWN)
        q_next = sc.where(blind, ahead, moved.q)
        qd_next = sc.where(blind, projected(tree, ahead, ahead_qd), moved.qd)
        size = sc.where(unknown, np.inf, sc.where(blind, correction, moved.correction))
        known = sc.minimum(past.known + 1.0, float(MEMORY))
        memory = Past(differences[:MEMORY], known, held, memory[:0]).vector()
        # stages beyond a singular configuration may be no numbers: what forces did follows from both ends
        powers = joint_forces(system.drive, q, qd, u) @ qd + joint_forces(system.drive, q_next, qd_next, u) @ qd_next
        work = sc.where(blind, (0.5 * h) * powers, moved.work)
        return moved._replace(q=q_next, qd=qd_next, memory=memory, correction=size, work=work)


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
