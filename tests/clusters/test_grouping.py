"""Which bodies become one cluster."""

from __future__ import annotations

import numpy as np
from helpers import mechanisms

from kinloop.clusters.grouping import group, strongly_connected
from kinloop.model import WORLD, Builder
from kinloop.model.topology import Topology

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def clusters(parents: dict[str, str], constrain) -> list[set[str]]:
    """Clusters by name of a tree of hinged bodies with constraints."""
    b = Builder("tree")
    for name, parent in parents.items():
        b.body(name, parent, **SOLID, axis="z", at=(0.3, 0.1, 0.0))
    constrain(b)
    m = b.mechanism()
    top = Topology.of(m)
    return [{top.bodies[i].name for i in c} for c in group(top, [*m.loops, *m.couplings])]


def test_the_check_case_of_urdf_plus():
    parents = {"base": WORLD, "l1": "base", "l2": "base", "l3": "l1", "l5": "l1", "l4": "l3"}

    def constrain(b):
        b.loop("pin", "l4", "l5", "revolute", axis="z")
        b.gear("l1_joint", "l2_joint", 1.0)

    assert clusters(parents, constrain) == [{"base"}, {"l1", "l2"}, {"l3", "l4", "l5"}]


def test_without_constraints_every_body_is_a_cluster():
    assert clusters({"a": WORLD, "b": "a", "c": "a"}, lambda b: None) == [{"a"}, {"b"}, {"c"}]


def test_a_loop_to_the_ground_takes_the_whole_path():
    parents = {"a": WORLD, "b": "a", "c": "b", "d": "c"}
    assert clusters(parents, lambda b: b.loop("l", "c", WORLD, "spherical")) == [{"a", "b", "c"}, {"d"}]


def test_a_loop_to_an_ancestor_leaves_the_ancestor_out():
    parents = {"a": WORLD, "b": "a", "c": "b"}
    assert clusters(parents, lambda b: b.loop("l", "c", "a", "spherical")) == [{"a"}, {"b", "c"}]


def test_loops_that_share_a_body_share_a_cluster():
    parents = {"a": WORLD, "b": WORLD, "c": WORLD}

    def constrain(b):
        b.loop("one", "a", "b", "spherical")
        b.loop("two", "b", "c", "spherical")

    assert clusters(parents, constrain) == [{"a", "b", "c"}]


def test_a_coupling_takes_only_the_joints_it_names():
    parents = {"a": WORLD, "b": "a", "c": "a", "d": "b", "e": "c"}
    coupled = clusters(parents, lambda b: b.gear("d_joint", "e_joint", 2.0))
    assert coupled == [{"a"}, {"b", "c"}, {"d", "e"}], "b and c merge, so that d and e hang on one cluster"


def test_a_rotor_far_below_its_link_takes_in_what_is_between():
    parents = {"a": WORLD, "rotor": WORLD, "b": "a"}
    assert clusters(parents, lambda b: b.gear("rotor_joint", "b_joint", 6.0)) == [{"a", "rotor", "b"}]


def test_figure_5_keeps_the_cluster_on_two_output_bodies_apart():
    parents = {"1": WORLD, "2": "1", "3": "2", "4": "1", "5": "4", "6": "1", "7": "2"}

    def constrain(b):
        b.rod("ground", "3", WORLD, (0, 0, 0), (1, 0, 0), 1.0)
        b.rod("tie", "5", "1", (0, 0, 0), (1, 0, 0), 1.0)
        b.gear("6_joint", "7_joint", 1.0)

    assert clusters(parents, constrain) == [{"1", "2", "3"}, {"4", "5"}, {"6", "7"}]


def test_clusters_form_a_tree_with_parents_first():
    for r in mechanisms(44, seed=100):
        top, tree = r.tree.top, r.tree
        assert sorted(i for c in tree for i in c.bodies) == list(range(len(top))), "every body in one cluster"
        for c in tree:
            assert c.parent < c.index
            assert {tree.cluster_of.get(o, -1) for o in c.outputs} == {c.parent}, "one parent cluster"
            for part in c.parts:
                assert set(part.bodies(top)) <= set(c.bodies)
            for i, output in zip(c.bodies, c.outputs, strict=True):
                above = [j for j in top.support(i) if j not in c.bodies]
                assert output == (above[-1] if above else -1)


def test_components_of_random_graphs_are_mutually_reachable_sets():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(1, 9))
        A = rng.random((n, n)) < 0.25
        reach = np.linalg.matrix_power(np.eye(n) + A, n) > 0
        both = reach & reach.T
        expected = {tuple(np.flatnonzero(row).tolist()) for row in both}
        found = strongly_connected([np.flatnonzero(row).tolist() for row in A])
        assert {tuple(c) for c in found} == expected
        place = {i: k for k, c in enumerate(found) for i in c}
        assert all(place[j] <= place[i] for i in range(n) for j in np.flatnonzero(A[i])), "successors come first"
