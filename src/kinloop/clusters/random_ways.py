"""Ways of a cluster from a good configuration towards a target, on numbers or symbols: how kernels draw configurations.

The way of `random_configurations`, step by step as there, for clusters whose ways begin at a good place: so every place
on them is good, and only that must be known of it, not how good. A place has margin enough if A^T A, less the square of
the smallest singular value that it must have, has positive pivots. Where Newton's rounds do not end in rounding, or the
last place is not good, the search on numbers takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.closing import TOLERANCE
from kinloop.clusters.newton import corrected, moved, newton
from kinloop.clusters.random_configurations import (
    END,
    ENOUGH,
    LEAST_MARGIN,
    LONGEST,
    ROUNDS,
    SHORTEST,
    Kind,
    first_step,
    straight,
    usual_sizes,
    weighted_rows,
)  # fmt: skip
from kinloop.clusters.tangent_frame import plain
from kinloop.linear import Factor, determinant, gram
from kinloop.scalar import Array

WHOLE = np.ones(1)
"""Where a way to its target stops."""

MOST_STEPS = 64
"""Steps tried on a way, at most: far more than the usual six."""

LARGEST = 24
"""Clusters with more dependent coordinates are left to the search on numbers: their kernels take long to make."""

FAR = 1e300
"""Stands for a joint's end that is at infinity."""

WALKING, LAST, ARRIVED = 0.0, 1.0, 2.0
"""What a way is at: free steps, the last one to where it is to stop, its end."""


def has_ways(kind: Kind) -> bool:
    """Whether kernels can go the ways of a kind."""
    return kind.start.good and kind.cluster.m > 0 and len(kind.cluster.chart.dependent) <= LARGEST


def is_straight(kind: Kind) -> bool:
    """Whether `StraightWays` go the ways of a kind, and no kernel is needed."""
    top, c = kind.tree.top, kind.cluster
    return c.linear and all(top.types[i].nq == top.types[i].nv for i in c.bodies)


def way(kind: Kind, target: Array, stop: Array) -> Array:
    """The positions (nq) where a way ends, the part of it that was free, and whether they are closed and good (1, 0).

    `stop` (1,) is the part of the way at which to stop.
    """
    c, n, m = kind.cluster, kind.tree.top.nq, kind.cluster.m

    def body(carry: Array, given: Array) -> Array:
        q, t, h, state, _ = plain(np.array(carry[:n], dtype=object)), *carry[n:]
        ahead, stop = np.array(given[:m], dtype=object), given[m]
        after = _tried(t, h, state, stop)
        there, nearer = _closed(kind, moved(kind.tree, c, q, kind.tree.jacobian(c, q) @ (ahead * (after - t))))
        taken, *now = _next(t, h, state, stop, after, sc.logical_and(nearer, is_good(kind, there)))
        return np.array([*(sc.where(taken, x, y) for x, y in zip(there, q, strict=True)), *now, nearer], dtype=object)

    begin = [*kind.start.q, 0.0, first_step(kind), WALKING, True]
    given = [*straight(kind, kind.start.q, target), stop[0]]
    end = sc.repeat(MOST_STEPS, body, begin, given, until=lambda carry: carry[n + 2] >= ARRIVED, usual=6)
    q, well = newton(kind.tree, plain(np.array(end[:n], dtype=object)))
    q = kind.tree.top.normalized(q)
    sure = sc.logical_or(end[n] > 0.0, end[n + 3])  # that not even a short step is free, and not just not to be closed
    well = sc.logical_and(sc.logical_and(well, end[n + 2] >= ARRIVED), sc.logical_and(sure, is_good(kind, q)))
    return np.array([*q, end[n], sc.where(well, 1.0, 0.0)], dtype=object)


def _tried(t: Any, h: Any, state: Any, stop: Any) -> Any:
    """The part of a way to which the next step leads, from a part t by h at most."""
    return sc.where(state >= LAST, stop, sc.minimum(t + h, 1.0))


def _next(t: Any, h: Any, state: Any, stop: Any, after: Any, free: Any) -> tuple[Any, Any, Any, Any]:
    """Whether a step to the part `after`, that is free or not, is taken, and t, h, state behind it."""
    beyond = after > stop
    taken = sc.logical_and(free, sc.logical_not(beyond))
    t = sc.where(taken, after, t)
    h = sc.where(free, sc.minimum(1.5 * h, LONGEST), 0.5 * h)
    ended = sc.logical_or(t >= 1.0, h < sc.maximum(SHORTEST, END * t))
    walking = sc.where(sc.logical_and(free, beyond), LAST, sc.where(ended, ARRIVED, WALKING))
    return taken, t, h, sc.where(state >= LAST, ARRIVED, walking)


