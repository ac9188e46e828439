"""Accelerations between impacts, against the front door and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.trees.kinematics import motion
from kinloop.clusters.framing import framed
from kinloop.sim import on_loops
from kinloop.sim.actuators import Motor, joint_forces, make_drive
from kinloop.sim.on_loops import spanning
from kinloop.sim.smooth_motion import closed_rate, position_rate, spanning_kinetic_energy, state_rate
from tests.sim.mechanisms import crank_rocker, free_box, smooth_motion

ROBOTS = ["four_bar", "slider_crank", "double_pendulum"]


def case(name):
    """A robot on numbers, a closed state, its drive with a servo, and a control."""
    robot = kl.Robot(kl.robots.mechanism(name), backend="numpy")
    servo = Motor(robot.independent_names[0], "position", kp=3.0, kd=0.2)
    q, v = robot.random_state(3)
    return robot, q, v, make_drive(robot.tree, [servo]), np.array([0.4])


@pytest.mark.parametrize("name", ROBOTS)
def test_accelerations_are_forward_dynamics_under_the_joint_forces(name):
    robot, q, v, drive, u = case(name)
    s = smooth_motion(robot.tree, drive, q, v, u)
    qd = robot.spanning_velocity(q, v)
    tau = robot.spanning_jacobian(q).T @ joint_forces(drive, q, qd, u)
    np.testing.assert_allclose(s.a, robot.forward_dynamics(q, v, tau), rtol=1e-10)
    np.testing.assert_allclose(s.qd, qd, rtol=1e-12)
    np.testing.assert_allclose(s.g, robot.spanning_bias(q, v), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_spanning_velocities_follow_independent_ones(name):
    robot, q, v, _, _ = case(name)
    np.testing.assert_allclose(
        spanning(robot.tree, motion(robot.tree, q, v).embedding, v), robot.spanning_velocity(q, v)
    )


def test_position_rate_is_the_slope_of_integrating():
    top = free_box().tree.top
    rng = np.random.default_rng(0)
    q, qd, h = top.normalized(rng.normal(size=7)), rng.normal(size=6), 1e-5
    slope = (top.integrate(q, h * qd) - top.integrate(q, -h * qd)) / (2 * h)
    np.testing.assert_allclose(position_rate(top, q, qd), slope, atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_accelerations_keep_the_loops_closed(name):
    robot, q, v, drive, u = case(name)
    qd = robot.spanning_velocity(q, v)
    dq, dqd = closed_rate(framed(robot.tree), drive, (q, qd), u)
    K, k = robot.loop_jacobian(q, v)
    np.testing.assert_allclose(K @ dqd, k, atol=1e-9 * (1 + np.max(np.abs(dqd))))
    np.testing.assert_allclose(dq, position_rate(robot.tree.top, q, qd), rtol=1e-12)


def test_rates_off_the_loops_are_those_of_a_closed_state_nearby():
    robot, q, v, drive, u = case("four_bar")
    qd = robot.spanning_velocity(q, v)
    across = robot.loop_jacobian(q)[0].T @ np.array([1e-4, -2e-4])
    tree = framed(robot.tree)
    (dq, dqd), near = state_rate(tree, drive, (q + across, qd + 10.0 * across), u)
    there, _ = on_loops.closed_twice(tree, q + across)
    assert 0.0 < near <= 1.0
    assert np.max(robot.loop_error(there)) < 1e-12 < np.max(robot.loop_error(q + across))
    K, k = robot.loop_jacobian(there, dq[robot.tree.independent_dofs])
    assert np.max(np.abs(K @ dq)) < 1e-12, "the velocity is projected too"
    np.testing.assert_allclose(K @ dqd, k, atol=1e-9)


def test_rates_do_not_depend_on_the_independent_coordinates():
    rates = []
    for name in ("crank_joint", "coupler_joint", "rocker_joint"):
        robot = crank_rocker(name)
        base = crank_rocker("crank_joint")
        q = base.neutral()
        qd = base.spanning_velocity(q, np.array([3.0]))
        drive = make_drive(robot.tree, ["crank_joint"])
        rates.append(state_rate(framed(robot.tree), drive, (q + 1e-4, qd + 1e-3), np.array([0.5]))[0])
    for other in rates[1:]:
        np.testing.assert_allclose(other[0], rates[0][0], rtol=1e-11)
        np.testing.assert_allclose(other[1], rates[0][1], rtol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_energies_of_spanning_velocities_are_those_of_independent_ones(name):
    robot, q, v, _, _ = case(name)
    qd = robot.spanning_velocity(q, v)
    assert spanning_kinetic_energy(robot.tree, q, qd) == pytest.approx(robot.kinetic_energy(q, v), rel=1e-12)
