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

from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.pv import _groups, _spans, delassus, offsets
from kinloop.algorithms.constrained.pv_osim import at_rest, push_all
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram
from kinloop.scalar import Array


class FastOsim:
    """L = J M^-1 J^T kept as branches and base; `solve` applies its inverse, `matrix` forms it."""

    def __init__(self, tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> None:
        r = at_rest(tree, q, placed)
        pushed, at = push_all(tree, r), offsets(r.held)
        roots = [c.index for c in tree if c.parent < 0]
        beyond = {c.index for c in tree} - set(roots)
        self.size = at[-1].stop if at else 0
        self.rows = [[j for c in g for j in range(at[c].start, at[c].stop)] for g in _groups(pushed, beyond)]
        place = dict(zip(roots, _spans([r.art[k].cluster.m for k in roots]), strict=True))
        n = sum(r.art[k].cluster.m for k in roots)
        dtype = object if np.asarray(q).dtype == object else float
        self.D = np.full((n, n), 0.0, dtype=dtype)
        for k in roots:
            self.D[place[k], place[k]] = r.art[k].D.matrix()
        U = np.full((n, self.size), 0.0, dtype=dtype)
        for p, columns in zip(pushed, at, strict=True):
            for k in roots:
                if k in p.u:
                    U[place[k], columns] = p.u[k]
        self.U = U
        self.blocks = []
        for g in _groups(pushed, beyond):
            spans = _spans([at[c].stop - at[c].start for c in g])
            self.blocks.append(delassus(r.art, [pushed[c] for c in g], spans, beyond))

    def matrix(self) -> Array:
        """The dense L."""
        L = gram(self.U, Factor(self.D).solve(self.U)) if len(self.D) else np.zeros((self.size, self.size))
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