class StraightWays:
    """`way` on numbers, rows of targets or one, where all that ties a cluster is linear: q moves in proportion.

    For clusters whose joints have as many positions as velocities.
    """

    def __init__(self, kind: Kind) -> None:
        places, c = kind.draws.places, kind.cluster
        self._start, self._first = kind.start.q, first_step(kind)
        G = np.zeros((len(self._start), c.m))
        G[places] = c.chart.embed(kind.start.K)[0]
        self._independent, self._along = places[list(c.chart.independent)], G.T
        self._within = list(kind.ends)
        self._lower, self._upper = np.reshape(list(kind.ends.values()), (-1, 2)).T

    def __call__(self, target: Array, stop: Array) -> Array:
        ahead = (target[..., self._independent] - self._start[self._independent]) @ self._along
        whole = stop is WHOLE and self._free(self._start + ahead)
        t = np.ones(target.shape[:-1]) if np.all(whole) else self._part(ahead, stop[..., 0])
        q = self._start + ahead * t[..., None]
        return np.concatenate([q, t[..., None], np.ones((*t.shape, 1))], axis=-1)

    def _part(self, ahead: Array, stop: Array) -> Array:
        """The part of each way that is free, up to `stop`."""
        t = np.zeros(ahead.shape[:-1])
        h, state = np.full(t.shape, self._first), np.full(t.shape, WALKING)
        while (going := state < ARRIVED).any():
            after = _tried(t, h, state, stop)
            now = _next(t, h, state, stop, after, self._free(self._start + ahead * after[..., None]))[1:]
            t, h, state = (np.where(going, new, old) for new, old in zip(now, (t, h, state), strict=True))
        return t

    def _free(self, q: Array) -> Any:
        x = q[..., self._within]
        return np.all((x >= self._lower) & (x <= self._upper), axis=-1) if self._within else np.True_


def _closed(kind: Kind, q: Array) -> tuple[Array, Any]:
    """q with its loops closed nearly, by a few of Newton's rounds, and whether none of them led away."""
    n = len(q)

    def body(carry: Array, given: Array) -> Array:
        found = corrected(kind.tree, kind.cluster, plain(np.array(carry[:n], dtype=object)))
        error, squared = sc.largest(list(found.phi)), sc.squared(found.phi)
        # what gains nothing any more ends here, closed as well as it was drawn, or leads away
        end = sc.where(error <= TOLERANCE, 0.0, -1.0)
        return np.array([*found.q, sc.where(carry[n + 1] <= squared, end, error), squared], dtype=object)

    def enough(carry: Array) -> Any:
        return carry[n] <= ENOUGH

    end = sc.repeat(ROUNDS, body, [*q, np.inf, np.inf], until=enough, usual=3)
    return plain(np.array(end[:n], dtype=object)), end[n] >= 0.0


def is_good(kind: Kind, q: Array) -> Any:
    """Whether q is nearly closed, within limits, of enough margin and on the side of dead centres of the start."""
    tree, c = kind.tree, kind.cluster
    rows = tree.rows(c, q)
    good = sc.largest(list(rows.phi)) <= TOLERANCE
    for k, (lower, upper) in kind.ends.items():
        good = sc.logical_and(good, sc.logical_and(q[k] >= max(lower, -FAR), q[k] <= min(upper, FAR)))
    if c.bends:
        A = weighted_rows(c, rows.K)
        least = (LEAST_MARGIN * tree.once(usual_sizes)[c.index]) ** 2
        for pivot in Factor(gram(A, A) - least * np.eye(len(A))).d:
            good = sc.logical_and(good, pivot > 0.0)
        good = sc.logical_and(good, side(kind, rows.K) * side(kind, kind.start.K) > 0.0)
    return good


def side(kind: Kind, K: Array) -> Any:
    """A number that changes its sign where the rows that give the dependent velocities do not."""
    product: Any = 1.0
    for rows, columns in kind.cluster.chart.blocks:
        product = product * determinant(K[np.ix_(rows, columns)])
    return product
