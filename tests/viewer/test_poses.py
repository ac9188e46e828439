"""Poses of all bodies from one kernel, and turns as quaternions."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.spatial.rotation import quaternion_rotation
from kinloop.viewer.poses import Poses, between, quaternions


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_poses_are_those_of_the_bodies(backend):
    robot = kl.Robot(kl.robots.mechanism("planar_leg_linkage"), backend)
    Q = np.array([robot.random_state(k)[0] for k in range(6)])
    R, p = Poses(robot)(Q)
    for i, name in enumerate(robot.body_names):
        for k, q in enumerate(Q):
            T = robot.frame_pose(q, name)
            np.testing.assert_allclose(R[k, i], T[:3, :3], atol=1e-14)
            np.testing.assert_allclose(p[k, i], T[:3, 3], atol=1e-14)


def test_quaternions_of_rotations():
    rng = np.random.default_rng(0)
    q = rng.normal(size=(200, 4))
    q[:4] = np.eye(4)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    R = np.array([quaternion_rotation(x) for x in q])
    np.testing.assert_allclose(np.abs(np.sum(quaternions(R) * q, axis=1)), 1.0, atol=1e-12)


def test_what_lies_between_two_points_points_along_z():
    a, b = np.array([[0.0, 0, 0], [1, 2, 3]]), np.array([[2.0, 0, 0], [1, 2, 7]])
    R, middle = between(a, b)
    np.testing.assert_allclose(R[..., 2], [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(middle, [[1, 0, 0], [1, 2, 5]])
    np.testing.assert_allclose(np.linalg.det(R), 1.0)
