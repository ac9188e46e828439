"""Transforms of motion and force, and the two cross products."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.model.joints import Free
from kinloop.spatial import Transform, apply_pose, cross, cross_force, cross_motion, quaternion_rotation, skew


def pose(rng: np.random.Generator) -> Transform:
    q = rng.normal(size=4)
    return Transform(quaternion_rotation(q / np.linalg.norm(q)), rng.normal(size=3))


@pytest.fixture(params=range(5))
def rng(request):
    return np.random.default_rng(request.param)


def test_motion_transform_is_its_matrix(rng):
    T, m = pose(rng), rng.normal(size=(6, 3))
    assert_agree(T.motion(m), T.matrix() @ m)
    assert_agree(T.motion(m[:, 0]), T.matrix() @ m[:, 0])


def test_force_transform_is_the_transpose(rng):
    T, f = pose(rng), rng.normal(size=(6, 2))
    assert_agree(T.force(f), T.matrix().T @ f)
    assert_agree(T.force_back(f), np.linalg.inv(T.matrix()).T @ f)


def test_going_there_and_back_is_no_move(rng):
    T, m = pose(rng), rng.normal(size=6)
    assert_agree(T.motion_back(T.motion(m)), m)
    assert_agree(T.force_back(T.force(m)), m)
    assert_agree(T.inverse().matrix(), np.linalg.inv(T.matrix()))
    assert_agree(T.then(T.inverse()).homogeneous(), np.eye(4))


def test_poses_chain_as_homogeneous_matrices_do(rng):
    A, B, x = pose(rng), pose(rng), rng.normal(size=3)
    assert_agree(A.then(B).homogeneous(), A.homogeneous() @ B.homogeneous())
    assert_agree(A.then(B).matrix(), B.matrix() @ A.matrix())
    assert_agree(apply_pose(A.then(B), x), apply_pose(A, apply_pose(B, x)))


def test_power_does_not_depend_on_the_frame(rng):
    T, m, f = pose(rng), rng.normal(size=6), rng.normal(size=6)
    assert_agree(T.motion(m) @ f, m @ T.force(f), scale=np.linalg.norm(m) * np.linalg.norm(f))


def test_cross_is_numpys_and_skews(rng):
    a, b = rng.normal(size=3), rng.normal(size=(3, 4))
    assert_agree(cross(a, b), np.cross(a, b.T).T)
    assert_agree(skew(a) @ b, cross(a, b))


def test_force_cross_is_minus_the_transposed_motion_cross(rng):
    v = rng.normal(size=6)
    assert_agree(cross_force(v, np.eye(6)), -cross_motion(v, np.eye(6)).T)


def test_a_motion_does_not_turn_itself(rng):
    v = rng.normal(size=6)
    assert_agree(cross_motion(v, v), np.zeros(6), scale=float(v @ v))


def test_motion_cross_is_a_lie_bracket(rng):
    a, b, c = rng.normal(size=(3, 6))
    jacobi = (
        cross_motion(a, cross_motion(b, c)) + cross_motion(b, cross_motion(c, a)) + cross_motion(c, cross_motion(a, b))
    )
    assert_agree(jacobi, np.zeros(6), scale=10.0)
    T = pose(rng)
    assert_agree(T.motion(cross_motion(a, b)), cross_motion(T.motion(a), T.motion(b)))


def test_cross_products_are_rates_of_moving_vectors(rng):
    """d/dt of a motion (force) fixed in a frame that moves with v, seen from where the frame was."""
    v, m, h = rng.normal(size=6), rng.normal(size=6), 1e-5

    def moved(t: float) -> Transform:
        return Free().pose(Free().integrate(Free().neutral(), v * t))

    assert_agree((moved(h).motion_back(m) - moved(-h).motion_back(m)) / (2 * h), cross_motion(v, m), cond=1e4)
    assert_agree((moved(h).force(m) - moved(-h).force(m)) / (2 * h), cross_force(v, m), cond=1e4)


def test_symbols_transform_as_numbers_do(rng):
    T, m = pose(rng), rng.normal(size=6)

    def f(R, p, m):
        X = Transform(R.reshape(3, 3), p)
        return np.concatenate([X.motion(m), X.force(m), X.motion_back(m), X.force_back(m), X.matrix().ravel()])

    traced = sc.trace(f, {"R": 9, "p": 3, "m": 6})
    assert_agree(traced(T.R.ravel(), T.p, m), f(T.R.ravel(), T.p, m))
