"""Poses, Jacobians and their rates against differences along closed motions."""

from __future__ import annotations

import numpy as np
from helpers import State, assert_agree

from kinloop.algorithms.trees.kinematics import (
    frame_bias_acceleration,
    frame_jacobian,
    frame_jacobian_rate,
    frame_pose,
    frame_velocity,
)
from kinloop.clusters import conditioning

STENCIL = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}


def along(s: State, f) -> np.ndarray:
    """d/dt of f(q) in the motion v, by five-point differences over a step short against any singularity."""
    qd = s.tree.spanning_jacobian(s.q) @ s.v
    h = 1e-3 / (max(1.0, float(np.max(np.abs(qd), initial=0.0))) * conditioning(s.tree, s.q))
    return sum(w / h * f(s.tree.top.integrate(s.q, n * h * qd)) for n, w in STENCIL.items())


def speed(s: State) -> float:
    return max(1.0, float(np.max(np.abs(s.tree.spanning_jacobian(s.q) @ s.v), initial=0.0)))


def test_a_frames_twist_is_the_rate_of_its_pose(small_block):
    for s in small_block:
        for frame in s.frames:
            T = frame_pose(s.tree, s.q, *frame)
            rate = along(s, lambda q, s=s, frame=frame: frame_pose(s.tree, q, *frame).homogeneous())
            spin = T.R.T @ rate[:3, :3]
            measured = np.array([spin[2, 1], spin[0, 2], spin[1, 0], *(T.R.T @ rate[:3, 3])])
            assert_agree(frame_velocity(s.tree, s.q, s.v, *frame), measured, 1e3 * s.cond, s.name, speed(s))


def test_the_jacobian_gives_the_twist(small_block):
    for s in small_block:
        for frame in s.frames:
            J = frame_jacobian(s.tree, s.q, *frame)
            assert_agree(J @ s.v, frame_velocity(s.tree, s.q, s.v, *frame), 10.0 * s.cond, s.name, speed(s))


def test_the_jacobians_rate_is_its_difference_in_time(small_block):
    for s in small_block[::2]:
        frame = s.frames[0]
        rate = frame_jacobian_rate(s.tree, s.q, s.v, *frame)
        measured = along(s, lambda q, s=s, frame=frame: frame_jacobian(s.tree, q, *frame))
        J = frame_jacobian(s.tree, s.q, *frame)
        scale = max(1.0, float(np.max(np.abs(J), initial=0.0))) * speed(s)
        assert_agree(rate, measured, 1e3 * s.cond, s.name, scale)
        bias = frame_bias_acceleration(s.tree, s.q, s.v, *frame)
        assert_agree(bias, rate @ s.v, 1e2 * s.cond, s.name, scale * speed(s))
