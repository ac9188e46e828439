"""Inverse operational-space inertia of constraints on cluster trees, in two passes: PV-OSIM.

    L = sum_k u_c^T D_k^-1 u_c = J M^-1 J^T                                            (1)

with u_c what cluster k's own joint feels of unit multipliers, carried inward through joints that give way.
Derivation: docs/algorithms/pv_osim.md, after [Sathya2023, Algorithm 2].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop.algorithms.constrained.constraint_wrenches import Held, hold, placed_bodies
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import Pushed, push
from kinloop.algorithms.constrained.pv import delassus, offsets
from kinloop.algorithms.trees.articulated import Articulated, articulate
from kinloop.algorithms.trees.kinematics import Motion, still
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor
from kinloop.scalar import Array


class AtRest(NamedTuple):
    """A robot's poses and articulated inertias with the wrenches of its constraints."""

    kin: Motion
    art: list[Articulated]
    held: list[Held]


def at_rest(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> AtRest:
    kin = still(tree, q, placed_bodies(placed))
    return AtRest(kin, articulate(tree, kin), [hold(tree, kin, q, p) for p in placed])


def push_all(tree: ClusterTree, r: AtRest) -> list[Pushed]:
    return [push(tree, r.kin, r.art, h) for h in r.held]


def pv_osim(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T (m, m) of the constraints' rows."""
    r = at_rest(tree, q, placed)
    return delassus(r.art, push_all(tree, r), offsets(r.held), range(len(tree)))


def pv_osim_solve(tree: ClusterTree, q: Array, x: Array, placed: Sequence[Placed]) -> Array:
    """(J M^-1 J^T)^-1 x: the multipliers that give the rows the accelerations x."""
    return Factor(pv_osim(tree, q, placed)).solve(np.asarray(x))
