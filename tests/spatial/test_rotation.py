"""Rotations and quaternions."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.spatial import (
    axis_rotation,
    quaternion_product,
    quaternion_rotation,
    rotation_quaternion,
    rpy_rotation,
    skew,
)

RNG = np.random.default_rng(7)
QUATERNIONS = [q / np.linalg.norm(q) for q in [*RNG.normal(size=(6, 4)), *np.eye(4), [1e-9, 1.0, 0, 0], [0, 1, 1, 0]]]


@pytest.mark.parametrize("q", QUATERNIONS)
def test_quaternion_and_rotation_are_each_others_inverse(q):
    R = quaternion_rotation(q)
    assert_agree(R @ R.T, np.eye(3))
    assert np.linalg.det(R) == pytest.approx(1.0)
    back = rotation_quaternion(R)
    assert_agree(quaternion_rotation(back), R)
    assert_agree(np.abs(back @ q), 1.0)


def test_products_of_quaternions_are_products_of_rotations():
    for a in QUATERNIONS:
        for b in QUATERNIONS:
            R = quaternion_rotation(quaternion_product(a, b))
            assert_agree(R, quaternion_rotation(a) @ quaternion_rotation(b))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, -2.0, np.pi, 12.0])
def test_a_turn_about_an_axis_is_the_exponential(angle):
    for axis in [*np.eye(3), -np.eye(3)[1], np.array([0.6, 0.0, -0.8]), np.ones(3) / np.sqrt(3)]:
        half = 0.5 * angle
        q = np.concatenate([[np.cos(half)], np.sin(half) * axis])
        R = axis_rotation(axis, angle)
        assert_agree(R, quaternion_rotation(q))
        h = 1e-6
        rate = (axis_rotation(axis, angle + h) - axis_rotation(axis, angle - h)) / (2 * h)
        assert_agree(rate, skew(axis) @ R, cond=1e4)
        traced = sc.trace(lambda x, axis=axis: axis_rotation(axis, x[0]), {"x": 1})
        assert_agree(traced([angle]), R)


def test_coordinate_axes_leave_exact_zeros_and_ones():
    x = sc.Graph().inputs("x", 1)[0]
    R = axis_rotation(np.array([0.0, 0.0, 1.0]), x)
    assert R[2, 2] == 1.0 and R[0, 2] == R[1, 2] == R[2, 0] == R[2, 1] == 0.0
    assert R[0, 0] is R[1, 1] is sc.cos(x) and R[1, 0] is sc.sin(x)


def test_roll_pitch_yaw_turns_about_fixed_axes_in_that_order():
    roll, pitch, yaw = 0.3, -0.7, 1.9
    x, y, z = np.eye(3)
    expected = axis_rotation(z, yaw) @ axis_rotation(y, pitch) @ axis_rotation(x, roll)
    assert_agree(rpy_rotation(roll, pitch, yaw), expected)
