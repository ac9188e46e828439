"""Multipliers branch by branch, where a robot branches at its base.

Without the clusters on the world, L is block diagonal: L_b, with one block per group of constraints that share a
branch. With U_b the constraints' wrenches as they reach the base's own joint,

    (D + U_b L_b^-1 U_b^T) y = u + U_b L_b^-1 (k - l_b),
    L_b lambda = k - l_b - U_b^T y                                            (2) of `pv`, [Sathya2023, (46), (49)]

which needs L_b to be invertible: every branch able to follow its own constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.delassus import delassus, places, row_sizes
from kinloop.algorithms.constrained.multipliers import ROUNDING, SINGULAR
from kinloop.algorithms.constrained.passes import AtRest, Propagated, Unconstrained, propagate_all
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, floored, gram, join, spans
from kinloop.scalar import Array

WEAK = 1e-3
"""A branch whose pivots fall below this part of their usual sizes needs the base to follow its constraints."""


class Base(NamedTuple):
    """The clusters on the world, and the places of their joints in one vector of size n."""

    roots: list[int]
    place: dict[int, slice]
    n: int

    def matrix(self, art: Sequence[Articulated], dtype: Any) -> Array:
        """D of all joints of the base, block diagonal."""
        D = np.zeros((self.n, self.n), dtype=dtype)
        for k in self.roots:
            D[self.place[k], self.place[k]] = art[k].D.matrix()
        return D

    def wrenches(self, propagated: Sequence[Propagated], at: Sequence[slice], dtype: Any) -> Array:
        """U_b of given constraints, whose rows are at `at`."""
        U = np.zeros((self.n, at[-1].stop if at else 0), dtype=dtype)
        for p, columns in zip(propagated, at, strict=True):
            for k in self.roots:
                if k in p.u:
                    U[self.place[k], columns] = p.u[k]
        return U


class Group(NamedTuple):
    """Constraints that share a branch: their numbers, sizes, U_b, k - l_b, and the factor of their block of L_b."""

    members: list[int]
    sizes: list[int]
    U: Array
    r: Array
    factor: Factor


def base_of(art: Sequence[Articulated]) -> Base:
    """The clusters on the world."""
    roots = [a.cluster.index for a in art if a.cluster.parent < 0]
    sizes = [art[k].cluster.m for k in roots]
    return Base(roots, dict(zip(roots, spans(sizes), strict=True)), sum(sizes))


def groups_beyond(propagated: Sequence[Propagated], beyond: set[int]) -> list[list[int]]:
    """Constraints that share clusters beyond the base, directly or through others."""
    groups: list[tuple[set[int], list[int]]] = []
    for c, p in enumerate(propagated):
        mine, members = set(p.u) & beyond, [c]
        for other in [g for g in groups if g[0] & mine]:
            groups.remove(other)
            mine, members = mine | other[0], other[1] + members
        groups.append((mine, sorted(members)))
    return [members for _, members in groups]


def branches_pay(art: Sequence[Articulated], propagated: Sequence[Propagated], at: Sequence[slice]) -> bool:
    """Whether (2) costs less than one system for all rows, by counting: known before anything is computed."""
    roots = {a.cluster.index for a in art if a.cluster.parent < 0}
    reached = {k for p in propagated for k in p.u if k in roots}
    if len(reached) != 1:
        return False
    beyond = {a.cluster.index for a in art} - roots
    m0 = art[min(reached)].cluster.m
    freedom = {c: sum(art[k].cluster.m for k in p.u if k in beyond) for c, p in enumerate(propagated)}
    rows = [int(at[c].stop - at[c].start) for c in range(len(propagated))]
    if any(rows[c] > freedom[c] for c in freedom):
        return False
    sizes = [sum(rows[c] for c in g) for g in groups_beyond(propagated, beyond)]
    m = sum(sizes)
    alone = sum(n**3 / 6 + n * n * m0 + n * m0 * m0 / 2 for n in sizes) + m0**3 / 6
    return m**3 / 6 + m * m * m0 / 2 > alone


def branch_pivots(tree: ClusterTree, r: AtRest, always: bool) -> tuple[float, ...] | None:
    """Pivots of (2) for numbers at rest; None where a branch cannot follow, or, unless `always`, it does not pay."""
    propagated, at = propagate_all(tree, *r), places(r.constraints)
    if not always and not branches_pay(r.art, propagated, at):
        return None
    still = Unconstrained(*r, [np.zeros(a.cluster.m) for a in r.art])
    _, lost, pivots = solve_branches(still, propagated, at, np.zeros(at[-1].stop if at else 0), None)
    return None if lost else tuple(map(float, pivots))


def solve_branches(
    s: Unconstrained, propagated: Sequence[Propagated], at: Sequence[slice], r: Array, usual: Sequence[float] | None
) -> tuple[Array, Any, list[Any]]:
    """Equation (2): multipliers, how many pivots are weak, and the pivots.

    `r` is k - l with the base's own free motion in it, which is taken out first. Pivots are weak beside their `usual`
    sizes, or, on numbers, beside what the base lends to their rows.
    """
    base = base_of(s.art)
    beyond = {a.cluster.index for a in s.art} - set(base.roots)
    symbolic = sc.is_symbolic(r, *(s.u[k] for k in base.roots), *(x for p in propagated for x in p.u.values()))
    dtype = object if symbolic else float
    free = join([s.art[k].D.solve(s.u[k]) if len(s.u[k]) else s.u[k] for k in base.roots])
    A, right = base.matrix(s.art, dtype), join([s.u[k] for k in base.roots])
    groups: list[Group] = []
    pivots: list[Any] = []
    for members in groups_beyond(propagated, beyond):
        mine, sizes = [propagated[c] for c in members], [at[c].stop - at[c].start for c in members]
        U = base.wrenches(mine, spans(sizes), dtype)
        r_b = join([r[at[c]] for c in members]) + U.T @ free
        L_b = delassus(s.art, mine, spans(sizes), beyond)
        expected = (
            _expected(s, members, _lent(s.art, base, U, L_b))
            if usual is None
            else np.array(usual)[len(pivots) : len(pivots) + len(r_b)]
        )
        factor = Factor(L_b, floored(expected, SINGULAR, WEAK))
        pivots += factor.d
        half = factor.forward(np.concatenate([U.T, r_b.reshape(-1, 1)], axis=1))
        scaled = np.array(factor.inverse).reshape(-1, 1) * half
        A = A + gram(half[:, :-1], scaled[:, :-1])
        right = right + half[:, :-1].T @ scaled[:, -1]
        groups.append(Group(members, sizes, U, r_b, factor))
    multipliers, lost = _backward(groups, at, Factor(A).solve(right), np.zeros(len(r), dtype=dtype))
    return multipliers, lost, pivots


def _lent(art: Sequence[Articulated], base: Base, U: Array, L_b: Array) -> Array:
    """The diagonal of L: that of a block of L_b and what the base adds to it (numbers only)."""
    lent = np.zeros(len(L_b))
    for k in base.roots:
        mine = U[base.place[k]]
        lent = lent + (mine * art[k].D.solve(mine)).sum(axis=0)
    return np.diag(L_b) + lent


def _expected(s: Unconstrained, members: Sequence[int], lent: Array) -> Array:
    """What pivots are weak beside (numbers only): what is lent, or, to rows that nothing moves, what they could be."""
    sizes = np.broadcast_to(row_sizes(s.art, [s.constraints[c] for c in members]), lent.shape)
    return np.where(lent > ROUNDING * sizes, lent, np.where(sizes > 0.0, sizes, 1.0))


def _backward(groups: Sequence[Group], at: Sequence[slice], y: Array, multipliers: Array) -> tuple[Array, Any]:
    """The second line of (2), group by group, into a vector of zeros; and how many pivots were weak."""
    lost: Any = 0.0
    for g in groups:
        found = g.factor.solve(g.r - g.U.T @ y)
        for c, rows in zip(g.members, spans(g.sizes), strict=True):
            multipliers[at[c]] = found[rows]
        lost = lost + g.factor.lost
    return multipliers, lost
