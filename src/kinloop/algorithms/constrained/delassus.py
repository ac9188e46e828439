"""L = J M^-1 J^T, the inverse operational-space inertia of constraints (Delassus' matrix), from propagated wrenches.

    L = sum_k u_c^T D_k^-1 u_c                                            (3) of `passes`

with u_c what cluster k's own joint feels of unit multipliers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches
from kinloop.algorithms.constrained.passes import Propagated
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.linear import gram, join, spans, total
from kinloop.scalar import Array


def places(constraints: Sequence[ConstraintWrenches]) -> list[slice]:
    """Places of the constraints' rows in the vector of all multipliers."""
    return spans([w.size for w in constraints])


def delassus(
    art: Sequence[Articulated], propagated: Sequence[Propagated], at: Sequence[slice], clusters: Collection[int]
) -> Array:
    """L summed over the given clusters, one triangle of it."""
    halves: list[dict[int, tuple[Array, Array]]] = []
    for p in propagated:
        here = {}
        for k in clusters:
            if k in p.u and art[k].cluster.m:
                half = art[k].D.forward(p.u[k])
                here[k] = half, np.array(art[k].D.inverse).reshape(-1, 1) * half
        halves.append(here)
    m = at[-1].stop if at else 0
    symbolic = any(x.dtype == object for here in halves for pair in here.values() for x in pair)
    L = np.zeros((m, m), dtype=object if symbolic else float)
    for a, first in enumerate(halves):
        for b in range(a, len(halves)):
            common = [k for k in first if k in halves[b]]
            if not common:
                continue
            product = gram if a == b else lambda x, y: x.T @ y
            block = total([product(first[k][0], halves[b][k][1]) for k in common])
            L[at[a], at[b]] = block
            L[at[b], at[a]] = block.T
    return L


def with_multipliers(
    u: Sequence[Array], propagated: Sequence[Propagated], at: Sequence[slice], multipliers: Array
) -> list[Array]:
    """The forces left to each cluster's joint, constraints pulling: u + u_c lambda."""
    out = list(u)
    for p, rows in zip(propagated, at, strict=True):
        for k, u_c in p.u.items():
            out[k] = out[k] + u_c @ multipliers[rows]
    return out


def row_sizes(art: Sequence[Articulated], constraints: Sequence[ConstraintWrenches]) -> Array | float:
    """What the diagonal of L could be at least, had every row its full effect on some joint (numbers only)."""
    d = [x for a in art for x in a.D.d]
    squares = [w.squares for w in constraints if w.squares is not None]
    if len(squares) < len(constraints) or sc.is_symbolic(*d) or not d:
        return 0.0
    return join(squares) / float(max(d))
