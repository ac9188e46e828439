"""Rounds of small steps, for what exact steps leave unsolved; and without lifting, where that cannot be done.

Small steps ((3) of `solver`) come to a solution where exact ones go in circles, if there is one. There is none where
shapes that begin in each other, or joints beyond their stops, are asked to come apart at speeds that contradict one
another. Rest is always possible: then it begins anew without impulses, and contacts and stops only keep things from
going deeper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array

MOST_SMALL = 400
"""So many times the usual number of rounds are spent at most with small steps, and again without lifting: with half of
them 6 of 10,000 robots that were dropped at random were left with 1 to 3 cm/s in some step."""

JAMMED = 1e-2
"""Velocities that the solver leaves changing by more than this [m/s, rad/s] are asked for in vain."""

LIFTED = 1e-3
"""Where nothing is to be lifted faster than this [m/s, rad/s], it is not that which is impossible."""

Sweep = Callable[..., Any]
"""A round of small steps: from w, impulses and the last change, given values, tables, and whether nothing is lifted."""

Lift = Callable[..., Any]
"""How fast something is to be lifted [m/s, rad/s], at most: of given values and tables."""


def small_steps(
    sweep: Sweep, lift: Lift, most: int, carry: Any, given: Any, when: Any, rough: float, *table: Any
) -> tuple[Any, Any, Any]:
    """What `carry` leads to where it is no solution yet and `when` holds, after how many rounds, and whether at rest.

    So many rounds are spent at `most`, and as many again without lifting.

    Each round begins ahead of the last one, by a part of what that changed: more from round to round [Nesterov1983],
    and none after a round that changed more than the one before.
    """
    n = len(carry) - 1

    def body(c: Any, given: Any, *table: Any) -> Array:
        taken, count, rests = c[0], c[1], c[2] > 0.0
        before, now, last = np.asarray(c[3 : n + 3]), np.asarray(c[n + 3 : -1]), c[-1]
        ahead = now + (count / (count + 3.0)) * (now - before)
        new = sweep([*ahead, last], given, *table, rests)
        gives = sc.logical_and(new[-1] > JAMMED, sc.logical_and(lift(given, *table) > LIFTED, sc.logical_not(rests)))
        gives = sc.logical_and(taken + 1.0 >= float(most), gives)
        count = sc.where(sc.logical_or(gives, new[-1] > last), 0.0, count + 1.0)
        now, end = ([sc.where(gives, 0.0, x) for x in xs] for xs in (now, new[:-1]))
        return _vector([taken + 1.0, count, sc.where(sc.logical_or(rests, gives), 1.0, 0.0), *now, *end, new[-1]])

    def done(c: Any) -> Any:
        spent = sc.logical_and(c[0] >= float(most), sc.logical_not(c[2] > 0.0))
        return sc.logical_or(c[-1] <= rough, spent)

    begin = _vector([0.0, 0.0, 0.0, *carry[:-1], *carry])
    again = sc.logical_and(when, carry[-1] > rough)
    end = sc.repeat(2 * most, body, begin, given, again, done, 0, *table)
    return end[n + 3 :], end[0], end[2] > 0.0


def _vector(values: list[Any]) -> Array:
    symbolic = any(isinstance(x, sc.Symbol) for x in values)
    return np.array(values, dtype=object if symbolic else float)
