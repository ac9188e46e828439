"""Newton's rounds on loops, on numbers or symbols: how kernels close positions that are nearly closed.

A round moves every cluster by the correction of its chart, K x = -phi to first order. Whose charts these are decides
what gives way: those of the robot move the dependent coordinates only, tangent frames all of them, as little as
possible. `newton` repeats rounds until nothing is left, and says where it cannot vouch for what it found; the search
on numbers (`closing`) then takes over. docs/algorithms/charts.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.closing import FINISHED
from kinloop.clusters.following import correction, least, orientation, products
from kinloop.clusters.tangent_frame import plain
from kinloop.clusters.tree import Cluster, ClusterTree
from kinloop.scalar import Array

SMALL_CORRECTION = 1e-9
"""A correction below this [m, rad] leaves nothing but rounding: the next would be its square."""

SMALL_CURVED = 1e-7
"""The same where rounds follow the curvature of loops: the next would be its third power, times a square of what is
large near singular configurations."""

ROUNDS = 8
"""Rounds within a kernel, at most."""

LONGEST = 1.0
"""A longer correction [m, rad] leads who knows where: the search on numbers looks at every step."""

SATISFIED = 1e-12
"""What the last round may leave of rows that no chart keeps [m, rad]: more, and they ask for something else."""


class Round(NamedTuple):
    """q after a round on one cluster, the step taken, phi and K of all rows before it, and what it leaves to first
    order of rows which the chart does not keep."""

    q: Array
    step: Array
    phi: Array
    K: Array
    left: Array


def corrected(tree: ClusterTree, c: Cluster, q: Array, curved: bool = False) -> Round:
    """One round on one cluster; a `curved` one removes phi to second order, as Chebyshev's method does."""
    rows = tree.rows(c, q)
    step, bend = c.chart.correction(rows.K, rows.phi), np.zeros(len(rows.phi))
    if curved:
        everywhere = np.zeros(tree.top.n_spanning, dtype=step.dtype)
        everywhere[list(c.dofs)] = step
        bend = -0.5 * tree.rows(c, q, everywhere).k
        step = step + c.chart.correction(rows.K, bend)
    others = [r for r in range(len(rows.phi)) if r not in c.chart.rows]
    left = rows.phi[others] + rows.K[others] @ step + bend[others]
    return Round(moved(tree, c, q, step), step, rows.phi, rows.K, left)


def moved(tree: ClusterTree, cluster: Cluster, q: Array, step: Array) -> Array:
    """q with the joints of one cluster moved by a step of its own coordinates."""
    top, out, row = tree.top, q.copy(), 0
    if step.dtype == object and out.dtype != object:
        out = out.astype(object)
    for i in cluster.bodies:
        n = top.types[i].nv
        out[top.q_of[i]] = top.types[i].integrate(q[top.q_of[i]], step[row : row + n])
        row += n
    return out


def newton(
    tree: ClusterTree, q: Array, longest: float = LONGEST, curved: bool = False, begin: Array | None = None,
    near: Any = 0.0,
) -> tuple[Array, Any]:  # fmt: skip
    """q with all loops closed to rounding, and whether it is: every round brought it nearer.

    Gears and belts take one round, which is exact; loops as many as they need. The search on numbers would take the
    same steps as long as all is well. Corrections of more than `longest` [m, rad] are given up. `curved` rounds cost
    more and are fewer: for who begins far away. Loops that are assembled otherwise than at `begin`, if that is given,
    are not well (`following`), unless they were moved by no more than `near`.
    """
    left: list[Any] = []
    for c in tree:
        if c.parts and not c.bends:
            found = corrected(tree, c, q)
            q, left = found.q, left + list(found.left)
    well = sc.largest(left) <= SATISFIED
    loops = [c for c in tree if c.bends]
    if not loops:
        return q, well
    small = SMALL_CURVED if curved else SMALL_CORRECTION
    signs = [[] if begin is None else orientation(c, tree.rows(c, begin).K) for c in loops]
    n, start = len(q), [np.inf, 0.0, 1.0, *([np.inf] * len(loops))]

    def body(carry: Array, given: Array) -> Array:
        own = iter(given)
        signs_here = [[next(own) for _ in x] for x in signs]
        return _round(
            tree, loops, plain(np.array(carry[:n], dtype=object)), carry[n + 3 :], signs_here, longest, curved
        )

    def settled(carry: Array) -> Any:
        return sc.logical_or(carry[n] <= small, carry[n] > longest)

    given = np.array([x for own in signs for x in own], dtype=object)
    end = sc.repeat(ROUNDS, body, np.array([*q, *start], dtype=object), given, until=settled, usual=2)
    well = sc.logical_and(well, sc.logical_and(end[n] <= small, end[n + 1] <= SATISFIED))
    found = plain(np.array(end[:n], dtype=object))
    if begin is None:
        return found, well
    return found, sc.logical_and(well, sc.logical_or(end[n + 2] > 0.0, correction(tree, q, found) <= near))


def _round(
    tree: ClusterTree, loops: list[Cluster], q: Array, before: Array, signs: list[list[Any]], longest: float,
    curved: bool,
) -> Array:  # fmt: skip
    """One round on all loops: q, its largest correction, what it leaves of rows that no chart keeps, a number below
    zero where determinants no longer have their `signs`, and |phi|^2 of every loop, which was `before`."""
    size, left, worse, after, same = 0.0, 0.0, False, list[Any](), list[Any]()
    for c, squared_before, own in zip(loops, before, signs, strict=True):
        found = corrected(tree, c, q, curved)
        same += products(own, orientation(c, found.K)) if own else []
        q, size, left = found.q, sc.largest(list(found.step), size), sc.largest(list(found.left), left)
        squared = sc.squared(found.phi)
        after.append(squared)
        farther = sc.logical_and(squared_before <= squared, squared > FINISHED * FINISHED)
        worse = sc.logical_or(worse, farther)
    # what got worse, or leads far, is given up by a size that never converges
    size = sc.where(sc.logical_or(worse, size > longest), np.inf, size)
    return np.array([*q, size, left, least(same), *after], dtype=object)
