"""CasADi functions of a linkage compute what the robot does, and their slopes are those along closed motions."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.control.collocation import collocation
from kinloop.errors import MethodError
from tests.control.plants import floating, four_bar

casadi = pytest.importorskip("casadi")


def test_functions_are_those_of_the_robot():
    robot, q = four_bar()
    f = collocation(robot, motors=["rocker_joint"], frames=["coupler"])
    v, u = np.array([1.3]), np.array([0.7])
    G = robot.spanning_jacobian(q)
    np.testing.assert_allclose(f.acceleration(q, v, u).full()[:, 0], robot.forward_dynamics(q, v, G[2] * u), rtol=1e-12)
    assert float(casadi.norm_inf(f.loops(q))) < 1e-12 < 1e-3 < float(casadi.norm_inf(f.loops(q + 0.01)))
    assert f.loops(q).numel() == robot.nq - robot.nv
    assert float(f.independent(q)) == q[0]
    expected = [robot.kinetic_energy(q, v), robot.potential_energy(q)]
    np.testing.assert_allclose(f.energy(q, v).full()[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(
        f.positions["coupler"](q).full()[:, 0], robot.frame_pose(q, "coupler")[:3, 3], atol=1e-15
    )
    x = casadi.SX.sym("q", robot.nq)
    slope = casadi.Function("s", [x], [casadi.jacobian(f.loops(x), x)])(q).full()
    np.testing.assert_allclose(slope @ G, 0.0, atol=1e-12)


def test_quaternions_are_refused():
    with pytest.raises(MethodError, match=r"\['base_joint', 'ball_joint'\] have quaternions"):
        collocation(floating())
