"""Names and places: which entry of which vector belongs to which joint, both ways; parameters by name."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import UnknownName
from tests.helpers import mechanisms


@pytest.fixture(scope="module")
def tello() -> kl.Robot:
    return kl.Robot(kl.robots.mechanism("tello"), backend="numpy")


def test_names_and_places_are_each_others_inverse_on_random_mechanisms():
    several = 0
    for r in mechanisms(30, seed=5):
        robot = kl.Robot.from_tree(r.tree, backend="numpy")
        for names, index in (
            (robot.position_names, robot.q_index),
            (robot.spanning_names, robot.spanning_index),
            (robot.independent_names, robot.v_index),
        ):
            assert [index(name) for name in names] == [slice(k, k + 1) for k in range(len(names))]
        for joint, kind in zip(robot.joint_names, robot.mechanism.joints, strict=True):
            here = robot.spanning_names[robot.spanning_index(joint)]
            assert len(robot.position_names[robot.q_index(joint)]) == kind.type.nq and len(here) == kind.type.nv
            if set(here) <= set(robot.independent_names):
                assert robot.independent_names[robot.v_index(joint)] == here
                several += len(here) > 1
            else:
                with pytest.raises(UnknownName, match="not in v"):
                    robot.v_index(joint)
    assert several > 10, "joints of several freedoms are among them"


def test_a_slice_of_a_state_is_that_joint_alone(tello):
    q, _ = tello.random_state(0)
    moved = np.zeros(tello.nv)
    moved[tello.v_index("torso-to-left-hip-clamp")] = 1.0
    step = tello.integrate(q, moved, 1e-6) - q
    assert step[tello.q_index("torso-to-left-hip-clamp")] == pytest.approx([1e-6])
    assert (
        not step[tello.q_index("torso-to-right-hip-clamp")].any() and not step[tello.q_index("torso-to-ground")].any()
    )
    assert tello.v_index("torso-to-ground") == slice(0, 6) and tello.q_index("torso-to-ground") == slice(0, 7)
    assert tello.v_index("torso-to-ground[4]") == slice(4, 5) and tello.q_index("torso-to-ground[6]") == slice(6, 7)


def test_the_independent_part_of_spanning_velocities_is_v(tello):
    q, v = tello.random_state(0, size=4)
    np.testing.assert_array_equal(tello.independent(tello.spanning_velocity(q, v)), v)


def test_a_dependent_joint_is_refused_as_a_key_with_what_to_do(tello):
    dependent = next(n for n in tello.spanning_names if n not in tello.independent_names)
    with pytest.raises(KeyError) as caught:
        tello.v_index(dependent)
    said = str(caught.value)
    assert said.startswith(f"joint {dependent!r} is not in v: {dependent!r} follows from other coordinates; take one")
    assert "robot.with_independent" in said
    assert tello.with_independent([dependent]).v_index(dependent).stop


@pytest.mark.parametrize("ask", ["q_index", "v_index", "spanning_index"])
def test_unknown_joints_list_near_names_once(tello, ask):
    with pytest.raises(
        KeyError, match="no joint named 'left-thigh-to-shi'; did you mean 'left-thigh-to-shin'"
    ) as caught:
        getattr(tello, ask)("left-thigh-to-shi")
    assert str(caught.value).count("'left-thigh-to-shin'") == 1


def test_bodies_have_places_too(tello):
    assert [tello.body_index(name) for name in tello.body_names] == list(range(len(tello.body_names)))
    with pytest.raises(KeyError, match="no body named 'torsoo'; did you mean 'torso'"):
        tello.body_index("torsoo")


def test_parameters_have_the_values_that_kernels_take_for_granted():
    robot = kl.robots.load("mit_humanoid_leg")
    values = robot.parameters()
    names = [n for n in values if n.endswith((".mass", ".com", ".ratio"))]
    assert {n.rpartition(".")[2] for n in values} == {"mass", "com", "inertia", "position", "rpy", "armature", "ratio"}
    q, v = robot.random_state(0)
    tau = np.ones(robot.nv)
    open_kernel = robot.compile("forward_dynamics", parameters=names)
    a = open_kernel(q, v, tau, *(values[n] for n in names))
    np.testing.assert_allclose(a, robot.forward_dynamics(q, v, tau), rtol=1e-10)
    values[names[0]][:] = 7.0
    assert robot.parameters()[names[0]][0] != 7.0, "copies, not views"


def test_a_free_joint_has_no_armature_among_the_parameters():
    robot = kl.Robot(kl.robots.mechanism("mini_cheetah"), backend="numpy")
    base = next(j.name for j in robot.mechanism.joints if j.type.is_free)
    assert f"{base}.position" in robot.parameters() and f"{base}.armature" not in robot.parameters()


def test_a_robot_says_in_a_line_what_it_is(tello):
    assert repr(tello).startswith("<Robot 'tello': ") and "\n" not in repr(tello)
    assert "3 bodies in 1 cluster, nq=3" in repr(kl.Robot(kl.robots.mechanism("four_bar"), backend="numpy"))
