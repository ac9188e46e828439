"""Index tables of the spanning tree."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from helpers import assert_agree, mechanisms

from kinloop.model import WORLD, Builder
from kinloop.model.parameters import with_parameters
from kinloop.model.topology import Topology

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


@pytest.fixture
def tree() -> Topology:
    b = Builder("tree")
    b.body("a", **SOLID, joint="free")
    b.body("b", "a", **SOLID, axis="x")
    b.body("c", "b", **SOLID, joint="universal")
    b.body("d", "a", **SOLID, joint="fixed")
    b.body("e", **SOLID, joint="prismatic", axis="z")
    return Topology.of(b.mechanism())


def test_places_in_q_and_in_the_velocity(tree):
    assert [(s.start, s.stop) for s in tree.q_of] == [(0, 7), (7, 8), (8, 10), (10, 10), (10, 11)]
    assert [(s.start, s.stop) for s in tree.v_of] == [(0, 6), (6, 7), (7, 9), (9, 9), (9, 10)]
    assert (tree.nq, tree.n_spanning) == (11, 10)
    assert tree.coordinates[6:] == ("b_joint", "c_joint[0]", "c_joint[1]", "e_joint")


def test_paths_meet_at_the_nearest_common_ancestor(tree):
    a, b, c, d, e = range(5)
    assert tree.support(c) == [a, b, c]
    assert tree.paths(c, d) == (a, [b, c], [d])
    assert tree.paths(c, a) == (a, [b, c], []), "an end that is the ancestor has an empty side"
    assert tree.paths(c, e) == (-1, [a, b, c], [e])
    assert tree.paths(-1, e) == (-1, [], [e])


def test_paths_cost_what_they_are_long():
    """Rows of a loop at the end of a long chain take no walk to the world and back."""
    b, parent = Builder("chain"), WORLD
    for k in range(300):
        b.body(f"link-{k}", parent, **SOLID, axis="x")
        parent = f"link-{k}"
    top = Topology.of(b.mechanism())
    looked: list[int] = []

    class Parents(tuple):
        def __getitem__(self, i):
            looked.append(i)
            return super().__getitem__(i)

    assert replace(top, parent=Parents(top.parent)).paths(299, 297) == (297, [298, 299], [])
    assert len(looked) == 2
    for r in mechanisms(11, seed=8):
        top = r.tree.top
        for i, j in r.rng.integers(-1, len(top), (20, 2)).tolist():
            above, to_i, to_j = top.paths(i, j)
            shared = top.support(above)
            assert top.support(i) == shared + to_i and top.support(j) == shared + to_j
            assert not set(to_i) & set(to_j)


def test_integration_and_difference_are_inverse_on_the_whole_manifold():
    for r in mechanisms(22, seed=7):
        top = r.tree.top
        q, step = top.random(r.rng), r.rng.normal(size=top.n_spanning)
        assert_agree(top.difference(q, top.integrate(q, step)), step, cond=1e2)
        assert_agree(top.normalized(top.integrate(q, step)), top.integrate(q, step))
        assert len(top.neutral()) == top.nq == len(q)


def wheel(**changes) -> bool:
    figures = {"mass": 1.0, "com": (0, 0, 0.3), "inertia": (0.2, 0.2, 0.3), "axis": "z"} | changes
    b = Builder("wheel")
    b.body("wheel", **figures)
    b.body("other", **SOLID)
    return Topology.of(b.mechanism()).spins_unseen[0]


def test_only_a_body_symmetric_about_its_axis_spins_unseen():
    assert wheel()
    assert not wheel(com=(0.1, 0, 0))
    assert not wheel(inertia=(0.2, 0.25, 0.3))
    assert not wheel(axis="x")
    assert not wheel(joint="prismatic")


def test_a_wheel_that_carries_something_is_seen():
    b = Builder("wheel")
    b.body("wheel", mass=1.0, inertia=(0.2, 0.2, 0.3), axis="z")
    b.body("load", "wheel", **SOLID)
    assert not Topology.of(b.mechanism()).spins_unseen[0]


def test_a_wheel_that_a_loop_holds_is_seen():
    b = Builder("wheel")
    b.body("wheel", mass=1.0, inertia=(0.2, 0.2, 0.3), axis="z")
    b.body("arm", **SOLID)
    b.rod("tie", "wheel", "arm", (0.1, 0, 0), (0, 0, 1), 1.0)
    assert not Topology.of(b.mechanism()).spins_unseen[0]
    assert Topology.of(b.mechanism()).body_index[WORLD] == -1


def test_a_wheel_that_a_coupling_turns_spins_unseen_all_the_same():
    b = Builder("wheel")
    b.body("wheel", mass=1.0, inertia=(0.2, 0.2, 0.3), axis="z")
    b.body("arm", **SOLID)
    b.gear("wheel_joint", "arm_joint", 6.0)
    assert Topology.of(b.mechanism()).spins_unseen[0]


def test_named_joints_have_places_in_q_and_in_the_velocity(tree):
    assert tree.places(["c_joint", "b_joint"]) == ([8, 9, 7], [7, 8, 6])
    assert tree.places(["d_joint"]) == ([], [])


def test_floating_bases_are_free_in_the_world(tree):
    assert tree.floating_bases == [0]
    b = Builder("held")
    b.body("a", **SOLID)
    b.body("b", "a", **SOLID, joint="free")
    assert Topology.of(b.mechanism()).floating_bases == []


def test_a_topology_is_frozen(tree):
    with pytest.raises(FrozenInstanceError):
        tree.armature = np.ones(tree.n_spanning)


def test_parameters_left_open_make_another_topology(tree):
    before = [tree.mass, tree.placement, tree.armature.copy(), tree.open]
    values = {"b.mass": [7.0], "c_joint.position": [0.1, 0.2, 0.3], "e_joint.armature": [0.5]}
    other = with_parameters(tree, values)
    assert other.open == tuple(values) and other.mechanism is tree.mechanism
    assert other.mass[1] == 7.0 and other.armature[-1] == 0.5
    np.testing.assert_array_equal(other.inertia[1].apply(np.eye(6))[3:, 3:], 7.0 * np.eye(3))
    np.testing.assert_array_equal(other.placement[2].p, [0.1, 0.2, 0.3])
    assert tree.mass is before[0] and tree.placement is before[1] and tree.open == before[3] == ()
    np.testing.assert_array_equal(tree.armature, before[2])


def test_armature_stands_at_every_coordinate_of_its_joint():
    b = Builder("arm")
    b.body("a", **SOLID, armature=0.5)
    b.body("b", "a", **SOLID, joint="universal", armature=0.25)
    np.testing.assert_array_equal(Topology.of(b.mechanism()).armature, [0.5, 0.25, 0.25])
