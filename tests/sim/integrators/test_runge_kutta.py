"""The classical method on closed loops: order, energy, independence of charts."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim import Simulator
from kinloop.sim.integrators.runge_kutta import MEMORY, RungeKutta, runge_kutta
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
    end = runge_kutta(Simulator(robot).engine.system, x[:1], x[1:], np.zeros(0), np.zeros(1), h)
    np.testing.assert_allclose([end.q[0], end.qd[0]], expected, rtol=1e-13)
    assert end.correction == 0.0 and end.nearness == 1.0, "there is nothing to close"


def test_substeps_are_steps():
    robot, q, v = started("crank_joint")
    system = Simulator(robot, integrator="rk4").engine.system
    method, u, qd = RungeKutta(3), np.array([0.2]), robot.spanning_velocity(q, v)
    moved = method.step(system, q, qd, np.zeros(method.memory_size(system)), u, 3e-3)
    x, known, work = (q, qd), np.zeros(3 * MEMORY + 1), 0.0
    for _ in range(3):
        end = runge_kutta(system, *x, known, u, 1e-3)
        x, known, work = (end.q, end.qd), end.known, work + end.work
    np.testing.assert_allclose(moved.q, x[0], rtol=1e-13)
    np.testing.assert_allclose(moved.qd, x[1], rtol=1e-13)
    assert moved.work == pytest.approx(work, rel=1e-13)


def test_work_is_what_the_energy_gained():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3, integrator="rk4")
    qd, u = robot.spanning_velocity(q, v), np.array([0.7])
    moved = sim.method.step(sim.engine.system, q, qd, sim.state().memory[0], u, 1e-3)
    energies = [np.sum(sim.engine.reading(*x)[1]) for x in ((q, qd), (moved.q, moved.qd))]
    assert moved.work == pytest.approx(energies[1] - energies[0], rel=1e-7)


@pytest.mark.parametrize("before", [1e-4, 1e-6, 1e-9, 1e-12])
def test_a_step_that_passes_blindly_has_the_work_of_its_own_motion(before):
    """Stages near a singular configuration are lost to rounding, or no numbers; so is what forces did in them."""
    sim = Simulator(kl.robots.load("four_bar"), 1e-3, integrator="rk4", limits=False)
    system, turn, past = sim.engine.system, np.array([1.0, 1.0, -1.0]), MEMORY * 3
    memory = np.zeros(sim.method.memory_size(system))
    memory[past:] = MEMORY, 1e-3, 0.7  # as many accelerations are known, all zero, under these steps and controls
    moved = sim.method.step(system, -before * turn, turn, memory, np.array([0.7]), 1e-3)
    assert moved.work == pytest.approx(0.7 * (moved.q[0] + before), rel=1e-9)


def test_a_step_ends_on_the_loops_and_remembers_accelerations_only_where_there_are_loops():
    robot, q, v = started("crank_joint")
    system, method = Simulator(robot, integrator="rk4").engine.system, RungeKutta(1)
    assert method.memory_size(system) == MEMORY * 3 + 2 + 1
    assert method.memory_size(Simulator(pendulum(), integrator="rk4").engine.system) == 0
    qd = robot.spanning_velocity(q, v)
    moved = method.step(system, q, qd, np.zeros(method.memory_size(system)), np.zeros(1), 1e-3)
    assert np.max(robot.loop_error(moved.q)) < 1e-14 and moved.correction < 1e-7 and moved.records == {}
    assert np.max(np.abs(robot.loop_jacobian(moved.q)[0] @ moved.qd)) < 1e-11
    a = robot.spanning_jacobian(q) @ robot.forward_dynamics(q, v, np.zeros(1)) + robot.spanning_bias(q, v)
    np.testing.assert_allclose(moved.memory[:3], a, rtol=1e-9)


@pytest.mark.parametrize("independent", ["crank_joint", "coupler_joint", "rocker_joint"])
def test_four_bar_turns_fully_with_any_joint_independent(independent):
    robot, q, v = started(independent)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=10_000, record=RECORD)
    assert r.status.tolist() == [1]
    assert np.ptp(r.q[:, 0]) > 2 * np.pi
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-13


def test_independent_coordinates_change_the_result_by_rounding_only():
    runs = []
    for independent in ("crank_joint", "rocker_joint"):
        robot, q, v = started(independent)
        runs.append(Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=1000))
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-10


@pytest.mark.parametrize(("name", "speed"), [("slider_crank", 8.0), ("rssr", 4.0)])
def test_spatial_linkages_keep_energy(name, speed):
    robot = kl.robots.load(name)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(None, np.array([speed]), steps=10_000, record=RECORD)
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-13


def test_tello_legs_swing_free():
    robot = on_fixed_base("tello")
    v = 0.5 * np.random.default_rng(1).normal(size=robot.nv)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(None, v, steps=10_000, record=RECORD, every=10)
    assert r.status[0] == 1
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-13


@pytest.mark.parametrize("make", [on_fixed_base, kl.robots.load], ids=["chassis held", "car falling"])
def test_wishbones_keep_energy(make):
    robot = make("wishbone")
    v = 0.3 * np.random.default_rng(0).normal(size=robot.nv)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(None, v, steps=10_000, record=RECORD, every=10)
    assert r.status[0] == 1
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-13


@pytest.mark.parametrize("steps", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_energy_has_no_trend(steps):
    robot, q, v = started("crank_joint")
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=steps, record=RECORD, every=100)
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
    for dt in (2e-3, 1e-3, 5e-4):
        run = Simulator(robot, dt, integrator="rk4", substeps=1).rollout(q, v, steps=round(0.4 / dt))
        assert run.substeps.tolist() == [0]
        ends.append(run.q[-1])
    first, second = np.max(np.abs(ends[0] - ends[1])), np.max(np.abs(ends[1] - ends[2]))
    assert 3.5 < np.log2(first / second) < 4.8


def test_the_chart_of_the_robot_does_not_matter_to_a_step():
    base = crank_rocker("crank_joint")
    q = base.neutral()
    qd = base.spanning_velocity(q, np.array([10.0]))
    found = []
    for name in ("crank_joint", "coupler_joint", "rocker_joint"):
        system = Simulator(crank_rocker(name), motors=["crank_joint"]).engine.system
        found.append(runge_kutta(system, q, qd, np.zeros(3 * MEMORY + 1), np.array([1.0]), 2e-3))
    for other in found[1:]:
        np.testing.assert_allclose(other[0], found[0][0], rtol=1e-12)
        np.testing.assert_allclose(other[1], found[0][1], rtol=1e-10)
