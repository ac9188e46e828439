"""Constrained motion of cluster trees: the solver of Popov and Vereshchagin.

Inward, constraint wrenches travel beside the articulated inertias and gather L and l (`constrained`); then

    L lambda = k - l                                                          (1), [Sathya2023, (43), (47)]

or, where L without the clusters on the world, L_b, can be inverted (its blocks are the branches'),

    (D + U_b L_b^-1 U_b^T) y = u + U_b L_b^-1 (k - l_b),
    L_b lambda = k - l_b - U_b^T y                                            (2), [Sathya2023, (46), (49)]

with U_b the wrenches as they reach the base's own joint. Outward the motion follows. Derivation:
docs/algorithms/pv.md, after [Sathya2023, Algorithm 1].
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.constraint_wrenches import Held
from kinloop.algorithms.constrained.elimination import SINGULAR
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.multipliers import solve_rows
from kinloop.algorithms.constrained.passes import Pushed, Solution, Start, free_values, push, roll_out, start
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, floored, gram, total
from kinloop.scalar import Array

WEAK = 1e-3
"""A branch whose pivots fall below this part of their usual sizes needs the base to follow its constraints."""


def pv(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    base: str = "auto",
    dependent: Sequence[int] | None = None,
    least_squares: bool = False,
    pivots: Sequence[float] | None = None,
) -> Solution:
    """Accelerations and multipliers; `base` chooses between (1) "joint" and (2) "branches".

    "auto" takes (2) where it pays: several branches, each able to follow its own constraints. On symbols
    `dependent` rows and the usual sizes of (2)'s `pivots` must be given.
    """
    s = start(tree, q, v, tau, placed, f_ext)
    pushed = [push(tree, s.kin, s.art, h) for h in s.held]
    at = offsets(s.held)
    r = join([h.k - x for h, x in zip(s.held, free_values(tree, s), strict=True)])
    roots = [a.cluster.index for a in s.art if a.cluster.parent < 0]
    by_branches = base == "branches" or (base == "auto" and _branches_pay(s, pushed, at))
    lost: Any = 1.0
    if by_branches and not dependent and not least_squares:
        multipliers, residual, lost, _ = _by_branches(s, pushed, at, r, roots, pivots)
    if not sc.is_symbolic(lost) and lost:  # a branch cannot follow its constraints without the base
        L = delassus(s.art, pushed, at, range(len(s.art)))
        multipliers, residual, lost = solve_rows(L, r, dependent, least_squares, row_sizes(s))
    a = roll_out(tree, s.kin, s.art, with_multipliers(s.u, pushed, at, multipliers))
    return Solution(a, multipliers, residual, lost)


def offsets(held: Sequence[Held]) -> list[slice]:
    """Places of the constraints' rows in the vector of all multipliers."""
    ends = np.cumsum([0, *(h.size for h in held)])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]


def join(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0)


def delassus(art: list, pushed: Sequence[Pushed], at: Sequence[slice], clusters: Any) -> Array:
    """L = sum_k u_c^T D^-1 u_c over the given clusters, one triangle of it."""
    halves: list[dict[int, tuple[Array, Array]]] = []
    for p in pushed:
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


def with_multipliers(u: list[Array], pushed: Sequence[Pushed], at: Sequence[slice], multipliers: Array) -> list[Array]:
    """The forces left to each cluster's joint, constraints pulling."""
    out = list(u)
    for p, rows in zip(pushed, at, strict=True):
        for k, u_c in p.u.items():
            out[k] = out[k] + u_c @ multipliers[rows]
    return out


def _groups(pushed: Sequence[Pushed], beyond: set[int]) -> list[list[int]]:
    """Constraints that share clusters beyond the base, directly or through others."""
    groups: list[tuple[set[int], list[int]]] = []
    for c, p in enumerate(pushed):
        mine, members = set(p.u) & beyond, [c]
        for other in [g for g in groups if g[0] & mine]:
            groups.remove(other)
            mine, members = mine | other[0], other[1] + members
        groups.append((mine, sorted(members)))
    return [members for _, members in groups]


def _branches_pay(s: Start, pushed: Sequence[Pushed], at: Sequence[slice]) -> bool:
    """Whether (2) costs less than (1), by counting: known before anything is computed."""
    roots = {a.cluster.index for a in s.art if a.cluster.parent < 0}
    reached = {k for p in pushed for k in p.u if k in roots}
    if len(reached) != 1:
        return False
    beyond = {a.cluster.index for a in s.art} - roots
    m0 = s.art[min(reached)].cluster.m
    freedom = {c: sum(s.art[k].cluster.m for k in p.u if k in beyond) for c, p in enumerate(pushed)}
    rows = [at[c].stop - at[c].start for c in range(len(pushed))]
    if any(rows[c] > freedom[c] for c in freedom):
        return False
    sizes = [sum(rows[c] for c in g) for g in _groups(pushed, beyond)]
    m = sum(sizes)
    return m**3 / 6 + m * m * m0 / 2 > sum(n**3 / 6 + n * n * m0 + n * m0 * m0 / 2 for n in sizes) + m0**3 / 6


