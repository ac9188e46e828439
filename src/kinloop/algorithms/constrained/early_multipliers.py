"""The way back of `pv_early`: rows that reached the world are solved there, outward follow motion and multipliers.

At a cluster where rows E were eliminated, with a_s the accelerations of its handles,

    lambda_E = L_EE^-1 (t_E - chi_E^T a_s - L_EO lambda_O),                                        (1)

reflections are undone, and the cluster moves by (4) of `cluster_aba` with u + u_c lambda. Where rows at the world
are redundant, what they can exchange among each other is taken out of the multipliers: they are the shortest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.constrained.early_choices import Decisions
from kinloop.algorithms.constrained.early_rows import Key, RowStore
from kinloop.algorithms.constrained.multipliers import null_rows, solve_rows
from kinloop.algorithms.constrained.passes import Solution
from kinloop.algorithms.constrained.reflections import Reflection, reflected
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.algorithms.trees.cluster_aba import accelerate
from kinloop.algorithms.trees.kinematics import Motion, world_acceleration
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, gram, join
from kinloop.scalar import Array


class Eliminated(NamedTuple):
    """What the outward pass needs of a cluster: rows in order, their u, what was eliminated and how."""

    blocks: list[tuple[Key, slice]]
    closed: int
    turns: list[Reflection]
    u: Array
    E: list[int]
    O: list[int]
    onward: list[tuple[Key, list[int]]]
    factor: Factor | None
    t_E: Array
    left_E: dict[int, Array]
    L_EO: Array


class WorldRows(NamedTuple):
    """Rows that have passed a cluster on the world: L lambda = t, and what the diagonal of L could be."""

    blocks: list[tuple[Key, slice]]
    L: Array
    t: Array
    size: Array


class Swept(NamedTuple):
    """What the inward pass leaves: clusters, their u, rows eliminated at each and rows at the world, lost pivots."""

    tree: ClusterTree
    kin: Motion
    store: RowStore
    art: dict[int, Articulated]
    u: dict[int, Array]
    eliminated: dict[int, Eliminated]
    at_world: dict[int, WorldRows]
    constraints: int
    lost: Any


def multipliers_and_motion(s: Swept, decide: Decisions) -> Solution:
    """Everything from the world outward."""
    place, L, t, size = _rows_at_world(s)
    dependent = decide.last(L, size) if len(t) else ()
    found, left, lost = solve_rows(L, t, dependent)
    null = [_by_key(place, x) for x in null_rows(L, dependent).T]
    residual = _spread(s, _by_key(place, left))
    a, multipliers = _outward(s, _by_key(place, found))
    return Solution(a, _shortest(s, multipliers, null), residual, s.lost + lost)


def _rows_at_world(s: Swept) -> tuple[dict[Key, list[int]], Array, Array, Array]:
    """Places, L, t and sizes of all rows that reach the world, through whichever cluster."""
    worlds = list(s.at_world.values())
    sizes = {key: at.stop - at.start for w in worlds for key, at in w.blocks}
    ends = np.cumsum([0, *sizes.values()])
    place = {key: list(range(int(a), int(b))) for key, a, b in zip(sizes, ends[:-1], ends[1:], strict=True)}
    n = int(ends[-1])
    L, t, size = s.store.zeros(n, n), s.store.zeros(n), np.zeros(n)
    for w in worlds:
        there = [j for key, _ in w.blocks for j in place[key]]
        L[np.ix_(there, there)] = L[np.ix_(there, there)] + w.L
        t[there] = t[there] + w.t
        size[there] = size[there] + w.size
    return place, L, t, size


def _by_key(place: Mapping[Key, list[int]], x: Array) -> dict[Key, Array]:
    return {key: x[rows] for key, rows in place.items()}


def _outward(s: Swept, found: Mapping[Key, Array]) -> tuple[Array, Array]:
    """Accelerations and the multipliers of all constraints, from the multipliers of the rows at the world."""
    acc = {-1: world_acceleration(s.tree.top)}
    y: list[Array] = []
    for k in range(len(s.tree)):
        a = s.art[k]
        found, pull = _split(s, k, found, a.handles.accelerations(acc))
        y_k, bodies = accelerate(s.tree.top, s.kin, a, s.u[k] + pull, acc)
        y.append(y_k)
        acc |= bodies
    return join(y), join([found[c] for c in range(s.constraints)])


def _split(
    s: Swept, k: int, found: Mapping[Key, Array], acc: Mapping[int, Array] | None
) -> tuple[dict[Key, Array], Array]:
    """Multipliers of the rows that came into cluster k, from those that left it, and u_c lambda.

    `acc` are the accelerations of its handles; with None nothing moves and no row has a target.
    """
    e = s.eliminated[k]
    x = s.store.zeros(sum(at.stop - at.start for _, at in e.blocks))
    for key, rows in e.onward:
        x[rows] = found[key]
    if e.factor is not None and e.E:
        r = -(e.L_EO @ x[e.O]) if e.O else s.store.zeros(len(e.E))
        if acc is not None:
            r = r + e.t_E
            for handle, f in e.left_E.items():
                r = r - f.T @ acc[handle]
        x[e.E] = e.factor.solve(r)
    pull = e.u @ x
    x[: e.closed] = reflected(e.turns[::-1], x[: e.closed])
    return {**found, **{key: x[at] for key, at in e.blocks}}, pull


def _spread(s: Swept, found: Mapping[Key, Array]) -> Array:
    """Rows at the world as rows of the constraints: nothing moves, nothing is asked for."""
    for k in range(len(s.tree)):
        found, _ = _split(s, k, found, None)
    return join([found[c] for c in range(s.constraints)])


def _shortest(s: Swept, multipliers: Array, null: list[dict[Key, Array]]) -> Array:
    """The multipliers less what redundant rows can exchange among themselves."""
    if not null:
        return multipliers
    N = np.stack([_spread(s, x) for x in null], axis=1)
    shortest: Array = multipliers - N @ Factor(gram(N, N)).solve(N.T @ multipliers)
    return shortest
