"""The camera sees the robot; the box around it holds all its shapes."""

import numpy as np

import kinloop as kl
from kinloop import scalar as sc
from kinloop.sim import HeightField, Plane
from kinloop.viewer.camera_and_light import bounding_box, eye
from kinloop.viewer.draw_ground import clearance
from kinloop.viewer.poses import Poses
from kinloop.viewer.robot_look import look


def test_the_camera_is_never_below_the_ground():
    middle = np.zeros(3)
    usual = eye(middle, 1.0, Plane(height=-0.5))
    np.testing.assert_allclose(usual[:2] / np.linalg.norm(usual[:2]), np.array([0.78, -0.92]) / np.hypot(0.78, 0.92))
    wall = HeightField(lambda x, y: sc.where(y < -0.5, 2.0, -0.5))
    for ground in (Plane(normal=(-0.7, 0.7, 1), height=-0.3), Plane(normal=(0.7, 0.7, 1), height=-0.3), wall):
        assert clearance(ground, eye(middle, 1.0, ground)) > 0.1


def test_the_box_holds_the_robot_at_all_its_poses():
    robot = kl.robots.load("double_pendulum")
    picture, poses = look(robot), Poses(robot)
    Q = np.array([robot.neutral(), [1.0, 0.5]])
    low, high = bounding_box(picture, *poses(Q))
    for q in Q:
        a, b = bounding_box(picture, *poses(q))
        assert np.all(low <= a) and np.all(b <= high)
        assert np.all(a <= poses(q)[1]) and np.all(poses(q)[1] <= b)
