"""Sliders move the independent coordinates one at a time, loops stay closed."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.spatial.rotation import rpy_rotation
from kinloop.viewer.slider_coordinates import STEEPEST, Coordinates
from kinloop.viewer.tour_motion import tour


@pytest.mark.parametrize("name", ["tello", "four_bar", "bennett", "slider_crank", "stewart"])
def test_moving_a_coordinate_keeps_loops_closed(name):
    robot = kl.robots.load(name)
    c = Coordinates(robot)
    before = c.values()
    k = len(c.names) - 1
    assert c.move(k, before[k] + 0.2)
    assert c.value(k) == pytest.approx(before[k] + 0.2, abs=1e-9)
    np.testing.assert_allclose(c.values()[:k], before[:k], atol=1e-9)
    assert np.max(robot.loop_error(c.q)) < 1e-10
    low, high = c.limits(k)
    assert low <= c.value(k) <= high
    assert c.move(k, before[k])
    np.testing.assert_allclose(c.values(), before, atol=1e-9)


def test_a_coordinate_stops_where_the_loop_ends():
    """A rocker's reach is bounded by its crank: the slider comes to a stop, the loop stays closed."""
    robot = kl.robots.load("four_bar_chain", links=1).with_independent(["rocker-0_joint"])
    c = Coordinates(robot)
    assert not c.move(0, c.value(0) + 3.0)
    assert np.max(robot.loop_error(c.q)) < 1e-8


def test_a_coordinate_stays_where_a_step_would_open_the_loop(monkeypatch):
    robot = kl.robots.load("four_bar")
    c = Coordinates(robot)
    before = c.q
    monkeypatch.setattr(type(robot), "integrate", lambda self, q, step: q + 1e-3)
    assert not c.move(0, c.value(0) + 0.05)
    assert c.q is before


def test_sliders_reach_as_far_as_joints_do_else_a_turn_or_a_metre():
    b = kl.Builder("joints")
    ball = {"mass": 1.0, "inertia": (1, 1, 1)}
    b.body("stopped", axis="z", lower=-0.2, upper=0.3, **ball)
    b.body("turning", axis="z", **ball)
    b.body("half", axis="z", lower=-0.4, **ball)
    b.body("sliding", joint="prismatic", axis="z", **ball)
    b.body("ball", joint="spherical", **ball)
    c = Coordinates(b.build())
    reach = {name: c.limits(k) for k, name in enumerate(c.names)}
    expected = {
        "stopped_joint": (-0.2, 0.3), "turning_joint": (-np.pi, np.pi), "half_joint": (-0.4, np.pi),
        "sliding_joint": (-1.0, 1.0),
    } | {f"ball_joint[{k}]": (-r, r) for k, r in enumerate((np.pi, STEEPEST, np.pi))}  # fmt: skip
    assert reach == expected and len(reach) == 7
    c.q[c.names.index("turning_joint")] = 4.0
    assert c.limits(c.names.index("turning_joint")) == (-np.pi, 4.0), "a slider holds where its coordinate is"


def four_bar_out_of_plane(off: float) -> kl.Robot:
    """A flat four-bar whose last pin is drawn `off` [m] beside the plane, as files with few digits do."""
    b = kl.Builder("four_bar_out_of_plane")
    solid = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    b.body("crank", **solid, axis="y")
    b.body("coupler", "crank", **solid, axis="y", at=(0, 0, 0.4))
    b.body("rocker", **solid, axis="y", at=(1.0, 0, 0))
    b.loop("pin", "coupler", "rocker", "spherical", at=(1.1, off, 0), at_successor=(0, 0, 0.6))
    return kl.Robot(b.mechanism())


def test_what_counts_as_closed_elsewhere_is_closed_for_sliders_and_tours():
    """This loop closes to 1e-6 m, as well as it is drawn, and cannot do better."""
    robot = four_bar_out_of_plane(1e-6)
    c = Coordinates(robot)
    assert 1e-8 < np.max(robot.loop_error(c.q)) < 1e-5
    assert c.move(0, c.value(0) + 0.2)
    _, Q = tour(robot, 0.5)
    assert np.ptp(Q[:, 0]) > 1e-2


def followed(monkeypatch, robot, where):
    """Coordinates whose steps lead `where(q, step)` says, and the steps they ask for."""
    c, asked = Coordinates(robot), []

    def integrate(self, q, step):
        asked.append(step)
        return where(q, step)

    monkeypatch.setattr(type(robot), "integrate", integrate)
    return c, asked


def test_long_ways_are_walked_in_short_steps(monkeypatch):
    robot = kl.robots.load("four_bar")
    real = type(robot).integrate
    c, asked = followed(monkeypatch, robot, lambda q, step: real(robot, q, step))
    assert c.move(0, c.value(0) + 0.35)
    np.testing.assert_allclose([step[0] for step in asked], [0.1, 0.1, 0.1, 0.05], atol=1e-9)


def test_a_coordinate_stays_where_a_step_would_jump_to_another_branch(monkeypatch):
    """A whole turn of some joint leaves all loops closed, and is a jump all the same."""
    robot = kl.robots.load("four_bar")
    real = type(robot).integrate
    c, asked = followed(monkeypatch, robot, lambda q, step: real(robot, q, step) + [0.0, 0.0, 2 * np.pi])
    before = c.q
    assert not c.move(0, c.value(0) + 0.3)
    assert c.q is before and len(asked) == 1


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize(("part", "ends"), [(0.0, True), (0.4, True), (0.6, False), (1.4, False), (1.6, True)])
def test_the_way_ends_where_loops_take_a_coordinate_elsewhere(monkeypatch, k, part, ends):
    """A step that leads less than half as far as it should, or half as far again, is the last one."""
    robot = kl.robots.load("double_pendulum")
    c, asked = followed(monkeypatch, robot, lambda q, step: q + part * step)
    assert c.move(k, c.value(k) + 0.35) is not ends
    assert (len(asked) == 1) is ends
    assert not np.any(c.turned), "only joints without plain positions are counted by what they turned"


def test_a_free_base_moves_along_the_world_and_turns_by_roll_pitch_and_yaw():
    robot = kl.robots.load("mini_cheetah")
    c = Coordinates(robot)
    base = robot.joint_names[0].removesuffix("_joint")
    assert c.labels[:6] == [f"{base} {name}" for name in ("roll", "pitch", "yaw", "x", "y", "z")]
    told = [0.3, -0.4, 2.0, 1.5, -0.5, 0.7]
    for k, target in enumerate(told):
        assert c.move(k, target)
    np.testing.assert_allclose(c.values()[:6], told, atol=1e-12)
    T = robot.frame_pose(c.q, robot.body_names[0])
    np.testing.assert_allclose(T[:3, 3], told[3:], atol=1e-12)
    np.testing.assert_allclose(T[:3, :3], rpy_rotation(*told[:3]), atol=1e-12)
    before = c.q[:7].copy()
    c.restart(c.shuffled(3))
    np.testing.assert_array_equal(c.q[:7], before)
    assert np.max(np.abs(c.q[7:])) > 0.1, "joints are shuffled"


def test_a_ball_in_a_loop_is_counted_from_where_it_starts():
    c = Coordinates(kl.robots.load("stewart"))
    turns = [k for k, label in enumerate(c.labels) if "about" in label]
    assert all(c.value(k) == 0.0 for k in turns) and all("[" not in label for label in (c.labels[k] for k in turns))
