"""Tello's differentials as geometry: rods measured between body poses keep their lengths.

The points are written here from the robot's drawing, not taken from its loop functions: a hip crank turns about
the clamp's y axis at the clamp's origin, 0.07 m to either side, and points backwards at zero; the ankle's crank
sits in the shin and turns against it by half the difference of its two motors.
"""

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.trees.kinematics import world_poses
from kinloop.clusters import loop_errors
from kinloop.robots.tello import HIP, KNEE_ANKLE

STATES = 8
GEAR = 6.0


@pytest.fixture(scope="module", params=["tello", "tello_with_arms"])
def robot(request):
    return kl.Robot(kl.robots.mechanism(request.param), backend="numpy")


@pytest.fixture(scope="module")
def states(robot):
    rng = np.random.default_rng(7)
    return [robot.random_state(rng)[0] for _ in range(STATES)]


def poses(robot, q):
    return dict(zip(robot.body_names, world_poses(robot.tree.top, q), strict=True))


def motor(robot, q, joint):
    """The angle of a crank [rad], a rotor's geared down."""
    return q[robot.tree.top.q_of[robot.joint_names.index(joint)]][0] / GEAR


def at(pose, point):
    return pose.p + pose.R @ np.array(point)


def about_y(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("rod", [1, 2])
def test_hip_rods_keep_their_length(robot, states, side, rod):
    lateral = 0.07 if rod == 1 else -0.07
    for q in states:
        body = poses(robot, q)
        turn = about_y(motor(robot, q, f"{side}-hip-clamp-to-hip-rotor-{rod}"))
        crank_tip = at(body[f"{side}-hip-clamp"], np.array([0, lateral, 0]) + turn @ [-0.08, 0, 0])
        thigh_point = at(body[f"{side}-thigh"], [-0.08, lateral, 0])
        assert abs(np.linalg.norm(crank_tip - thigh_point) - 0.155) < 1e-12


@pytest.mark.parametrize("side", ["left", "right"])
def test_ankle_rod_keeps_its_length(robot, states, side):
    def down_the_shin(length, degrees):
        """A point at an angle about y from the line down the shin."""
        return about_y(np.radians(degrees)) @ [0, 0, -length]

    for q in states:
        body = poses(robot, q)
        y1, y2 = (motor(robot, q, f"{side}-thigh-to-knee-ankle-rotor-{k}") for k in (1, 2))
        crank = down_the_shin(0.042, 20.0) + about_y(-(y1 - y2) / 2) @ down_the_shin(0.04, -59.16)
        crank_tip = at(body[f"{side}-shin"], crank)
        foot_point = at(body[f"{side}-foot"], down_the_shin(0.035, -66.0))
        assert abs(np.linalg.norm(crank_tip - foot_point) - 0.2146) < 1e-12


@pytest.mark.parametrize("side", ["left", "right"])
def test_shin_turns_by_the_mean_of_its_motors(robot, states, side):
    for q in states:
        body = poses(robot, q)
        y1, y2 = (motor(robot, q, f"{side}-thigh-to-knee-ankle-rotor-{k}") for k in (1, 2))
        turned = body[f"{side}-thigh"].R.T @ body[f"{side}-shin"].R
        np.testing.assert_allclose(turned, about_y((y1 + y2) / 2), atol=1e-12)


def test_states_are_spread_and_closed(robot, states):
    assert all(max(loop_errors(robot.tree, q).values()) < 1e-12 for q in states)
    assert np.std([q[7:] for q in states], axis=0).min() > 1e-2


def test_differentials_equal_their_published_polynomials():
    """The expanded hip equation, and the residual of the rounded ankle figures at zero."""
    rng = np.random.default_rng(0)
    for y1, y2, a, b in rng.uniform(-1, 1, (20, 4)):
        for y, s, phi in zip((y1, y2), (1, -1), HIP(GEAR * y1, GEAR * y2, a, b), strict=True):
            expected = (
                0.0228 * np.sin(y) - 0.0098 * np.cos(a) - s * 0.01995 * np.sin(a) - 0.0128 * np.cos(y) * np.cos(b)
                - 0.0228 * np.cos(a) * np.sin(b) - s * 0.0112 * np.sin(y) * np.sin(a)
                + s * 0.0112 * np.sin(a) * np.sin(b) - 0.0128 * np.cos(a) * np.sin(y) * np.sin(b) + 0.01888125
            )  # fmt: skip
            assert abs(2 * 0.155 * phi - expected) < 1e-15
    assert abs(2 * 0.2146 * KNEE_ANKLE(0.0, 0.0, 0.0, 0.0)[0] + 6.52e-7) < 1e-9


def test_loop_jacobian_is_the_derivative_of_the_rods(robot, states):
    """K against central differences of phi."""
    top = robot.tree.top
    for name in ("left-hip-differential", "right-knee-ankle-differential"):
        q = states[0]
        rows = robot.loop_rows(name, q)
        for column, dof in enumerate(rows.dofs):
            step = np.zeros(robot.n_spanning)
            step[dof] = 1e-6
            ahead, behind = (robot.loop_rows(name, top.integrate(q, s)).phi for s in (step, -step))
            np.testing.assert_allclose((ahead - behind) / 2e-6, rows.K[:, column], atol=1e-9)
