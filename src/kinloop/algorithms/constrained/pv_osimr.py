"""Inverse operational-space inertia at the lowest order, O(n + m^2): PV-OSIMr.

Rows that pass a body pass it as wrenches, of which six are independent. Where more rows than that meet, they
are written F with the body's six unit wrenches E, chi = E F, and E travels on in their place; with L_E what E
gathers from there to the world,

    L(c1, c2) = sum of u_c1^T D^-1 u_c2 up to there + F_c1^T L_E F_c2                   (1)

E itself is replaced in the same way where it meets others. Derivation: docs/algorithms/pv_osimr.md, after
[Sathya2023b], with bodies of a cluster in place of a link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches
from kinloop.algorithms.constrained.delassus import places
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import AtRest, at_rest, felt
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram
from kinloop.scalar import Array


class Traveller(NamedTuple):
    """Columns of wrenches on bodies that travel inward: a constraint's rows, or units that stand for others."""

    number: int
    size: int
    chi: dict[int, Array]


class Rebase(NamedTuple):
    """`units` stand for `members` from some body on, member = units times F."""

    units: int
    members: list[tuple[int, Array]]


def pv_osimr(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T (m, m) of the constraints' rows."""
    r = at_rest(tree, q, placed)
    sizes = [w.size for w in r.constraints]
    own: dict[tuple[int, int], Array] = {}
    rebased: list[Rebase] = []
    waiting: dict[int, dict[int, Traveller]] = {k: {} for k in range(len(tree))}
    for k in reversed(range(len(tree))):
        a = r.art[k]
        here = waiting.pop(k)
        for c, w in enumerate(r.constraints):
            ends = {i: f for i, f in w.ends.items() if tree.cluster_of[i] == k}
            if ends or any(d in w.joints for d in a.cluster.dofs):
                _add(here, Traveller(c, w.size, ends))
        here = _rebase(here, sizes, rebased, {c for c, w in enumerate(r.constraints) if _waits(tree, w, k)})
        u = {t: _felt(a, r, x) for t, x in here.items()}
        _gather(a, u, own)
        if a.cluster.parent >= 0:
            for t, x in here.items():
                _add(waiting[a.cluster.parent], Traveller(t, x.size, a.pass_on(x.chi, u[t])))
    return _expand(own, rebased, sizes, places(r.constraints))


def pv_osimr_solve(tree: ClusterTree, q: Array, x: Array, placed: Sequence[Placed]) -> Array:
    """(J M^-1 J^T)^-1 x."""
    return Factor(pv_osimr(tree, q, placed)).solve(np.asarray(x))


def _waits(tree: ClusterTree, constraint: ConstraintWrenches, k: int) -> bool:
    """Whether a constraint has ends that have not come to cluster k yet: it must travel under its own name."""
    clusters = {tree.cluster_of[i] for i in constraint.ends}
    clusters |= {c.index for c in tree for d in c.dofs if d in constraint.joints}
    for x in clusters:
        while x > k:
            x = tree.clusters[x].parent
        if x != k:
            return True
    return k in clusters and bool(constraint.joints)


def _add(here: dict[int, Traveller], new: Traveller) -> None:
    if new.number not in here:
        here[new.number] = new
        return
    old = here[new.number]
    chi = dict(old.chi)
    for i, f in new.chi.items():
        chi[i] = chi[i] + f if i in chi else f
    here[new.number] = Traveller(old.number, old.size, chi)


def _rebase(
    here: dict[int, Traveller], sizes: list[int], rebased: list[Rebase], waiting: set[int]
) -> dict[int, Traveller]:
    """Unit wrenches in place of travellers that outnumber them."""
    free = {t: x for t, x in here.items() if t not in waiting}
    bodies = sorted({i for x in free.values() for i in x.chi})
    if sum(x.size for x in free.values()) <= 6 * len(bodies) or len(free) < 2:
        return here
    units = len(sizes)
    sizes.append(6 * len(bodies))
    members = []
    for t, x in free.items():
        members.append((t, np.concatenate([x.chi.get(i, np.zeros((6, x.size))) for i in bodies])))
    rebased.append(Rebase(units, members))
    eye = np.eye(6 * len(bodies))
    chi = {i: eye[6 * n : 6 * n + 6] for n, i in enumerate(bodies)}
    return {t: x for t, x in here.items() if t in waiting} | {units: Traveller(units, 6 * len(bodies), chi)}


def _felt(a: Articulated, r: AtRest, x: Traveller) -> Array:
    if x.number >= len(r.constraints):
        return a.felt(x.chi)
    u = felt(a, r.kin, x.chi, r.constraints[x.number])
    assert u is not None
    return u


def _gather(a: Articulated, u: dict[int, Array], own: dict[tuple[int, int], Array]) -> None:
    """u^T D^-1 u of one cluster, for all pairs of travellers."""
    if not a.cluster.m:
        return
    half = {t: a.D.forward(x) for t, x in u.items()}
    inverse = np.array(a.D.inverse).reshape(-1, 1)
    for s in half:
        for t in half:
            if s <= t:
                block = gram(half[s], inverse * half[s]) if s == t else half[s].T @ (inverse * half[t])
                own[s, t] = own[s, t] + block if (s, t) in own else block


def _expand(own: dict[tuple[int, int], Array], rebased: list[Rebase], sizes: list[int], at: list[slice]) -> Array:
    """(1), from the units that stand nearest to the world back to the constraints."""
    total = dict(own)

    def block(s: int, t: int) -> Array | None:
        return total.get((s, t)) if s <= t else None if (t, s) not in total else total[t, s].T

    def add(s: int, t: int, x: Array) -> None:
        if s > t:
            s, t, x = t, s, x.T
        total[s, t] = total[s, t] + x if (s, t) in total else x

    for r in reversed(rebased):
        L = block(r.units, r.units)
        others = [t for t in range(len(sizes)) if t != r.units and block(r.units, t) is not None]
        for n, (s, F) in enumerate(r.members):
            LF = None if L is None else L @ F
            for t, G in r.members[n:]:
                if LF is not None:
                    add(s, t, gram(F, LF) if s == t else LF.T @ G)
            for t in others:
                cross = block(r.units, t)
                assert cross is not None
                add(s, t, F.T @ cross)
    out = np.full(
        (at[-1].stop if at else 0,) * 2, 0.0, dtype=np.result_type(float, *total.values()) if total else float
    )
    for a, rows in enumerate(at):
        for b, columns in enumerate(at):
            x = block(a, b)
            if x is not None:
                out[rows, columns] = x
    return out
