"""Vehicles: suspensions, rockers, coupled wheels."""

import numpy as np

from .numpy_robots import build


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
