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
from kinloop.algorithms.trees.derivatives import Moving, moving_robot, on_symbols, partials, transmitted
from kinloop.algorithms.trees.kinematics import Motion, spanning_accelerations
from kinloop.clusters import ClusterTree
from kinloop.linear import join
from kinloop.scalar import Array


@on_symbols
def forward_dynamics_derivatives(
    tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array]:
    """da/dq, da/dv, da/dtau, each (nv, nv)."""
    now = moving_robot(tree, q, v, f_ext)
    factor = BranchFactor(mass_matrix(tree, now.kin, now.C, np.dtype(object)), velocity_parents(tree))
    a = factor.solve(tau - bias_of(tree, now))
    found = partials(tree, now, q, v, a, f_ext)
    known = _base_answers(tree, now.kin, q, v, a)
    forces = np.concatenate([found.dq, found.dv], axis=1)
    forces[:, list(known)] = 0.0
    da = factor.solve(forces, -1.0)
    for k, answer in known.items():
        da[:, k] = answer
    return da[:, : tree.nv], da[:, tree.nv :], factor.inverse()


def bias_of(tree: ClusterTree, now: Moving) -> Array:
    """tau at zero acceleration."""
    top, kin, none = tree.top, now.kin, np.zeros(tree.nv)
    joint = join([S.T @ f for S, f in zip(kin.S, transmitted(tree, now, none)[1], strict=True)])
    joint = joint + top.armature * spanning_accelerations(tree, kin, none)
    return join([e.G.T @ joint[list(c.dofs)] for c, e in zip(tree, kin.embedding, strict=True)])


def _base_answers(tree: ClusterTree, kin: Motion, q: Array, v: Array, a: Array) -> dict[int, Array]:
    """Columns of da/dq and da/dv, side by side, that free bases answer alone, by number."""
    out: dict[int, Array] = {}
    for c in tree:
        i, start = c.bodies[0], c.v.start
        if c.parent >= 0 or c.parts or not tree.top.types[i].is_free or np.any(tree.top.armature[list(c.dofs)] != 0):
            continue
        change = cluster_change(tree, c, kin, [], q, v, a)
        answers = {start + k: change.e[i][:, k] for k in range(6)}
        answers |= {tree.nv + start + k: change.e_v[i][:, k] for k in range(3, 6)}  # one that turns faster pulls at all
        for k, e in answers.items():
            out[k] = np.full(tree.nv, 0.0, dtype=object)
            out[k][c.v] = -e
    return out
