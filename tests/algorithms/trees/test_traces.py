"""The same lines on symbols: traced algorithms say what the numbers say, in every kind of mechanism."""

from __future__ import annotations

import numpy as np
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_efpa import cluster_efpa
from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.algorithms.trees.energy import kinetic_energy, momentum, potential_energy
from kinloop.algorithms.trees.factorization import inverse_mass_matrix


def test_traced_dynamics_are_the_numeric_ones(small_block):
    for s in small_block:
        tree = s.tree
        sizes = {"q": tree.top.nq, "v": tree.nv, "x": tree.nv}
        for algorithm, x in ((cluster_aba, s.tau), (cluster_rnea, s.a)):
            traced = sc.trace(lambda q, v, x, f=algorithm, t=tree: f(t, q, v, x), sizes)
            expected = algorithm(tree, s.q, s.v, x)
            assert_agree(traced(s.q, s.v, x), expected, s.cond, f"{algorithm.__name__}, {s.name}")


def test_traced_forces_from_outside_reach_every_body(small_block):
    for s in small_block[::2]:
        tree, n = s.tree, len(s.tree.top)
        sizes = {"q": tree.top.nq, "v": tree.nv, "tau": tree.nv, "f": 6 * n}
        traced = sc.trace(lambda q, v, tau, f, t=tree, n=n: cluster_aba(t, q, v, tau, f.reshape(n, 6)), sizes)
        expected = cluster_aba(tree, s.q, s.v, s.tau, s.f_ext)
        assert_agree(traced(s.q, s.v, s.tau, s.f_ext.ravel()), expected, s.cond, s.name)


def test_traced_quantities_of_the_position_are_the_numeric_ones(small_block):
    for s in small_block[::2]:

        def everything(q, v, s=s):
            parts = [
                cluster_crba(s.tree, q),
                inverse_mass_matrix(s.tree, q),
                cluster_efpa(s.tree, q, s.frames),
                momentum(s.tree, q, v),
                np.array([kinetic_energy(s.tree, q, v), potential_energy(s.tree, q)]),
            ]
            return {f"out{k}": np.asarray(p).ravel() for k, p in enumerate(parts)}

        traced = sc.trace(everything, {"q": s.tree.top.nq, "v": s.tree.nv})
        for ours, expected in zip(traced(s.q, s.v), everything(s.q, s.v).values(), strict=True):
            assert_agree(ours, expected, 10.0 * s.cond, s.name, scale=1e-6)
