"""Derivatives of inverse and forward dynamics along closed motions, from the graph: one tangent per direction.

The partials of inverse dynamics are derivatives of its trace; forward dynamics follows from them,

    da/dx = -M^-1 d tau(q, v, a)/dx  for x = q, v,    da/dtau = M^-1.

Of constrained motion every derivative is one tangent of its trace. The witness of `trees.derivatives` and of
`constrained.constrained_derivatives`. Derivation: docs/algorithms/derivatives.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.constrained_derivatives import Slopes, traced
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.multipliers import RowPlan
from kinloop.algorithms.constrained.plans import row_plan
from kinloop.algorithms.constrained.pv import pv
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.algorithms.trees.derivatives import on_symbols
from kinloop.algorithms.trees.factorization import inverse_mass_matrix
from kinloop.algorithms.trees.kinematics import tangent_directions
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array


def partials(tree: ClusterTree, q: Array, v: Array, a: Array, f_ext: Array | None) -> tuple[Array, Array]:
    """d tau/dq and d tau/dv at constant a, however a came about; on symbols."""
    if not tree.nv:
        return np.zeros((0, 0)), np.zeros((0, 0))
    # Symbols of its own keep a constant: with a = forward dynamics the trace would fold tau back to what it was.
    graph = next(x.graph for x in (*q, *v, *a) if isinstance(x, sc.Symbol))
    constant = graph.inputs("constant acceleration", tree.nv)
    tau = cluster_rnea(tree, q, v, constant, f_ext)
    dq = [sc.jvp(tau, q, direction) for direction in tangent_directions(tree, q)]
    dv = [sc.jvp(tau, v, unit) for unit in np.eye(tree.nv)]
    back = dict(zip(constant, a, strict=True))
    return sc.substitute(np.stack(dq, axis=1), back), sc.substitute(np.stack(dv, axis=1), back)


@on_symbols
def inverse_dynamics_derivatives(
    tree: ClusterTree, q: Array, v: Array, a: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array]:
    """d tau/dq, d tau/dv, d tau/da = M, each (nv, nv)."""
    dq, dv = partials(tree, q, v, a, f_ext)
    return dq, dv, cluster_crba(tree, q)


@on_symbols
def forward_dynamics_derivatives(
    tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array]:
    """da/dq, da/dv, da/dtau, each (nv, nv)."""
    a = cluster_aba(tree, q, v, tau, f_ext)
    dq, dv = partials(tree, q, v, a, f_ext)
    inverse = inverse_mass_matrix(tree, q)
    return -(inverse @ dq), -(inverse @ dv), inverse


def constrained_dynamics_derivatives(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    plan: RowPlan | None = None,
) -> Slopes:
    """Of accelerations and multipliers along q, v and tau."""
    plan = row_plan(tree, placed) if plan is None else plan
    return traced(partial(_tangents, tree, placed, plan), q, v, tau, f_ext)


def _tangents(
    tree: ClusterTree, placed: Sequence[Placed], plan: RowPlan, q: Array, v: Array, tau: Array, f_ext: Array | None
) -> Slopes:
    motion = pv(tree, q, v, tau, placed, f_ext, "joint", plan)
    both = np.concatenate([motion.a, motion.multipliers])
    found = [[sc.jvp(both, q, x) for x in tangent_directions(tree, q)]]
    found += [[sc.jvp(both, inputs, unit) for unit in np.eye(tree.nv)] for inputs in (v, tau)]
    q_, v_, tau_ = (np.stack(x, axis=1) for x in found)
    a, l = slice(tree.nv), slice(tree.nv, None)
    return Slopes(q_[a], v_[a], tau_[a], q_[l], v_[l], tau_[l], motion.residual, motion.deficient)
