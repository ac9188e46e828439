"""The classical method on closed loops: order, energy, independence of charts."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim import Simulator
from kinloop.sim.actuators import make_drive
from kinloop.sim.integrators.runge_kutta import RungeKutta, runge_kutta, runge_kutta_steps
from kinloop.sim.stepper import System
from tests.sim.mechanisms import RECORD, crank_rocker, drift, on_fixed_base, pendulum, started


def test_a_step_is_the_classical_one():
    """Against the method written out for a pendulum: I x'' = -m g c sin x."""
    robot = pendulum()
    body = robot.mechanism.bodies[0]
    m, c = body.mass, -body.com[2]
    rate = m * 9.81 * c / (body.inertia[1, 1] + m * c * c)  # inertia is about the centre of mass

    def f(x):
        return np.array([x[1], -rate * np.sin(x[0])])

    x, h = np.array([1.2, -0.4]), 0.05
    k1 = f(x)
    k2 = f(x + 0.5 * h * k1)
    k3 = f(x + 0.5 * h * k2)
    k4 = f(x + h * k3)
    expected = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    q, qd, correction = runge_kutta(robot.tree, make_drive(robot.tree, None), x[:1], x[1:], np.zeros(1), h)
    np.testing.assert_allclose([q[0], qd[0]], expected, rtol=1e-13)
    assert correction == 0.0, "there is nothing to close"


def test_substeps_are_steps():
    robot, q, v = started("crank_joint")
    tree, drive, u = robot.tree, make_drive(robot.tree, None), np.array([0.2])
    qd = robot.spanning_velocity(q, v)
    a = runge_kutta_steps(tree, drive, q, qd, u, 3e-3, 3)
    b = (q, qd)
    for _ in range(3):
        *b, _ = runge_kutta(tree, drive, *b, u, 1e-3)
    np.testing.assert_allclose(a[0], b[0], rtol=1e-13)
    np.testing.assert_allclose(a[1], b[1], rtol=1e-13)


def test_a_step_needs_no_memory_and_ends_on_the_loops():
    robot, q, v = started("crank_joint")
    system = System(robot.tree, make_drive(robot.tree, None), None, 1e-3)
    method = RungeKutta(2)
    assert method.memory_size(system) == 0 and method.prepared(system) is system
    qd = robot.spanning_velocity(q, v)
    moved = method.step(system, q, v, qd, np.zeros(0), np.zeros(1))
    assert np.max(robot.loop_error(moved.q)) < 1e-14 and moved.correction < 1e-7 and moved.records == {}
    assert np.max(np.abs(robot.loop_jacobian(moved.q)[0] @ moved.qd)) < 1e-11
    assert np.array_equal(moved.v, moved.qd[robot.tree.independent_dofs]) and moved.gauged_at is q


@pytest.mark.parametrize("independent", ["crank_joint", "coupler_joint", "rocker_joint"])
def test_four_bar_turns_fully_with_any_joint_independent(independent):
    robot, q, v = started(independent)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=10_000, record=RECORD)
    assert r.status.tolist() == [1]
    assert np.ptp(r.q[:, 0]) > 2 * np.pi
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12


def test_charts_change_the_result_by_rounding_only():
    runs = []
    for independent in ("crank_joint", "rocker_joint"):
        robot, q, v = started(independent)
        runs.append(Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=1000))
    assert runs[1].chart_changes[0] > 0
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-10


@pytest.mark.parametrize(("name", "speed"), [("slider_crank", 8.0), ("rssr", 4.0)])
def test_spatial_linkages_keep_energy(name, speed):
    robot = kl.robots.load(name)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(None, np.array([speed]), steps=10_000, record=RECORD)
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12


def test_tello_legs_swing_free():
    robot = on_fixed_base("tello")
    v = 0.5 * np.random.default_rng(1).normal(size=robot.nv)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(None, v, steps=10_000, record=RECORD, every=10)
    assert r.status[0] == 1
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12


@pytest.mark.parametrize("make", [on_fixed_base, kl.robots.load], ids=["chassis held", "car falling"])
def test_wishbones_keep_energy(make):
    robot = make("wishbone")
    v = 0.3 * np.random.default_rng(0).normal(size=robot.nv)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(None, v, steps=10_000, record=RECORD, every=10)
    assert r.status[0] == 1
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12


def test_energy_has_no_trend_over_a_million_steps():
    robot, q, v = started("crank_joint")
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=1_000_000, record=RECORD, every=100)
    assert np.max(r.loop_error) <= 1e-12
    assert drift(r) <= 1e-8
    tenths = np.mean(r.energy.reshape(10, -1), axis=1) / np.max(r.kinetic_energy)
    assert np.ptp(tenths) < 1e-9


def test_velocities_stay_on_the_loops():
    robot, q, v = started("crank_joint")
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=500, record=("q", "qd"))
    for x, qd in zip(r.q[::50], r.qd[::50], strict=True):
        K = robot.tree.constraint_rows(x).K
        assert np.max(np.abs(K @ qd)) <= 1e-11


def test_runge_kutta_has_order_four():
    robot, q, v = started("coupler_joint")
    ends = []
    for dt in (4e-3, 2e-3, 1e-3):
        ends.append(Simulator(robot, dt, integrator="rk4", substeps=1).rollout(q, v, steps=round(0.4 / dt)).q[-1])
    first, second = np.max(np.abs(ends[0] - ends[1])), np.max(np.abs(ends[1] - ends[2]))
    assert 3.5 < np.log2(first / second) < 4.8


def test_the_chart_of_the_robot_does_not_matter_to_a_step():
    base = crank_rocker("crank_joint")
    q = base.neutral()
    qd = base.spanning_velocity(q, np.array([10.0]))
    found = []
    for name in ("crank_joint", "coupler_joint", "rocker_joint"):
        tree = crank_rocker(name).tree
        found.append(runge_kutta(tree, make_drive(tree, ["crank_joint"]), q, qd, np.array([1.0]), 2e-3))
    for other in found[1:]:
        np.testing.assert_allclose(other[0], found[0][0], rtol=1e-12)
        np.testing.assert_allclose(other[1], found[0][1], rtol=1e-10)
