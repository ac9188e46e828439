"""Bars between bodies: rods keep their length and end where they are held."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.viewer.poses import Poses
from kinloop.viewer.robot_look import bar_ends, look


@pytest.mark.parametrize("name", ["tello", "rssr"])
def test_rods_keep_their_length(name):
    robot = kl.robots.load(name)
    picture = look(robot)
    poses = Poses(robot)
    lengths = []
    for k in range(5):
        q = robot.random_state(k)[0]
        lengths.append([np.linalg.norm(b - a) for a, b in bar_ends(picture, q, *poses(q))])
    assert picture.bars
    np.testing.assert_allclose(lengths, np.broadcast_to(lengths[0], np.shape(lengths)), atol=1e-9)


def test_the_rod_along_the_shin_ends_on_the_foot():
    """The foot's end of the rod, drawn in the shin's frame, must be a point fixed in the foot."""
    robot = kl.robots.load("tello")
    picture, poses = look(robot), Poses(robot)
    k = next(k for k, bar in enumerate(picture.bars) if bar.name == "left-knee-ankle-differential_rod")
    foot = robot.body_names.index("left-foot")
    points = []
    for seed in range(4):
        q = robot.random_state(seed)[0]
        R, p = poses(q)
        points.append(R[foot].T @ (bar_ends(picture, q, R, p)[k][1] - p[foot]))
    np.testing.assert_allclose(points, np.broadcast_to(points[0], (4, 3)), atol=1e-9)
