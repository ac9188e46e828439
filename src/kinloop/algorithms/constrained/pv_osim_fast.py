"""Operational-space inertia of a robot that branches at its base, never formed: PV-OSIM-fast.

Without the base's own joint L_b is block diagonal, one block per branch. With U the constraints' forces on
that joint, L = L_b + U^T D^-1 U, and by the matrix inversion lemma, W = L_b^-1 U^T,

    L^-1 x = L_b^-1 x - W (D + U W)^-1 W^T x                                          (1)

which needs L_b to be invertible: every branch able to follow its own constraints. Derivation:
docs/algorithms/pv_osim_fast.md, after [Sathya2023, (53)-(55)].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.branches import base_of, groups_beyond
from kinloop.algorithms.constrained.delassus import delassus, places
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import at_rest, propagate_all
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram, spans
from kinloop.scalar import Array


class FastOsim:
    """L = J M^-1 J^T kept as branches and base; `solve` applies its inverse, `matrix` forms it."""

    def __init__(self, tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> None:
        r = at_rest(tree, q, placed)
        propagated, at = propagate_all(tree, *r), places(r.constraints)
        base = base_of(r.art)
        beyond = {c.index for c in tree} - set(base.roots)
        groups = groups_beyond(propagated, beyond)
        self.size = at[-1].stop if at else 0
        self.dtype = object if np.asarray(q).dtype == object else float
        self.D = base.matrix(r.art, self.dtype)
        self.U = base.wrenches(propagated, at, self.dtype)
        self.rows = [[j for c in g for j in range(at[c].start, at[c].stop)] for g in groups]
        self.blocks = []
        for g in groups:
            there = spans([at[c].stop - at[c].start for c in g])
            self.blocks.append(delassus(r.art, [propagated[c] for c in g], there, beyond))

    def matrix(self) -> Array:
        """The dense L."""
        L = np.zeros((self.size, self.size), dtype=self.dtype)
        if len(self.D):
            L[:] = gram(self.U, Factor(self.D).solve(self.U))
        for rows, block in zip(self.rows, self.blocks, strict=True):
            L[np.ix_(rows, rows)] = L[np.ix_(rows, rows)] + block
        return L

    def solve(self, x: Array) -> Array:
        """(1), for a vector."""
        A, right = self.D, np.zeros(len(self.D))
        parts = []
        for rows, block in zip(self.rows, self.blocks, strict=True):
            factor, U = Factor(block), self.U[:, rows]
            half = factor.forward(np.concatenate([U.T, x[rows].reshape(-1, 1)], axis=1))
            scaled = np.array(factor.inverse).reshape(-1, 1) * half
            A = A + gram(half[:, :-1], scaled[:, :-1])
            right = right + half[:, :-1].T @ scaled[:, -1]
            parts.append((rows, U, factor))
        base = Factor(A).solve(right) if len(A) else right
        out = np.full(self.size, 0.0, dtype=np.result_type(self.U, x))
        for rows, U, factor in parts:
            out[rows] = factor.solve(x[rows] - U.T @ base)
        return out


def pv_osim_fast(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T (m, m), formed for those who want to see it."""
    return FastOsim(tree, q, placed).matrix()


def pv_osim_fast_solve(tree: ClusterTree, q: Array, x: Array, placed: Sequence[Placed]) -> Array:
    """(J M^-1 J^T)^-1 x without the dense matrix."""
    return FastOsim(tree, q, placed).solve(np.asarray(x))
