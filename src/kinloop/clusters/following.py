"""Whether a step along a linkage stays with its assembly.

The same independent coordinates may belong to several closed configurations, the assemblies of a linkage: the knee of a
leg bends forward or backward. While the independent coordinates move, the dependent ones follow as long as K_d, which
determines them, is regular, and so the sign of

    det K_d,      block by block of a chart                                                                       (1)

stays, unless they pass through a configuration in which two assemblies meet, as a parallelogram in line does. After a
long step Newton's method may have found another assembly, or have led over a range through which the loops cannot
pass. So a step stays with its assembly if (1) keeps its sign, or if Newton's method corrects little of what the tangent
foretells. Of redundant rows a chart keeps some, and (1) says nothing; loops with more than two assemblies may have some
of the same sign. Steps in which a joint of a loop moves by more than `LONG` are therefore taken in parts besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.tree import Cluster, ClusterTree
from kinloop.linear import determinant
from kinloop.scalar import Array

REACHED = 1e-6
"""Independent coordinates may be off by so much [rad, m] where loops that disagree with themselves are closed."""

ASTRAY = 0.25
"""The part of a step along the tangent by which joints of loops may be corrected where (1) changes its sign: assemblies
that lie a distance apart differ by as much."""

LONG = 0.5
"""A step in which a joint of a loop moves by more [rad, m], along the tangent, is taken in parts."""

PARTS = (3, 13, 61)
"""In how many parts a step is tried that is long, or does not stay with its assembly: odd numbers, so that a step from
one side of a singular configuration to the other does not rest there."""


def orientation(c: Cluster, K: Array) -> list[Any]:
    """The determinants (1) for the rows K of a cluster; none where some of them are redundant."""
    return [] if is_redundant(c) else [determinant(K[np.ix_(rows, columns)]) for rows, columns in c.chart.blocks]


def is_redundant(c: Cluster) -> bool:
    """Whether rows of a cluster follow from others, or would if the numbers of a file were exact; zero ones aside."""
    if c.equations is None:
        return False
    return any(np.any(entries) for r, entries in enumerate(c.equations.pattern) if r not in c.chart.rows)


def products(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Of two lists of determinants: positive where signs are the same."""
    return [a * b for a, b in zip(first, second, strict=True)]


def least(found: Iterable[Any]) -> Any:
    """The least of some numbers and 1."""
    out: Any = 1.0
    for x in found:
        out = sc.minimum(out, x)
    return out


def longest(tree: ClusterTree, step: Array) -> Any:
    """How far the joints of loops move in a step of the spanning coordinates, at most."""
    return sc.largest([step[d] for c in tree if c.bends for d in c.dofs])


def correction(tree: ClusterTree, start: Array, end: Array) -> Any:
    """How far positions of loops were moved from `start`, at most."""
    top = tree.top
    places = [k for c in tree if c.bends for i in c.bodies for k in range(top.q_of[i].start, top.q_of[i].stop)]
    return sc.largest([end[k] - start[k] for k in places])


def follows(tree: ClusterTree, q: Array, end: Array, dy: Array) -> bool:
    """Whether `end` is where the independent step dy leads from q, in the same assembly."""
    top, step = tree.top, tree.spanning_jacobian(q) @ dy
    start = top.integrate(q, step)
    off = top.difference(start, end)[tree.independent_dofs]
    if not np.all(np.isfinite(end)) or np.max(np.abs(off), initial=0.0) > REACHED:
        return False
    signs = ([orientation(c, tree.rows(c, x).K) for x in (q, end)] for c in tree if c.bends)
    alike = all(least(products(*both)) > 0.0 for both in signs)
    return alike or bool(correction(tree, start, end) <= ASTRAY * longest(tree, step))


def in_parts(step: Callable[..., Array], q: Array, v: Array, dt: Array, begin: int = PARTS[0]) -> Array:
    """Rows q (n, nq) after steps by v (n, nv) in time dt (n, 1) that are taken in parts; nan where none succeed.

    A `step` is not finite in rows that it does not vouch for. `begin` parts are tried first.
    """
    out, left = np.full(q.shape, np.nan), np.arange(len(q))
    for parts in dict.fromkeys((begin, *PARTS)):
        at, going = q[left], left
        for _ in range(parts):
            at = step(at, v[going], dt[going] / parts) if len(going) else at
            well = np.isfinite(at[:, 0])
            at, going = at[well], going[well]
        out[going], left = at, np.setdiff1d(left, going)
    return out
