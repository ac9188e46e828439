"""Accelerations before the beginning: what lets the first step have the order of all others.

A row that begins has no past steps. But where forces are smooth, its equations of motion have a solution before the
beginning too. The classical Runge-Kutta method of order 4 follows it backwards through the middles of the steps that
would have been there, and what `history` remembers is filled from these. It is wrong by order 5 in the step length, so
that at most three differences are worth knowing; steps that follow add the others.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.integrators.history import Past
from kinloop.sim.singularity import is_blind, loop_speed
from kinloop.sim.smooth_motion import state_rate
from kinloop.sim.stepper import MAX_SPEED, System

STAGES = 4
"""Evaluations in a step of the Runge-Kutta method."""


def worth_knowing(count: int) -> int:
    """Of so many differences as are kept, those that are found: half, since the first steps find the others.

    Those of order 3 and higher are as small as what the method does wrong.
    """
    return min(3, max(1, count // 2))


class Backwards(NamedTuple):
    """On the way back: the state x at the end of the last whole step, sums and the last rate of the step in progress.

    `met` are the accelerations at the ends of whole steps in the order of time; `stage` counts evaluations, `nearest`
    is the smallest nearness to a singular configuration.
    """

    x: Array
    total: Array
    rate: Array
    met: Array
    stage: Any
    nearest: Any

    def vector(self) -> Array:
        return np.concatenate([self.x, self.total, self.rate, self.met, np.array([self.stage, self.nearest])])


def starting_memory(
    system: System, count: int, q: Array, qd: Array, u: Array, h: Any, impulses: int
) -> tuple[Array, Any]:
    """A `Past` of `count` differences, as a vector, for a row that begins at (q, qd); and whether it is lost."""
    tree, own, nq = system.tree, system.drivers, len(q)
    size, n, found = len(q) + len(qd), len(own), worth_knowing(count)

    def read(v: Array) -> Backwards:
        x, total, rate, met = np.split(v[:-2], [size, 2 * size, 3 * size])
        return Backwards(x, total, rate, met, v[-2], v[-1])

    def body(carry: Array, given: Array) -> Array:
        b, h, u = read(carry), given[0], given[1:]
        whole = sc.floor(b.stage * (1.0 / STAGES))
        stage = b.stage - STAGES * whole
        step = sc.where(whole > 0.0, -h, -0.5 * h)
        first, last = stage < 1.0, stage > 2.5
        ahead = sc.where(first, 0.0, sc.where(last, 1.0, 0.5))
        at = b.x + (ahead * step) * b.rate
        (dq, dqd), near = state_rate(tree, system.drive, (at[:nq], at[nq:]), u)
        rate = np.concatenate([dq, dqd])
        total = sc.where(first, rate, b.total + sc.where(last, 1.0, 2.0) * rate)
        x = sc.where(last, b.x + (step * (1.0 / 6.0)) * total, b.x)
        met = sc.where(first, np.concatenate([dqd[own], b.met[: (found - 1) * n]]), b.met)
        return Backwards(x, total, rate, met, b.stage + 1.0, sc.minimum(b.nearest, near)).vector()

    zeros = np.zeros(size)
    start = Backwards(np.concatenate([q, qd]), zeros, zeros, np.zeros(found * n), 0.0, 1.0).vector()
    end = read(sc.repeat(found * STAGES + 1, body, start, np.array([h, *u])))
    past = _differences(end.met, found, n)
    lost = is_blind(end.nearest, loop_speed(tree, qd), h)
    lost = sc.logical_or(lost, sc.logical_not(h * h * sc.squared(end.met) < MAX_SPEED**2))  # a nan is lost too
    known = sc.where(lost, 0.0, float(found))
    past = [sc.where(lost, np.zeros(n), d) for d in past] + [np.zeros(n)] * (count - found)
    return Past(past, known, np.array([h, *u]), np.zeros(impulses)).vector(), lost


def _differences(met: Array, count: int, n: int) -> list[Array]:
    """Backward differences of accelerations in the order of time, at the last of them."""
    values, out = [met[k * n : (k + 1) * n] for k in range(count)], []
    while values:
        out.append(values[-1])
        values = [b - a for a, b in pairwise(values)]
    return out
