"""What all solvers of constrained motion share: the robot before its constraints act, and their way to the world.

A constraint of r rows is known by what its unit multipliers do (`constraint_wrenches`): wrenches chi (6, r) on
bodies, or forces (r) on spanning joints. Propagated inward through joints that give way, they meet every cluster with

    u_c = sum_i S_i^T chi(i) + G^T K^T,    chi -> chi - K_s u_c at the handles                   (1)

and with l what its rows read of the motion without constraints, at the ends themselves,

    l = K a_free,                                                                                (2)
    K a = l + L lambda,    L = sum_k u_c^T D^-1 u_c.                                             (3)

Accelerations contain the world's own, minus gravity, so targets of constraints to the world shift by
what that does (III-B.2). Derivation: docs/algorithms/pv.md, after [Sathya2023, (42)].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches, constrained_bodies, wrenches_of
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.trees.articulated import Articulated, articulate
from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.cluster_aba import inward, outward
from kinloop.algorithms.trees.kinematics import Motion, motion, scatter, still
from kinloop.clusters import ClusterTree
from kinloop.linear import join
from kinloop.scalar import Array


class Solution(NamedTuple):
    """Independent accelerations, multipliers of all rows, what no multiplier can reach, and lost rows.

    `residual` is the part of k - K a that conflicting constraints leave, zero where they agree;
    `deficient` counts rows that turned out to depend on others at this state only.
    """

    a: Array
    multipliers: Array
    residual: Array
    deficient: Any = 0.0


class AtRest(NamedTuple):
    """A robot's poses and articulated clusters, with the wrenches of its constraints."""

    kin: Motion
    art: list[Articulated]
    constraints: list[ConstraintWrenches]


class Unconstrained(NamedTuple):
    """The robot before its constraints act: as `AtRest`, in motion, with the force u left to each cluster's joint."""

    kin: Motion
    art: list[Articulated]
    constraints: list[ConstraintWrenches]
    u: list[Array]


class Propagated(NamedTuple):
    """A constraint's wrenches on the bodies of every cluster they reach, and u_c."""

    chi: dict[int, dict[int, Array]]
    u: dict[int, Array]


def at_rest(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> AtRest:
    """Poses, articulated inertias and constraints at q."""
    kin = still(tree, q, constrained_bodies(placed))
    return AtRest(kin, articulate(tree, kin), [wrenches_of(tree, kin, q, p) for p in placed])


def unconstrained(
    tree: ClusterTree, q: Array, v: Array, tau: Array, placed: Sequence[Placed], f_ext: Array | None = None
) -> Unconstrained:
    """Outward and inward pass without constraints, and the constraints' own wrenches and targets."""
    turning = constrained_bodies(placed)
    kin = motion(tree, q, v, turning)
    art = articulate(tree, kin)
    u = inward(tree, kin, art, body_bias(tree.top, kin.v, q, f_ext, turning), tau)
    return Unconstrained(kin, art, [wrenches_of(tree, kin, q, p) for p in placed], u)


def propagate_all(
    tree: ClusterTree, kin: Motion, art: Sequence[Articulated], constraints: Sequence[ConstraintWrenches]
) -> list[Propagated]:
    """Equation (1) for every constraint."""
    return [propagate_rows(tree, kin, art, w) for w in constraints]


def propagate_rows(
    tree: ClusterTree, kin: Motion, art: Sequence[Articulated], constraint: ConstraintWrenches
) -> Propagated:
    """Equation (1) from a constraint's ends to the world."""
    waiting: dict[int, dict[int, Array]] = {}
    for body, f in constraint.ends.items():
        waiting.setdefault(tree.cluster_of[body], {})[body] = f
    out = Propagated({}, {})
    for a in reversed(art):
        k, here = a.cluster.index, waiting.get(a.cluster.index, {})
        u = felt(a, kin, here, constraint)
        if u is None:
            continue
        out.chi[k], out.u[k] = here, u
        if a.cluster.parent >= 0:
            below = waiting.setdefault(a.cluster.parent, {})
            for body, f in a.pass_on(here, u).items():
                below[body] = below[body] + f if body in below else f
    return out


def felt(a: Articulated, kin: Motion, here: dict[int, Array], constraint: ConstraintWrenches) -> Array | None:
    """u_c of one cluster; None where the constraint does not reach it."""
    u = [a.felt(here)] if here else []
    mine = [d for d in a.cluster.dofs if d in constraint.joints]
    if mine:
        G = kin.embedding[a.cluster.index].G[[a.cluster.dofs.index(d) for d in mine]]
        u.append(G.T @ np.array([constraint.joints[d] for d in mine]))
    return sum(u[1:], u[0]) if u else None


def free_values(tree: ClusterTree, s: Unconstrained) -> list[Array]:
    """l of all constraints: what they read of the unconstrained motion, (2)."""
    y, acc = outward(tree, s.kin, s.art, s.u)
    qdd = scatter(tree, [e.G @ x + e.g for e, x in zip(s.kin.embedding, y, strict=True)])
    return [w.read(acc, qdd) for w in s.constraints]


def missing(tree: ClusterTree, s: Unconstrained) -> Array:
    """k - l of all rows: what the constraints' forces have to add to the unconstrained motion."""
    return join([w.k - x for w, x in zip(s.constraints, free_values(tree, s), strict=True)])


def accelerations(tree: ClusterTree, kin: Motion, art: Sequence[Articulated], u: Sequence[Array]) -> Array:
    """Accelerations of all independent coordinates, outward, for the forces u left to each cluster's joint."""
    return join(outward(tree, kin, art, u)[0])
