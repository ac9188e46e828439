"""One step of damped least squares between limits, with levels, on numbers or symbols.

Rows J_k dv = e_k of levels k = 0, 1, ... and limits low <= A dv <= high. With the damping D, the step of level k
minimises

    |J_k dv - e_k|^2 + dv^T D dv    with    J_j dv = y_j for j < k,    low <= A dv <= high                           (1)

where y_j = J_j dv_j is what the levels before have made of theirs. It is found by a primal active-set method: from a
step that keeps all limits towards the best one on those that are active, up to the next limit on the way, which joins
them; once there, the limit that pulls inward most is let go. Every pass lessens (1), and keeps all limits.

The equations of (1), and those of active limits, are taken by the method of multipliers: rows with the large weight
rho, and what is left of them given back twice, which leaves (1 / rho)^3 of it. So the matrix keeps the sparsity of the
tree: eliminated from the leaves on it has no fill-in, and equations that depend on each other (singular legs, redundant
limits) do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.tangent_frame import plain
from kinloop.linear import Factor, gram
from kinloop.scalar import Array

LIMIT, KEPT = 1e6, 1e8
"""Weights rho of active limits and of rows of levels before, against weights of tasks of up to 1. The latter may be
nearly dependent."""

GIVEN_BACK = 2

PASSES = 20
"""Changes of the active limits in a step, at most; the next step goes on from there."""

CROSSED = 1e-10
"""A step may cross a limit by so much [rad, m]: limits are set a little more inside."""

PULL = 1e-8
"""A multiplier that pulls inward by less, as a part of what tasks pull with, is rounding."""


class Rows(NamedTuple):
    """Rows J dv = e, weighted."""

    J: Array
    e: Array


class Bounded(NamedTuple):
    """Rows A dv between `low` and `high`."""

    A: Array
    low: Array
    high: Array


class Step(NamedTuple):
    """The step, and which limits are active at its end: -1 the lower, 1 the upper, 0 none."""

    dv: Array
    active: list[Any]


def damped_step(levels: Sequence[Rows], D: Sequence[Array], limits: Bounded, active: Sequence[Any]) -> Step:
    """The step of all levels, each with its damping D, from a guess of the active limits."""
    n = len(D[0])
    H_kept, right_kept, kept = np.zeros((n, n)), np.zeros(n), list[Rows]()
    step = Step(np.zeros(n), [_begins(f, a, b) for f, a, b in zip(active, *limits[1:], strict=True)])
    for rows, d in zip(levels, D, strict=True):
        square = gram(rows.J, rows.J)
        H, right = np.diag(d) + square + H_kept, rows.J.T @ rows.e + right_kept
        step = _level(H, right, kept, limits, step)
        kept.append(Rows(rows.J, rows.J @ step.dv))
        H_kept, right_kept = H_kept + KEPT * square, right_kept + KEPT * (rows.J.T @ kept[-1].e)
    return step


def _begins(flag: Any, low: Any, high: Any) -> Any:
    """Whether a limit is active before the first pass: it was, and is where it was; or it is violated."""
    upper = sc.where(sc.logical_or(high < 0.0, sc.logical_and(flag > 0.5, high <= CROSSED)), 1.0, 0.0)
    return sc.where(sc.logical_or(low > 0.0, sc.logical_and(flag < -0.5, low >= -CROSSED)), -1.0, upper)


def _level(H: Array, right: Array, kept: Sequence[Rows], limits: Bounded, step: Step) -> Step:
    """The step of one level: passes until the active limits are the right ones."""
    if not step.active:
        return Step(_solved(Factor(H[::-1, ::-1]), right, kept), [])
    n = len(right)
    values, restore = _packed([H, right, *(x for r in kept for x in r), *limits])

    def body(carry: Array, _: Array, shared: Any = ()) -> Array:
        H, right, *rest = restore(shared)
        rows = [Rows(*rest[2 * k : 2 * k + 2]) for k in range(len(kept))]
        now = Step(plain(np.array(carry[:n], dtype=object)), list(carry[n:-1]))
        then, done = _pass(H, right, rows, Bounded(*rest[-3:]), now)
        return np.array([*then.dv, *then.active, done], dtype=object)

    begin = np.array([*step.dv, *step.active, 0.0], dtype=object)
    end = sc.repeat(PASSES, body, begin, (), until=lambda c: c[-1] > 0.5, usual=2, shared=values)
    return Step(plain(np.array(end[:n], dtype=object)), list(end[n:-1]))


def _pass(H: Array, right: Array, kept: Sequence[Rows], limits: Bounded, step: Step) -> tuple[Step, Any]:
    """One pass, and whether it was the last."""
    x, flags = step
    best, pull = _held(H, right, kept, limits, flags)
    d = best - x
    part: Any = 1.0
    ways = []
    for f, a, low, high in zip(flags, *limits, strict=True):
        move, at = a @ d, a @ x
        up = move > 0.0
        room = sc.maximum(sc.where(up, high - at, at - low), 0.0)
        blocks = sc.logical_and(sc.abs(f) < 0.5, sc.abs(move) > room + CROSSED)
        ways.append(sc.where(blocks, room / sc.where(blocks, sc.abs(move), 1.0), 2.0))
        part = sc.minimum(part, ways[-1])
    whole = part >= 1.0
    worst: Any = 0.0
    for f, y in zip(flags, pull, strict=True):
        worst = sc.minimum(worst, f * y)
    drops = sc.logical_and(whole, worst < -PULL * sc.largest(list(right)))
    after = []
    for f, y, way, a in zip(flags, pull, ways, limits.A, strict=True):
        joins = sc.where(way <= part, sc.where(a @ d > 0.0, 1.0, -1.0), 0.0)
        stays = sc.where(sc.logical_and(drops, f * y <= worst), 0.0, f)
        after.append(sc.where(sc.abs(f) > 0.5, stays, sc.where(whole, 0.0, joins)))
    done = sc.logical_and(whole, sc.logical_not(drops))
    return Step(x + part * d, after), sc.where(done, 1.0, 0.0)


def _held(
    H: Array, right: Array, kept: Sequence[Rows], limits: Bounded, flags: Sequence[Any]
) -> tuple[Array, list[Any]]:
    """The best step with the active limits held, and their multipliers, positive where tasks pull upward."""
    held = [sc.where(sc.abs(f) > 0.5, LIMIT, 0.0) for f in flags]
    goal = [
        sc.where(f > 0.5, high, sc.where(f < -0.5, low, 0.0))
        for f, low, high in zip(flags, limits.low, limits.high, strict=True)
    ]
    H = H.astype(object)
    for w, a in zip(held, limits.A, strict=True):
        there = [k for k, x in enumerate(a) if not (isinstance(x, float) and x == 0.0)]
        for i in there:
            for j in there:
                H[i, j] = H[i, j] + w * a[i] * a[j]
    factor, push, x = Factor(plain(H)[::-1, ::-1]), [0.0] * len(flags), np.zeros(len(right))
    for _ in range(1 + GIVEN_BACK):
        for i, a in enumerate(limits.A):
            back = held[i] * (goal[i] - a @ x)
            push[i] = push[i] + back
            right = right + a * back
        x = factor.solve(right[::-1])[::-1]
        right = _given_back(right, kept, x)
    return x, [w * (a @ x) - y for w, a, y in zip(held, limits.A, push, strict=True)]


def _solved(factor: Factor, right: Array, kept: Sequence[Rows]) -> Array:
    """The step without limits."""
    x = factor.solve(right[::-1])[::-1]
    for _ in range(GIVEN_BACK if kept else 0):
        right = _given_back(right, kept, x)
        x = factor.solve(right[::-1])[::-1]
    return x


def _given_back(right: Array, kept: Sequence[Rows], x: Array) -> Array:
    for r in kept:
        right = right + KEPT * (r.J.T @ (r.e - r.J @ x))
    return right


def _packed(arrays: Sequence[Array]) -> tuple[Array, Callable[[Any], list[Array]]]:
    """The symbols in arrays as one vector, and what puts others in their places: numbers stay what they are."""
    found = [x for a in arrays for x in a.flat if isinstance(x, sc.Symbol)]

    def restore(values: Any) -> list[Array]:
        given = iter(values)
        out = []
        for a in arrays:
            filled = np.empty(a.shape, dtype=object)
            for k in np.ndindex(a.shape):
                filled[k] = next(given) if isinstance(a[k], sc.Symbol) else float(a[k])
            out.append(plain(filled))
        return out

    return np.array(found, dtype=object), restore
