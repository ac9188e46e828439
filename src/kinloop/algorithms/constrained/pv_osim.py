"""Inverse operational-space inertia of constraints on cluster trees, in two passes: PV-OSIM.

    L = sum_k u_c^T D_k^-1 u_c = J M^-1 J^T                                            (1)

with u_c what cluster k's own joint feels of unit multipliers, propagated inward through joints that give way.
Derivation: docs/algorithms/pv_osim.md, after [Sathya2023, Algorithm 2].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.delassus import delassus, places
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import at_rest, propagate_all
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor
from kinloop.scalar import Array


def pv_osim(tree: ClusterTree, q: Array, placed: Sequence[Placed]) -> Array:
    """J M^-1 J^T (m, m) of the constraints' rows."""
    r = at_rest(tree, q, placed)
    return delassus(r.art, propagate_all(tree, *r), places(r.constraints), range(len(tree)))


def pv_osim_solve(tree: ClusterTree, q: Array, x: Array, placed: Sequence[Placed]) -> Array:
    """(J M^-1 J^T)^-1 x: the multipliers that give the rows the accelerations x."""
    return Factor(pv_osim(tree, q, placed)).solve(np.asarray(x))
