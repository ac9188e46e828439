"""A motion that shows what of a robot moves."""

import numpy as np

import kinloop as kl
from kinloop.viewer.tour_motion import tour


def test_tour_moves_every_joint_and_keeps_loops_closed():
    robot = kl.robots.load("tello")
    times, Q = tour(robot, 0.5)
    assert len(times) == len(Q) == 20
    assert np.max(robot.loop_error(Q)) < 1e-8
    moved = np.ptp(Q, axis=0)
    assert np.all(moved[:7] == 0)
    assert np.all(moved[7:] > 1e-3)
