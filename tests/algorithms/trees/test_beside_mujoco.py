"""Momentum and motion of frames beside MuJoCo's, under the names that docs/derivatives.md has for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kinloop as kl
from tests.helpers import relative


@pytest.fixture(scope="module")
def arm() -> kl.Robot:
    b = kl.Builder("arm")
    b.body("upper", axis="z", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
    b.body("lower", "upper", axis="x", at=(0.3, 0, 0.1), mass=2.0, com=(0, 0.1, 0.2), inertia=(0.2, 0.2, 0.3))
    b.body("hand", "lower", axis="y", at=(0.1, 0.3, 0.1), mass=0.7, com=(0.1, 0.1, 0.2), inertia=(0.1, 0.2, 0.15))
    return kl.Robot(b.mechanism(), backend="numpy")


def test_momentum_and_the_motion_of_frames_are_mujocos(arm, tmp_path):
    mj = pytest.importorskip("mujoco")
    kl.io.to_mjcf(arm.mechanism, tmp_path / "arm.xml")
    m = mj.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    d, (q, v, a) = mj.MjData(m), np.random.default_rng(0).normal(size=(3, arm.nv))
    d.qpos[:], d.qvel[:], d.qacc[:] = q, v, a
    mj.mj_fwdPosition(m, d)
    mj.mj_fwdVelocity(m, d)
    mj.mj_subtreeVel(m, d)
    mj.mj_rnePostConstraint(m, d)
    hand = mj.mj_name2id(m, mj.mjtObj.mjOBJ_BODY, "hand")

    def filled(call: Any, *given: Any, rows: int = 1) -> np.ndarray:
        out = [np.zeros((3, arm.nv)) for _ in range(rows)]
        call(m, d, *out, *given)
        return np.concatenate(out[::-1])  # their linear part comes first

    assert relative(arm.center_of_mass_jacobian(q), filled(mj.mj_jacSubtreeCom, 0)) <= 1e-13
    A = arm.centroidal_momentum_matrix(q)
    assert relative(A[:3], filled(mj.mj_angmomMat, 0)) <= 1e-13
    expected = np.concatenate([d.subtree_angmom[0], d.subtree_linvel[0] * sum(m.body_mass)])
    assert relative(arm.centroidal_momentum(q, v), expected) <= 1e-13
    J = arm.frame_jacobian(q, "hand", axes="world")
    assert relative(J, filled(mj.mj_jacBody, hand, rows=2)) <= 1e-13
    rate = filled(mj.mj_jacDot, d.xpos[hand].copy(), hand, rows=2)
    assert relative(arm.frame_jacobian_rate(q, v, "hand", axes="world"), rate) <= 1e-13
    twist, acceleration = np.zeros(6), np.zeros(6)
    mj.mj_objectVelocity(m, d, mj.mjtObj.mjOBJ_XBODY, hand, twist, 0)
    assert relative(arm.frame_velocity(q, v, "hand", axes="world"), twist) <= 1e-13
    mj.mj_objectAcceleration(m, d, mj.mjtObj.mjOBJ_XBODY, hand, acceleration, 0)
    acceleration[3:] += m.opt.gravity
    assert relative(arm.frame_acceleration(q, v, a, "hand", axes="world"), acceleration) <= 1e-13
