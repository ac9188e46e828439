"""The classical Runge-Kutta method of order 4 on closed loops.

It integrates positions and velocities of all joints by (1) of `smooth_motion`: every stage is evaluated on closed
loops, and the order is 4 whatever the joints are. Where a step would evaluate the acceleration so near to a singular
configuration that it is lost to rounding (`singularity`), those of the parts of steps before lead over it (`history`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.actuators import joint_forces
from kinloop.sim.integrators.fixed_step import FixedStep
from kinloop.sim.integrators.history import coasted, extrapolated, read_past, respaced, updated, weights
from kinloop.sim.integrators.integrator import IntegratorOptions
from kinloop.sim.on_loops import closed_twice, projected
from kinloop.sim.outside import Outside
from kinloop.sim.singularity import is_blind, loop_speed
from kinloop.sim.smooth_motion import state_rate, working_forces
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
        """Differences of the acceleration at the beginnings of parts, how many are known, step length and controls."""
        return (MEMORY * len(system.drivers) + 2 + system.nu) if system.bends else 0

    def respaced(self, system: System, memory: Array, h: float) -> Array:
        return respaced(memory, MEMORY, len(system.drivers), h, since=1.0) if memory.shape[1] else memory

    def step(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any) -> Moved:
        nq, both, part, held = len(q), len(q) + len(qd), h * (1.0 / self.substeps), np.array([h, *u])
        known = read_past(memory, MEMORY, len(system.drivers), held).known_differences() if len(memory) else memory

        def body(carry: Array, given: Array) -> Array:
            now, carry = carry[:timed], carry[timed:]
            x, before, (worst, nearest, work) = carry[:both], carry[both:-3], carry[-3:]
            end = runge_kutta(system.at(*([now] if timed else [])), x[:nq], x[nq:], before, given[1:], given[0])
            worst, nearest = sc.maximum(worst, end.correction), sc.minimum(nearest, end.nearness)
            return np.array([*(now + given[0]), *end.q, *end.qd, *end.known, worst, nearest, work + end.work])

        timed = len(system.clock)
        start = np.array([*[system.outside.t] * timed, *q, *qd, *known, 0.0, 1.0, 0.0])
        end = sc.repeat(self.substeps, body, start, np.array([part, *u]))[timed:]
        memory = np.array([*end[both:-3], *held]) if len(memory) else memory
        worst, nearest, work = end[-3:]
        pushed = joint_forces(system.drive, q, qd, u) if "pushed" in system.sensed else None
        return Moved(end[:nq], end[nq:both], memory, worst, nearest, work, {}, pushed=pushed)


class Part(NamedTuple):
    """The end of one classical step; `known` are differences of the acceleration, and their number."""

    q: Array
    qd: Array
    correction: Any
    known: Array
    nearness: Any
    work: Any


def runge_kutta(system: System, q: Array, qd: Array, known: Array, u: Array, h: Any) -> Part:
    """(q, qd) after the classical step of order 4, closed; what forces did, by the same rule.

    Where accelerations on the way are lost to rounding the steps before, of which differences are `known`, lead on.
    """
    tree, drive, now = system.tree, system.drive, system.outside
    halfway, then = now.after(0.5 * h), now.after(h)

    def ahead(k: tuple[Array, Array], part: float) -> tuple[Array, Array]:
        return q + (part * h) * k[0], qd + (part * h) * k[1]

    def power(x: tuple[Array, Array], outside: Outside) -> Any:
        return working_forces(tree.top, drive, outside, *x, u) @ x[1]

    x1 = (q, qd)
    k1, r1 = state_rate(tree, drive, x1, u, now)
    x2 = ahead(k1, 0.5)
    k2, r2 = state_rate(tree, drive, x2, u, halfway)
    x3 = ahead(k2, 0.5)
    k3, r3 = state_rate(tree, drive, x3, u, halfway)
    x4 = ahead(k3, 1.0)
    k4, r4 = state_rate(tree, drive, x4, u, then)
    plain = tuple(x + (h / 6.0) * (a + 2.0 * (b + c) + d) for x, a, b, c, d in zip(x1, k1, k2, k3, k4, strict=True))
    near = sc.minimum(sc.minimum(r1, r2), sc.minimum(r3, r4))
    between = power(x2, halfway) + power(x3, halfway)
    work = (h / 6.0) * (power(x1, now) + 2.0 * between + power(x4, then))
    if not len(known):
        return Part(*_closed(tree, *plain), known, near, work)
    way = _Way.of(system, x1, k1[1][system.drivers], r1, known, h)
    blind = is_blind(near, way.speed, h)
    q, qd, correction = _closed(tree, *(sc.where(blind, a, b) for a, b in zip(way.end, plain, strict=True)))
    correction = sc.where(sc.logical_and(blind, way.unknown), np.inf, correction)
    # stages beyond a singular configuration may be no numbers: what forces did follows from both ends
    work = sc.where(blind, (0.5 * h) * (power(x1, now) + power((q, qd), then)), work)
    return Part(q, qd, correction, way.known, near, work)


def _closed(tree: ClusterTree, q: Array, qd: Array) -> tuple[Array, Array, Any]:
    """The closed state nearest to (q, qd), and how far q was moved."""
    q, correction = closed_twice(tree, tree.top.normalized(q))
    return q, projected(tree, q, qd), correction


class _Way(NamedTuple):
    """Where the accelerations of the steps before lead: the end of a step, differences known there, at which speed.

    `unknown` says that too few are known for that.
    """

    end: tuple[Array, Array]
    known: Array
    speed: Any
    unknown: Any

    @staticmethod
    def of(system: System, x: tuple[Array, Array], a: Array, near: Any, known: Array, h: Any) -> _Way:
        """From the state x, with the acceleration a of its drivers, which is lost where x is too near."""
        speed, count, n = loop_speed(system.tree, x[1]), known[-1], len(a)
        before = [known[k * n : (k + 1) * n] for k in range(MEMORY)]
        a = sc.where(is_blind(near, speed, h), extrapolated(before, count), a)
        differences, w = updated(a, before), weights(MEMORY + 1, Fraction(0), Fraction(1))
        end = coasted(system.tree, *x, differences, count + 1.0, w, h)
        now = np.array([*np.concatenate(differences[:MEMORY]), sc.minimum(count + 1.0, float(MEMORY))])
        return _Way(end, now, speed, count < LEAST_KNOWN)
