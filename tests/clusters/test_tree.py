"""The cluster tree: sizes, places, user's and automatic choice of independent coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_agree, assert_enough, drop, mechanisms

from kinloop.clusters import conditioning, grow, random_closed
from kinloop.errors import ModelError
from kinloop.model import Builder

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def four_bar(*independent: str):
    b = Builder("four_bar")
    b.body("crank", **SOLID, axis="y")
    b.body("coupler", "crank", **SOLID, axis="y", at=(0.4, 0, 0))
    b.body("rocker", **SOLID, axis="y", at=(1.2, 0, 0))
    b.loop("pin", "coupler", "rocker", "revolute", axis="y", at=(1.0, 0, 0), at_successor=(0.8, 0, 0))
    b.independent = list(independent)
    return b.mechanism()


@pytest.mark.parametrize("joint", ["crank_joint", "coupler_joint", "rocker_joint"])
def test_the_user_chooses_the_independent_joint(joint):
    tree = grow(four_bar(joint))
    assert [tree.top.coordinates[d] for d in tree.independent_dofs] == [joint]
    assert tree.nv == 1 and len(tree) == 1


def test_a_choice_that_does_not_fit_is_refused_with_the_number_needed():
    with pytest.raises(ModelError, match=r"crank, coupler, rocker has 1 independent velocities, and .*name 1 that"):
        grow(four_bar("crank_joint", "coupler_joint"))


def test_a_choice_that_does_not_determine_the_motion_is_refused():
    b = Builder("idle")
    b.body("a", **SOLID, axis="z")
    b.body("b", **SOLID, axis="z")
    b.body("c", **SOLID, axis="z")
    b.gear("a_joint", "b_joint", 2.0)
    b.loop_function("tie", ["b_joint", "c_joint"], lambda x, y: [x - y, 0.0 * x])
    b.independent = ["a_joint", "c_joint"]
    with pytest.raises(ModelError, match="has 1 independent velocities"):
        grow(b.mechanism())


def test_choosing_in_one_cluster_leaves_the_others_to_themselves():
    compared = 0
    for r in mechanisms(10, seed=900, kind="mixed"):
        constrained = [c for c in r.tree if c.parts and c.m]
        if not constrained:
            drop("choice of coordinates: no cluster has any to choose")
            continue
        names = [r.tree.top.coordinates[constrained[0].dofs[i]] for i in constrained[0].chart.independent]
        again = grow(replace(r.mechanism, independent=names))
        assert [c.chart.independent for c in again] == [c.chart.independent for c in r.tree], r.name
        compared += 1
    assert_enough(compared, 8, "mechanisms")


def test_the_automatic_choice_is_well_conditioned():
    numbers = []
    for r in mechanisms(66, seed=950):
        numbers.append(conditioning(r.tree, random_closed(r.tree, r.rng)))
    assert np.median(numbers) < 30


def test_places_in_the_velocity_follow_one_another():
    for r in mechanisms(22, seed=1000):
        at = 0
        for c in r.tree:
            assert c.v == slice(at, at + c.m)
            assert len(c.dofs) == c.chart.n == len(c.chart.dependent) + c.m
            at += c.m
        assert at == r.tree.nv == len(r.tree.independent_dofs)


def test_kept_rows_have_full_rank_and_annihilate_G():
    for r in mechanisms(22, seed=1020):
        q = random_closed(r.tree, r.rng)
        G = r.tree.spanning_jacobian(q)
        rows = r.tree.constraint_rows(q, np.zeros(r.tree.top.n_spanning))
        assert len(rows.phi) == r.tree.top.n_spanning - r.tree.nv
        size = float(np.max(np.abs(G), initial=1.0) * np.max(np.abs(rows.K), initial=1.0))
        assert_agree(rows.K @ G, np.zeros((len(rows.phi), r.tree.nv)), conditioning(r.tree, q), r.name, size)


def test_another_chart_describes_the_same_motion():
    one, two = grow(four_bar("crank_joint")), grow(four_bar("rocker_joint"))
    q = random_closed(one, np.random.default_rng(0))
    qd = one.spanning_jacobian(q) @ np.array([0.7])
    switched = one.with_charts({0: two.clusters[0].chart})
    assert_agree(switched.spanning_jacobian(q) @ qd[switched.independent_dofs], qd, conditioning(switched, q))


def test_constrained_loops_are_not_embedded():
    m = replace(four_bar(), constrained=("pin",))
    tree = grow(m)
    assert len(tree) == 3 and tree.nv == 3


def test_what_belongs_to_a_tree_is_made_once_and_for_that_tree_only():
    trees = [r.tree for r in mechanisms(2, seed=1040)]
    made = []

    def bodies(tree, factor):
        made.append((tree, factor))
        return factor * len(tree.top)

    for _ in range(2):
        assert [t.once(bodies, 2) for t in trees] == [2 * len(t.top) for t in trees]
        assert trees[0].once(bodies, 3) == 3 * len(trees[0].top)
    assert made == [(trees[0], 2), (trees[1], 2), (trees[0], 3)]
