"""Exact methods of other authors against the cluster algorithms: same answers, other ways."""

from __future__ import annotations

import numpy as np
from helpers import assert_agree, assert_enough, drop

from kinloop import scalar as sc
from kinloop.algorithms.trees.branch_factor import velocity_parents
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_efpa import cluster_efpa
from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.algorithms.trees.kinematics import frame_jacobian
from kinloop.algorithms.witnesses.lagrange import lagrange
from kinloop.algorithms.witnesses.projection import projected_osim, projected_rnea, projection
from kinloop.algorithms.witnesses.spanning_tree import spanning_tree
from kinloop.algorithms.witnesses.sparse_ltl import SparseLTL


def test_the_projection_moves_as_the_clusters_do(block):
    for s in block:
        a = cluster_aba(s.tree, s.q, s.v, s.tau, s.f_ext)
        assert_agree(projection(s.tree, s.q, s.v, s.tau, s.f_ext), a, s.cond, s.name)


def test_multipliers_give_the_motion_of_the_clusters(block):
    compared = 0
    for s in block:
        H = cluster_crba(spanning_tree(s.tree), s.q)
        cond = float(np.linalg.cond(H)) if len(H) else 1.0
        if not cond < 1e9:
            drop("Lagrange multipliers need the inverse of the spanning inertia: a body at a cut is massless")
            continue
        a = cluster_aba(s.tree, s.q, s.v, s.tau, s.f_ext)
        assert_agree(lagrange(s.tree, s.q, s.v, s.tau, s.f_ext), a, s.cond * cond, s.name)
        compared += 1
    assert_enough(compared, 0.8 * len(block), "states")


def test_projected_inverse_dynamics_needs_the_forces_of_the_clusters(block):
    for s in block:
        tau = cluster_rnea(s.tree, s.q, s.v, s.a, s.f_ext)
        assert_agree(projected_rnea(s.tree, s.q, s.v, s.a, s.f_ext), tau, s.cond, s.name)


def test_the_projected_inverse_operational_space_inertia_is_that_of_the_clusters(block):
    for s in block:
        osim = cluster_efpa(s.tree, s.q, s.frames)
        J = np.concatenate([frame_jacobian(s.tree, s.q, *f) for f in s.frames])
        scale = float(np.max(np.abs(J), initial=0.0)) ** 2 * float(np.linalg.norm(s.M)) ** -1 if s.tree.nv else 1.0
        assert_agree(projected_osim(s.tree, s.q, s.frames), osim, s.cond, s.name, scale)


def test_traced_baselines_are_the_numeric_ones(small_block):
    compared, chosen = 0, small_block[1::3]
    for s in chosen:
        tree = s.tree
        if not tree.nv or any(b.mass == 0 for b in tree.top.bodies):
            drop("traced baselines: nothing moves, or a body is massless")
            continue
        sizes = {"q": tree.top.nq, "v": tree.nv, "tau": tree.nv}
        for algorithm in (projection, lagrange):
            traced = sc.trace(lambda q, v, tau, f=algorithm, t=tree: f(t, q, v, tau), sizes)
            expected = algorithm(tree, s.q, s.v, s.tau)
            assert_agree(traced(s.q, s.v, s.tau), expected, 1e3 * s.cond, f"{algorithm.__name__}, {s.name}")
        compared += 1
    assert_enough(compared, 0.9 * len(chosen), "mechanisms")


def test_the_sparse_factor_keeps_the_zeros_of_the_tree(small_block):
    for s in small_block:
        factor, parents = SparseLTL(s.M, velocity_parents(s.tree)), velocity_parents(s.tree)
        L = np.tril(factor.L)
        assert_agree(L.T @ L, s.M, s.cond, s.name)
        for k, parent in enumerate(parents):
            path = [k]
            while parent >= 0:
                path.append(parent)
                parent = parents[parent]
            assert not np.any(np.delete(L[k], path)), s.name
        B = np.eye(s.tree.nv)
        assert_agree(factor.solve_upper(factor.solve_lower(B)), np.linalg.inv(s.M), s.cond, s.name)
