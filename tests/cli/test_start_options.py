"""Where `kinloop sim` starts: keyframes, heights, slopes, pushes."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.cli.start_options import StartOptions, batch_start, configuration, lowest
from kinloop.sim import Plane

LEVEL = Plane()


def test_a_keyframe_keeps_its_height_unless_it_is_below_the_ground(legged):
    robot = kl.load(legged)
    assert configuration(robot, StartOptions("home"))[2] == 0.38
    lifted = configuration(robot, StartOptions("sunk"))
    assert lowest(robot, lifted, LEVEL) == pytest.approx(0.0, abs=1e-12)
    assert lowest(robot, configuration(robot, StartOptions("home", 0.25)), LEVEL) == pytest.approx(0.25, abs=1e-12)


def test_joints_that_start_beyond_their_stops_are_told(run, legged):
    status, _, err = run("sim", legged, "--time", "0.01")
    assert status == 0
    assert err.startswith(
        "warning: at neutral joints are beyond their stops: knee0 at 0 (stops -2 and -0.2) and 3 more;"
    )
    assert err.rstrip().endswith("start from --keyframe home")
    assert err.count("\n") == 1


def test_a_robot_starts_along_the_slope():
    robot = kl.robots.load("mini_cheetah")
    ground = Plane(normal=(-0.2, 0.3, 1.0))
    q = configuration(robot, StartOptions(height=0.05), ground)
    assert lowest(robot, q, ground) == pytest.approx(0.05, abs=1e-9)
    R = robot.frame_pose(q, robot.body_names[0])[:3, :3]
    np.testing.assert_allclose(R[:, 2], ground.normal, atol=1e-12)


def test_mistakes_about_the_file_are_one_line(run, legged):
    for args, message in (
        (["--keyframe", "hom"], "error: no keyframe named 'hom'; did you mean 'home'?"),
        (["--keyframe", "jump"], "error: no keyframe named 'jump'; known: 'home', 'sunk'"),
        (["--keyframe", "home", "--fixed"], "error: keyframe 'home' has 15 positions and 'legged' 8; remove --fixed"),
    ):
        status, _, err = run("sim", legged, *args)
        assert status == 1
        assert err.startswith(message)
        assert err.count("\n") == 1


def test_one_starts_at_rest_and_several_are_pushed():
    robot = kl.robots.load("four_bar")
    q, v = batch_start(robot, robot.neutral(), 1, None)
    assert q.shape == (robot.nq,) and not v.any()
    q, v = batch_start(robot, robot.neutral(), 3, None)
    assert q.shape == (3, robot.nq) and len(np.unique(v)) == 3
    np.testing.assert_array_equal(v, batch_start(robot, robot.neutral(), 3, 0)[1])
    assert batch_start(robot, robot.neutral(), 1, 5)[1].any()
