"""Derivatives of forward dynamics along closed motions, from those of inverse dynamics.

    da/dx = -M^-1 d tau(q, v, a)/dx  for x = q, v,    da/dtau = M^-1,

column by column through the factors of M, which keep the zeros of a tree (`branch_factor`). A robot on a free base
needs less: moved as a whole it feels another gravity, or is carried along faster, and its base answers alone, a = -e.
Derivation: docs/algorithms/derivatives.md.
"""

from __future__ import annotations

import numpy as np

from kinloop.algorithms.trees.branch_factor import BranchFactor, velocity_parents
from kinloop.algorithms.trees.cluster_changes import cluster_change
from kinloop.algorithms.trees.cluster_crba import mass_matrix
from kinloop.algorithms.trees.cluster_rnea import forces
from kinloop.algorithms.trees.derivatives import composites_of, on_symbols, partials
from kinloop.algorithms.trees.kinematics import Motion, motion
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array


@on_symbols
def forward_dynamics_derivatives(
    tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array]:
    """da/dq, da/dv, da/dtau, each (nv, nv)."""
    kin = motion(tree, q, v)
    M = mass_matrix(tree, kin, composites_of(tree, kin), np.dtype(object))
    factor = BranchFactor(M, velocity_parents(tree))
    a = factor.solve(tau - forces(tree, kin, q, np.zeros(tree.nv), f_ext))
    found = partials(tree, kin, q, v, a, f_ext)
    along_q, along_v = _base_answers(tree, kin, q, v, a)
    da_dq, da_dv = (np.full((tree.nv, tree.nv), 0.0, dtype=object) for _ in range(2))
    for k in range(tree.nv):
        for da, dtau, base in ((da_dq, found.dq, along_q), (da_dv, found.dv, along_v)):
            da[:, k] = base[k] if k in base else factor.solve(-dtau[:, k])
    return da_dq, da_dv, factor.inverse()


def _base_answers(
    tree: ClusterTree, kin: Motion, q: Array, v: Array, a: Array
) -> tuple[dict[int, Array], dict[int, Array]]:
    """Columns of da/dq and da/dv that free bases answer alone, by number."""
    along_q: dict[int, Array] = {}
    along_v: dict[int, Array] = {}
    for c in tree:
        i, start = c.bodies[0], c.v.start
        if c.parent >= 0 or c.parts or not tree.top.types[i].is_free or np.any(tree.top.armature[list(c.dofs)] != 0):
            continue
        change = cluster_change(tree, c, kin, [], q, v, a)
        for k in range(6):
            along_q[start + k], along_v[start + k] = (np.full(tree.nv, 0.0, dtype=object) for _ in range(2))
            along_q[start + k][c.v], along_v[start + k][c.v] = -change.e[i][:, k], -change.e_v[i][:, k]
            if k < 3:  # a base that turns faster pulls at what it carries
                del along_v[start + k]
    return along_q, along_v
