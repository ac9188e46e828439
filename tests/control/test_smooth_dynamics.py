"""Smooth steps: their derivatives are those of the steps, loops and manifolds included."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.control import SmoothDynamics
from kinloop.control.motions import Motions
from kinloop.errors import KinloopError, MethodError
from tests.control.plants import floating, four_bar


def stepped(dynamics, q, v, u):
    """(q', v') of rows."""
    found = dynamics.step_kernel(q, v, u)
    assert np.isfinite(found[0]).all()
    return found


def by_differences(dynamics, q, v, u, e=1e-6):
    """(A B) of one state."""
    robot, nv = dynamics.robot, dynamics.robot.nv
    unit = e * np.eye(2 * nv + dynamics.nu)
    ends = []
    for d in (unit, -unit):
        at = robot.integrate(np.tile(q, (len(d), 1)), d[:, :nv]), v + d[:, nv : 2 * nv], u + d[:, 2 * nv :]
        q1, v1 = stepped(dynamics, *map(np.ascontiguousarray, at))
        q0 = stepped(dynamics, q, v, u)[0]
        ends.append(np.concatenate([robot.difference(np.tile(q0, (len(d), 1)), q1), v1], axis=1))
    return ((ends[0] - ends[1]) / (2 * e)).T


CASES = {
    "linkage": lambda: SmoothDynamics(four_bar()[0], 0.01),
    "dependent motor": lambda: SmoothDynamics(four_bar()[0], 0.01, motors=["rocker_joint"]),
    "free base and ball": lambda: SmoothDynamics(floating(), 0.02, motors=["crank_joint", "coupler_joint"]),
    "held": lambda: SmoothDynamics(floating(), 0.02, constraints=[kl.Point("tip")]),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_slopes_are_those_of_the_steps(name):
    dynamics = CASES[name]()
    q, v = dynamics.robot.random_state(3)
    u = np.random.default_rng(4).normal(size=dynamics.nu)
    A, B = dynamics.slopes(q[None], v[None], u[None], np.zeros(1))
    expected = by_differences(dynamics, q, v, u)
    np.testing.assert_allclose(np.hstack([A[0], B[0]]), expected, atol=2e-7 * max(1.0, np.abs(expected).max()))


def test_curvature_is_the_change_of_the_slopes():
    dynamics = SmoothDynamics(four_bar()[0], 0.01, motors=["rocker_joint"])
    robot, rng, e = dynamics.robot, np.random.default_rng(5), 1e-5
    q, v = robot.random_state(3)
    u, p = rng.normal(size=1), rng.normal(size=2)
    H = dynamics.curvature(q[None], v[None], u[None], p[None])[0]
    columns = []
    for d in e * np.eye(3):
        sides = []
        for s in (1.0, -1.0):
            at = robot.integrate(q, s * d[:1]), v + s * d[1:2], u + s * d[2:]
            A, B = dynamics.slopes(*(x[None] for x in at), np.zeros(1))
            sides.append(p @ np.hstack([A[0], B[0]]))
        columns.append((sides[0] - sides[1]) / (2 * e))
    np.testing.assert_allclose(H, np.array(columns), atol=1e-7 * np.abs(H).max())


def test_motions_stay_closed_and_follow_the_robot():
    robot, q = four_bar()
    dynamics, T = SmoothDynamics(robot, 0.01), 50
    u = 0.5 * np.sin(np.arange(T))[:, None]
    still = Motions(np.tile(q, (1, T + 1, 1)), np.zeros((1, T + 1, 1)), u[None])
    found = dynamics.follow(still, np.zeros((1, T, 1)), np.zeros((1, T, 1, 2)), (np.full(1, -0.3), np.full(1, np.inf)))
    v = np.zeros(1)
    for k in range(T):
        v = v + 0.01 * robot.forward_dynamics(q, v, np.maximum(u[k], -0.3))
        q = robot.integrate(q, v, 0.01)
    np.testing.assert_allclose(found.q[0, -1], q, atol=1e-12)
    assert robot.loop_error(found.q).max() < 1e-12
    assert found.u.min() == -0.3


def test_what_cannot_be_is_refused_by_name():
    with pytest.raises(KinloopError, match=r"crnk_joint.*crank_joint"):
        SmoothDynamics(four_bar()[0], 0.01, motors=["crnk_joint"])
    with pytest.raises(KinloopError, match="dt must be a positive"):
        SmoothDynamics(four_bar()[0], 0.0)
    b = kl.Builder("socket")
    b.body("ball", mass=1.0, com=(0.0, 0.1, 0.3), inertia=(0.02, 0.03, 0.01), joint="spherical")
    b.body("slide", at=(0.3, 0, 0.3), mass=1.0, inertia=(0.01, 0.01, 0.01), joint="prismatic", axis="z")
    b.rod("link", "ball", "slide", (0, 0, 0.3), (0, 0, 0.02), 0.3)
    robot = b.build()
    if set(robot.independent_names) >= {f"ball_joint[{k}]" for k in range(3)}:
        robot = robot.with_independent(["slide_joint", "ball_joint[1]", "ball_joint[2]"])
    with pytest.raises(MethodError, match="'ball_joint' only some coordinates are independent"):
        SmoothDynamics(robot, 0.01)