def branch_pivots(tree: ClusterTree, r: Any, base: str) -> tuple[float, ...] | None:
    """Pivots of (2) at a robot of numbers at rest; None where it is not wanted or a branch cannot follow."""
    s = Start(r.kin, r.art, [np.zeros(a.cluster.m) for a in r.art], [], r.held)
    pushed, at = [push(tree, r.kin, r.art, h) for h in r.held], offsets(r.held)
    if base == "auto" and not _branches_pay(s, pushed, at):
        return None
    roots = [a.cluster.index for a in r.art if a.cluster.parent < 0]
    _, _, lost, pivots = _by_branches(s, pushed, at, np.zeros(at[-1].stop if at else 0), roots, None)
    return None if lost else tuple(map(float, pivots))


def _by_branches(
    s: Start, pushed: Sequence[Pushed], at: Sequence[slice], r: Array, roots: list[int], usual: Sequence[float] | None
) -> tuple[Array, Array, Any, list[Any]]:
    """Equation (2). `r` is k - l with the base's own free motion in it, which is taken out first.

    Pivots are weak beside their `usual` sizes, or, on numbers, beside what the base lends to their rows.
    """
    beyond = {a.cluster.index for a in s.art} - set(roots)
    dtype = object if sc.is_symbolic(r, *(x for p in pushed for x in p.u.values())) else float
    u0 = [s.u[k] for k in roots]
    free = [s.art[k].D.solve(x) if len(x) else x for k, x in zip(roots, u0, strict=True)]
    place = dict(zip(roots, _spans([len(x) for x in u0]), strict=True))
    n = sum(len(x) for x in u0)
    A = np.zeros((n, n), dtype=dtype)
    for k in roots:
        A[place[k], place[k]] = s.art[k].D.matrix()
    right = join(u0)
    groups: list[tuple] = []
    pivots: list[Any] = []
    for members in _groups(pushed, beyond):
        mine = [pushed[c] for c in members]
        sizes = [at[c].stop - at[c].start for c in members]
        U = np.zeros((n, sum(sizes)), dtype=dtype)
        r_b = join([r[at[c]] for c in members])
        for p, cols in zip(mine, _spans(sizes), strict=True):
            for k in roots:
                if k in p.u:
                    U[place[k], cols] = p.u[k]
        r_b = r_b + U.T @ join(free)
        L_b = delassus(s.art, mine, _spans(sizes), beyond)
        if usual is None:
            lent: Any = np.zeros(len(r_b))
            for k in roots:
                lent = lent + (U[place[k]] * s.art[k].D.solve(U[place[k]])).sum(axis=0)
            here = np.diag(L_b) + lent
        else:
            here = np.array(usual[len(pivots) : len(pivots) + len(r_b)])
        factor = Factor(L_b, floored(here, SINGULAR, WEAK))
        pivots += factor.d
        half = factor.forward(np.concatenate([U.T, r_b.reshape(-1, 1)], axis=1))
        scaled = np.array(factor.inverse).reshape(-1, 1) * half
        A = A + gram(half[:, :-1], scaled[:, :-1])
        right = right + half[:, :-1].T @ scaled[:, -1]
        groups.append((members, sizes, U, r_b, factor))
    y = Factor(A).solve(right)
    multipliers, residual, lost = np.zeros(len(r), dtype=dtype), np.zeros(len(r), dtype=dtype), 0.0
    for members, sizes, U, r_b, factor in groups:
        found = factor.solve(r_b - U.T @ y)
        for c, rows in zip(members, _spans(sizes), strict=True):
            multipliers[at[c]] = found[rows]
        lost = lost + factor.lost
    return multipliers, residual, lost, pivots


def _spans(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]


def row_sizes(s: Start) -> Array | float:
    """What the diagonal of L could be at least, had every row its full effect on some joint (numbers only)."""
    d = [x for a in s.art for x in a.D.d]
    parts = [f for h in s.held for f in (*h.ends.values(), *(x.reshape(1, -1) for x in h.joints.values()))]
    if sc.is_symbolic(*parts, *d) or not d:
        return 0.0
    sizes = [
        sum((f * f).sum(axis=0) for f in (*h.ends.values(), *(x.reshape(1, -1) for x in h.joints.values())))
        for h in s.held
    ]
    return join([np.broadcast_to(x, h.size) for x, h in zip(sizes, s.held, strict=True)]) / max(d)
