"""Motors of `kinloop sim`: none, those of the file, or servos that hold the start."""

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.cli.motor_options import FREQUENCY, MotorOptions, held_coordinates, holding_servos, motor_setup
from kinloop.cli.start_options import at_keyframe


def test_servos_hold_a_robot_up(summary, legged, tmp_path):
    lines = summary(legged, "--keyframe", "home", "--motors", "hold", "--time", "0.5", "--save", tmp_path / "run.npz")
    assert lines["motors"][0] == "8"
    assert lines["motors"][1].startswith("position servos that hold the start; kp ")
    q = kl.sim.load(tmp_path / "run.npz")["q"]
    np.testing.assert_allclose(q[-1, 7:], np.tile([0.5, -1.0], 4), atol=0.05)
    assert q[-1, 2] > 0.3
    fallen = summary(legged, "--keyframe", "home", "--time", "0.5", "--save", tmp_path / "fallen.npz")
    assert fallen["motors"] == ["0", "none: joints move freely"]
    assert kl.sim.load(tmp_path / "fallen.npz")["q"][-1, 2] < 0.3


def test_gains_are_those_given(summary, legged):
    start = [legged, "--keyframe", "home", "--motors", "hold", "--time", "0.01"]
    words = summary(*start, "--kp", "70", "--kd", "2.5")["motors"][1]
    assert words == "position servos that hold the start; kp 70, kd 2.5"
    assert summary(*start, "--kp", "70")["motors"][1].startswith("position servos that hold the start; kp 70, kd ")


def test_motors_of_the_file_are_used(summary, legged):
    words = summary(legged, "--keyframe", "home", "--motors", "model", "--time", "0.01")["motors"]
    assert words[0] == "8"
    assert words[1] == "4 position servos that hold the start; 4 torque motors told nothing; kp 80, kd 4"


def test_targets_of_the_file_s_servos_keep_to_their_range(legged):
    robot = kl.load(legged)
    q = at_keyframe(robot, "home")
    told = motor_setup(robot, q, MotorOptions("model")).controls
    np.testing.assert_allclose(told, [0.4, 0.0] * 4)
    np.testing.assert_allclose(motor_setup(robot, q, MotorOptions("hold")).controls, [0.5, -1.0] * 4)


def test_held_loops_stay_where_they_are(summary, tmp_path):
    lines = summary("tello", "--motors", "hold", "--no-ground", "--time", "0.2", "--save", tmp_path / "run.npz")
    assert lines["motors"][0] == "10"
    assert float(lines["loops open by at most"][0]) < 1e-12
    q = kl.sim.load(tmp_path / "run.npz")["q"]
    np.testing.assert_allclose(q[-1, 7:], kl.robots.load("tello").neutral()[7:], atol=0.02)


def test_gains_of_a_fixed_robot_come_from_the_mass_matrix():
    robot = kl.robots.load("double_pendulum")
    q = robot.neutral()
    servos = holding_servos(robot, q, None, None)
    wanted = FREQUENCY**2 * np.diag(robot.mass_matrix(q))
    np.testing.assert_allclose([m.kp for m in servos], wanted, rtol=5e-3)


def test_gains_cannot_be_found_where_loops_do_not_follow():
    """A slider at its dead centre does not turn its crank."""
    robot = kl.robots.load("slider_crank")
    robot, q = robot.with_independent(["slider_joint"]), np.zeros(robot.nq)
    with pytest.raises(kl.KinloopError, match="do not determine the motion; start elsewhere, or give --kp and --kd"):
        holding_servos(robot, q, 1.0, None)
    assert holding_servos(robot, q, 1.0, 2.0)[0].kp == 1.0


def test_servos_hold_all_but_the_base():
    names = held_coordinates(kl.robots.load("mini_cheetah"))
    assert len(names) == 12 and not any("[" in n for n in names)


def test_without_motors_joints_move_freely():
    robot = kl.robots.load("four_bar")
    setup = motor_setup(robot, robot.neutral(), MotorOptions())
    assert (setup.motors, setup.controls) == (None, None)


def test_motors_of_the_file_are_told_what_a_keyframe_says(legged, tmp_path):
    """Zeros in all places are what MuJoCo makes of a keyframe that says nothing."""
    robot = kl.load(legged)
    key = robot.mechanism.keyframes[0]
    told = replace(robot.mechanism, keyframes=(replace(key, ctrl=(0.1, 2.0) * 4),)).build()
    setup = motor_setup(told, at_keyframe(told, "home"), MotorOptions("model"), "home")
    np.testing.assert_array_equal(setup.controls, [0.1, 2.0] * 4)
    assert setup.words.startswith("told what keyframe 'home' says")
