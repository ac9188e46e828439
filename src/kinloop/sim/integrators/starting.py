"""Accelerations before the beginning: what lets the first step have the order of all others.

A row that begins has no past steps. But where forces are smooth, its equations of motion have a solution before the
beginning too. A `Course` follows it backwards, x(-t) = x - h sum_j w_j(t) k_j with rates k_j met on the way, and what
`history` remembers is filled from accelerations there. Steps that follow add what is left out.

- Linkages: Kutta's method of order 3 goes back by two and a half steps at once, and the cubic with the states and rates
  at both ends leads to the two middles of steps between. All is wrong by order 4 in the step length, so that at most
  three differences are worth knowing.
- Robots with many joints: Euler's half step, and two accelerations. The second is that of the beginning itself.

Rates are those of `closed_rate` even where x is a little off the loops: there it is a smooth field too, whose solution
from closed loops stays on them.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.integrators.history import HALF, Past, combine
from kinloop.sim.singularity import is_blind, loop_speed, nearness
from kinloop.sim.smooth_motion import closed_rate
from kinloop.sim.stepper import MAX_SPEED, System
from kinloop.sim.turning_axes import accelerated

FAR = 2.5
"""How far back linkages go, in steps."""


class Course(NamedTuple):
    """A way back: rate k is met at x - h sum_j rows[k][j] k_j; some of them are used, met so many steps back."""

    rows: tuple[tuple[float, ...], ...]
    used: dict[int, Fraction]


def course(count: int) -> Course:
    """The way back where so many differences are kept."""
    if count < 4:
        return Course(((), (0.5,)), {0: Fraction(0), 1: HALF})
    end = (FAR / 6, 4 * FAR / 6, FAR / 6)
    rows = ((), (0.5 * FAR,), (-FAR, 2 * FAR), end, _between(end, 0.5), _between(end, 1.5))
    return Course(rows, {4: HALF, 5: 3 * HALF, 3: 5 * HALF})


def _between(end: tuple[float, ...], time: float) -> tuple[float, ...]:
    """Hermite's cubic at a time on the way to a far end with the row `end`: from the way and the rates at both ends."""
    s = time / FAR
    way = [w * s * s * (3.0 - 2.0 * s) for w in end]
    return (way[0] + time * (1.0 - s) ** 2, *way[1:], -time * s * (1.0 - s))


def difference_weights(times: list[Fraction]) -> list[list[float]]:
    """For each difference at the middle before the beginning, weights of accelerations at times in steps back."""
    middles = [HALF + k for k in range(len(times))]
    values = [[prod((m - b) / (a - b) for b in times if b != a) for a in times] for m in middles]  # Lagrange's
    return [
        [float(sum((-1) ** k * comb(j, k) * values[k][i] for k in range(j + 1))) for i in range(len(times))]
        for j in range(len(times))
    ]


def starting_memory(
    system: System, count: int, q: Array, qd: Array, u: Array, h: Any, impulses: int, straight: bool = False
) -> tuple[Array, Any]:
    """A `Past` of `count` differences, as a vector, for a row that begins at (q, qd); and whether it is lost.

    Where free bodies go `straight`, their linear accelerations are those in the axes of the world.
    """
    tree, own, nq, size = system.tree, system.drivers, len(q), len(q) + len(qd)
    each = size + len(qd) if straight else size  # numbers of a stage: rates, and accelerations to be remembered
    rows, used = course(count)
    stages, none = len(rows), np.zeros(len(own))
    clock = [system.outside.t] * len(system.clock)
    ends = 1 + size + system.nu  # where h, the state and the controls end in what a stage is given

    def body(carry: Array, given: Array) -> Array:
        """Carried are the rates, the last one first, how many were met, and the smallest nearness."""
        rates, stage, nearest = carry[:-2], carry[-2], carry[-1]
        h, x, u = given[0], given[1 : 1 + size], given[1 + size : ends]
        now = system.with_numbers(given[ends + len(clock) :]) if system.numbers else system
        for back in range(1, stages):  # the rate met so many evaluations before
            w = [row[k - back] if 0 <= k - back < len(row) else 0.0 for k, row in enumerate(rows)]
            x = x - (h * _at_stage(w, stage)) * rates[(back - 1) * each : (back - 1) * each + size]
        outside = system.outside
        if clock:
            outside = outside.at(given[ends] - h * _at_stage([sum(row) for row in rows], stage))
        q, qd = now.tree.top.normalized(x[:nq]), x[nq:]
        dq, dqd = closed_rate(now.tree, now.drive, (q, qd), u, outside)
        near = sc.minimum(nearest, nearness(now.tree, q))
        felt = [accelerated(now.tree, q, qd, dqd)] if straight else []
        return np.concatenate([dq, dqd, *felt, rates[:-each], np.array([stage + 1.0, near])])

    start = np.array([*np.zeros(stages * each), 0.0, 1.0])
    end = sc.repeat(stages, body, start, np.array([h, *q, *qd, *u, *clock, *system.numbers]))
    met = [end[(stages - k) * each - len(qd) : (stages - k) * each][own] for k in used]
    lost = is_blind(end[-1], loop_speed(tree, qd), h)
    lost = sc.logical_or(lost, sc.logical_not(h * h * sc.squared(np.concatenate(met)) < MAX_SPEED**2))  # a nan too
    found = [sc.where(lost, none, combine(w, met)) for w in difference_weights(list(used.values()))]
    known = sc.where(lost, 0.0, float(len(found)))
    past = [*found, *[none] * (count - len(found))]
    return Past(past, known, np.array([h, *u]), np.zeros(impulses)).vector(), lost


def _at_stage(values: list[float], stage: Any) -> Any:
    """The value of this stage."""
    out: Any = values[-1]
    for k in reversed(range(len(values) - 1)):
        out = sc.where(stage < k + 0.5, values[k], out)
    return out
