"""The zoo as a whole: every robot builds, closes, moves; options and mistakes are handled in words."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError, ModelError, UnknownName

SMALL = {"geared_chain": {"links": 4}, "belt_chain": {"links": 4}, "four_bar_chain": {"links": 2}}


def build(name, **options):
    return kl.Robot(kl.robots.mechanism(name, **(options or SMALL.get(name, {}))), backend="numpy")


@pytest.fixture(scope="module", params=kl.robots.names())
def robot(request):
    return build(request.param)


def test_neutral_and_random_states_are_closed(robot):
    assert np.max(robot.loop_error(robot.neutral()), initial=0.0) < 1e-9
    for seed in range(3):
        q, _ = robot.random_state(seed)
        assert np.max(robot.loop_error(q), initial=0.0) < 1e-9


def test_forward_dynamics_inverts_inverse_dynamics(robot):
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    tau = robot.inverse_dynamics(q, v, a)
    M = robot.mass_matrix(q)
    scale = np.linalg.cond(M) * np.finfo(float).eps * 1e3
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, rtol=0, atol=scale * (1 + np.abs(a).max()))
    np.testing.assert_array_less(0, np.linalg.eigvalsh(M))


def test_has_a_name_and_a_line_about_it(robot):
    assert robot.name in kl.robots.names()
    assert 20 < len(kl.robots.describe(robot.name)) < 110


def test_load_gives_a_robot():
    assert isinstance(kl.robots.load("four_bar"), kl.Robot)


def test_unknown_robot_lists_near_names():
    with pytest.raises(UnknownName, match=r"no robot named 'telo'; did you mean 'tello'"):
        kl.robots.load("telo")


def test_unknown_option_lists_the_options_there_are():
    with pytest.raises(MethodError, match="'geared_chain' has no option 'link'; it takes links, ratio"):
        kl.robots.mechanism("geared_chain", link=3)
    with pytest.raises(MethodError, match="'four_bar' has no option 'name'; it takes none"):
        kl.robots.mechanism("four_bar", name="x")


@pytest.mark.parametrize("name, links", [("geared_chain", 0), ("belt_chain", 3), ("four_bar_chain", 1.5)])
def test_impossible_lengths_are_refused(name, links):
    with pytest.raises(ModelError, match="links must be"):
        kl.robots.mechanism(name, links=links)


def test_geared_chain_has_a_cluster_of_two_per_joint():
    robot = build("geared_chain", links=5, ratio=9.0)
    assert [len(c.bodies) for c in robot.tree] == [2] * 5
    assert robot.nv == 5
    qd = robot.spanning_velocity(robot.neutral(), np.arange(1.0, 6.0))
    np.testing.assert_array_equal(qd, np.outer(np.arange(1.0, 6.0), [1, 9]).ravel())


def test_belt_chain_couples_pairs_as_the_paper_prints():
    robot = build("belt_chain", links=6)
    assert [len(c.bodies) for c in robot.tree] == [4] * 3
    qd = robot.spanning_velocity(robot.neutral(), [1.0, 2.0, 0, 0, 0, 0])
    assert qd[:4].tolist() == [1.0, 12.0, 36.0, 2.0]  # link, its rotor, the far rotor, the far link


def test_four_bar_chain_keeps_its_bars():
    """Distances between pins, measured from poses."""
    robot = build("four_bar_chain", links=2)
    q, _ = robot.random_state(0)
    for k in range(2):
        coupler, rocker = (robot.frame_pose(q, f"{name}-{k}") for name in ("coupler", "rocker"))
        end = coupler @ [1.0, 0, 0, 1]
        assert abs(np.linalg.norm(end[:3] - rocker[:3, 3]) - 0.8) < 1e-9


@pytest.mark.parametrize("name, rank, rows", [("bennett", 2, 5), ("bricard", 4, 5)])
def test_overconstrained_linkages_turn_with_one_freedom(name, rank, rows):
    robot = build(name)
    loop = robot.loop_names[0]
    assert robot.nv == 1
    q = robot.neutral()
    for _ in range(40):
        q = robot.integrate(q, [0.02])
        found = robot.loop_rows(loop, q)
        assert len(found.phi) == rows
        assert np.linalg.matrix_rank(found.K, tol=1e-7) == rank
        assert np.max(robot.loop_error(q)) < 1e-9


def test_stewart_moves_alike_in_both_choices_of_coordinates():
    platform, legs = build("stewart"), build("stewart", independent="legs")
    q, v = platform.random_state(2)
    rate = legs.tree.independent_dofs
    qd = platform.spanning_velocity(q, v)
    np.testing.assert_allclose(legs.spanning_velocity(q, qd[rate]), qd, atol=1e-9)
    assert platform.kinetic_energy(q, v) == pytest.approx(legs.kinetic_energy(q, qd[rate]), rel=1e-9)
    with pytest.raises(MethodError, match="'platform', 'legs'"):
        build("stewart", independent="base")


def test_wishbone_uprights_stay_between_their_arms():
    robot = build("wishbone")
    assert robot.nv == 6 + 4 + 4
    q, _ = robot.random_state(3)
    for corner, left in (("front_left", 1), ("rear_right", -1)):
        upright, upper = (robot.frame_pose(q, f"{corner}_{link}") for link in "bc")
        np.testing.assert_allclose(upright @ [0, 0, 0.2, 1], upper @ [0, 0.28 * left, 0, 1], atol=1e-9)


def test_rocker_differential_keeps_the_chassis_between_the_rockers():
    robot = build("rocker")
    qd = robot.spanning_velocity(robot.neutral(), np.arange(1.0, robot.nv + 1))
    dofs = {name: robot.tree.top.v_of[robot.joint_names.index(name)].start for name in robot.joint_names[1:]}
    assert qd[dofs["right_rocker_joint"]] == -qd[dofs["left_rocker_joint"]] != 0


def test_skid_rover_wheels_of_a_side_turn_together():
    robot = build("skid_rover")
    assert robot.nv == 6 + 2
    qd = robot.spanning_velocity(robot.neutral(), np.arange(1.0, 9.0))
    wheels = dict(zip(robot.joint_names[1:], qd[6:], strict=True))
    assert wheels["front_left_wheel_joint"] == wheels["rear_left_wheel_joint"] == 7.0
    assert wheels["front_right_wheel_joint"] == wheels["rear_right_wheel_joint"] == 8.0
