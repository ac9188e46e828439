"""Multipliers branch by branch: groups that share a branch, and kernels where there is nothing to constrain."""

from __future__ import annotations

import numpy as np
from helpers import State, assert_agree, assert_enough, drop, states

import kinloop as kl
from kinloop import scalar as sc
from kinloop.algorithms.constrained.branches import groups_beyond
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.passes import Propagated
from kinloop.algorithms.constrained.pv import pv
from kinloop.algorithms.constrained.pv_osim import pv_osim
from kinloop.algorithms.constrained.pv_osim_fast import pv_osim_fast
from kinloop.algorithms.trees.cluster_aba import cluster_aba


def reaching(*clusters: int) -> Propagated:
    return Propagated({}, {k: np.zeros((1, 1)) for k in clusters})


def test_constraints_are_grouped_by_the_branches_they_share():
    beyond = {1, 2, 3, 4, 5}
    apart = [reaching(0, 1, 2), reaching(0, 3), reaching(0, 4, 5)]
    assert groups_beyond(apart, beyond) == [[0], [1], [2]]
    tied = [*apart, reaching(0, 2, 3)]
    assert groups_beyond(tied, beyond) == [[2], [0, 1, 3]]


def test_without_constraints_the_branches_move_as_in_forward_dynamics():
    compared = 0
    for s in states(11, 1300, per=1):
        tree = s.tree
        if not tree.nv:
            drop("branches: nothing moves")
            continue
        sizes = {"q": tree.top.nq, "v": tree.nv, "tau": tree.nv}
        traced = sc.trace(lambda q, v, tau, t=tree: pv(t, q, v, tau, [], base="branches", pivots=()).a, sizes)
        assert_agree(traced(s.q, s.v, s.tau), cluster_aba(tree, s.q, s.v, s.tau), s.cond, s.name)
        compared += 1
    assert_enough(compared, 10, "mechanisms")


def test_traced_branches_and_base_make_the_whole_matrix():
    assert_enough(sum(_whole_matrix(s) for s in states(11, 1320, per=1)), 10, "mechanisms")


def test_branches_on_a_base_without_freedom_make_the_whole_matrix():
    (s,) = states(1, 1442, per=1)
    assert s.tree.nv and not any(c.m for c in s.tree if c.parent < 0)
    assert _whole_matrix(s)


def _whole_matrix(s: State) -> bool:
    placed = [Placed(kl.Weld("frame"), f) for f in s.frames[:2]]
    traced = sc.trace(lambda q: pv_osim_fast(s.tree, q, placed), {"q": s.tree.top.nq})
    assert_agree(traced(s.q), pv_osim(s.tree, s.q, placed), s.cond, s.name, scale=1e-3)
    return True
