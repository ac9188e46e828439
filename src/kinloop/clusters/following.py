"""Whether a step along a linkage stays with its assembly.

The same independent coordinates may belong to several closed configurations, the assemblies of a linkage: the knee of a
leg bends forward or backward. While the independent coordinates move, the dependent ones follow as long as K_d, which
determines them, is regular, and so the sign of

    det K_d,      block by block of a chart                                                                       (1)

stays. After a long step Newton's method may have found another assembly, or have led over a range through which the
loops cannot pass. For loops with two assemblies, as every flat four-bar, (1) tells them apart; loops with more may have
some of the same sign. So steps in which a joint of a loop moves by more than `LONG` are taken in parts besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.charts import Chart
from kinloop.clusters.tree import ClusterTree
from kinloop.linear import determinant
from kinloop.scalar import Array

REACHED = 1e-6
"""Independent coordinates may be off by so much [rad, m] where loops that disagree with themselves are closed."""

LONG = 0.5
"""A step in which a joint of a loop moves by more [rad, m], along the tangent, is taken in parts."""

PARTS = (4, 16, 64)
"""In how many parts a step is tried that is long, or does not stay with its assembly."""


def orientation(chart: Chart, K: Array) -> list[Any]:
    """The determinants (1) for the rows K of a cluster."""
    return [determinant(K[np.ix_(rows, columns)]) for rows, columns in chart.blocks]


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


def follows(tree: ClusterTree, q: Array, end: Array, dy: Array) -> bool:
    """Whether `end` is where the independent step dy leads from q, in the same assembly."""
    top = tree.top
    asked = top.integrate(q, tree.spanning_jacobian(q) @ dy)
    off = top.difference(asked, end)[tree.independent_dofs]
    if not np.all(np.isfinite(end)) or np.max(np.abs(off), initial=0.0) > REACHED:
        return False
    signs = ([orientation(c.chart, tree.rows(c, x).K) for x in (q, end)] for c in tree if c.bends)
    return all(least(products(*both)) > 0.0 for both in signs)


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
