"""Gradients of rollouts are those of their costs: against differences, along controls, beginnings and parameters."""

from dataclasses import replace

import numpy as np
import pytest

from kinloop.errors import MethodError, ShapeError
from kinloop.sim import CostSlopes, Motor, Simulator
from tests.sim.linearization.steps import case, walker
from tests.sim.mechanisms import crank_rocker, pendulum

STEPS = 12


def cost(q, v, u, t):
    return (1.0 + t) * (q @ q) + 0.1 * (v @ v) + np.cos(1.0) * u[0] * u[0] + q[0] * u[0]


def terminal(q, v):
    return 3.0 * q[0] * v[0] + v @ v


def priced(sim, q, v, u):
    """The cost of a rollout of steps that begin without memory."""
    total = 0.0
    for k, control in enumerate(u):
        total += cost(q, v, control, k * sim.dt)
        after = sim.step(sim.state(q, v), control)
        q, v = after.q[0], sim.velocities(after)[0]
    return total + terminal(q, v)


def slope(f, e):
    """The derivative of f at 0, by differences of order 4."""
    return (8.0 * (f(e) - f(-e)) - (f(2.0 * e) - f(-2.0 * e))) / (12.0 * e)


def _loop():
    robot = crank_rocker("crank_joint")
    sim = Simulator(robot, dt=2e-3, motors=[Motor("crank_joint", "position", kp=20.0, kd=1.0)])
    return sim, robot.neutral(), np.array([3.0])


def _box():
    given = case("on a corner")
    return given.sim, given.q, given.v


BEGINNINGS = {
    "pendulum against its stop": lambda: (
        Simulator(pendulum(lower=-1.0, upper=0.5)),
        np.array([0.49]),
        np.array([2.0]),
    ),
    "loop": _loop,
    "box on a corner": _box,
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_the_gradient_is_that_of_the_cost(name):
    sim, q, v = BEGINNINGS[name]()
    rng = np.random.default_rng(1)
    u = 0.3 * rng.normal(size=(STEPS, sim.nu))
    found = sim.rollout_gradient(cost, q, v, u, terminal=terminal)
    assert abs(found.cost - priced(sim, q, v, u)) < 1e-12 * abs(found.cost)
    du, dq, dv = rng.normal(size=u.shape), rng.normal(size=len(v)), rng.normal(size=len(v))
    along = [
        (np.sum(found.controls * du), lambda s: priced(sim, q, v, u + s * du)),
        (found.q0 @ dq, lambda s: priced(sim, sim.robot.integrate(q, s * dq), v, u)),
        (found.v0 @ dv, lambda s: priced(sim, q, v + s * dv, u)),
    ]
    for gradient, f in along:
        expected = slope(f, 1e-6)
        assert abs(gradient - expected) < 1e-6 * max(1.0, abs(expected))


def test_the_gradient_along_parameters():
    sim, q, v = _loop()
    u = np.full((STEPS, 1), 0.2)
    found = sim.rollout_gradient(cost, q, v, u, terminal=terminal, parameters=["coupler.mass", "rocker.com"])
    assert found.parameters["coupler.mass"].shape == (1,) and found.parameters["rocker.com"].shape == (3,)
    m = sim.robot.mechanism
    coupler = m.bodies[[b.name for b in m.bodies].index("coupler")]

    def heavier(s):
        bodies = tuple(replace(b, mass=b.mass + s) if b is coupler else b for b in m.bodies)
        return priced(Simulator(replace(m, bodies=bodies).build(), sim.dt, motors=list(sim.drive.motors)), q, v, u)

    expected = slope(heavier, 1e-3)
    assert abs(found.parameters["coupler.mass"][0] - expected) < 1e-6 * abs(expected)


def test_a_batch_is_its_rows_and_chunks_do_not_show(monkeypatch):
    sim, q, v = BEGINNINGS["pendulum against its stop"]()
    many = np.array([q, q - 0.3]), np.array([v, v + 0.1])
    u = 0.1 * np.random.default_rng(0).normal(size=(2, STEPS, 1))
    both = sim.rollout_gradient(cost, *many, u, terminal=terminal)
    assert both.controls.shape == (2, STEPS, 1) and both.q.shape == (2, STEPS + 1, 1)
    monkeypatch.setattr("kinloop.sim.linearization.rollout_gradient.AT_ONCE", 5)
    for k in range(2):
        alone = sim.rollout_gradient(cost, many[0][k], many[1][k], u[k], terminal=terminal)
        for name in ("cost", "controls", "q0", "v0", "q", "v"):
            assert np.allclose(getattr(alone, name), getattr(both, name)[k], rtol=1e-14, atol=1e-14)


def test_a_cost_may_be_given_by_its_slopes():
    sim, q, v = BEGINNINGS["pendulum against its stop"]()
    u, zeros, ones = np.zeros((STEPS, 1)), np.zeros((STEPS + 1, 1)), np.ones((STEPS + 1, 1))
    given = sim.rollout_gradient(CostSlopes(zeros, ones, 2.0 * np.ones((STEPS, 1))), q, v, u)
    traced = sim.rollout_gradient(lambda q, v, u, t: v[0] + 2.0 * u[0], q, v, u, terminal=lambda q, v: v[0])
    assert np.isnan(given.cost) and np.allclose(given.controls, traced.controls, rtol=1e-14)
    assert np.allclose(given.v0, traced.v0, rtol=1e-14)


def test_the_way_is_that_of_the_rollout_but_for_memory():
    sim, q, v, u = walker()
    found = sim.rollout_gradient(lambda q, v, u, t: v @ v, q[-1], v[-1], u, steps=5)
    run = sim.rollout(q[-1], v[-1], u, steps=5)
    assert np.array_equal(found.q[1], run.q[0]) and np.array_equal(found.v[1], run.v[0])
    assert np.abs(found.q[1:] - run.q).max() < 1e-5
    q, v = found.q[3], found.v[3]
    assert np.array_equal(found.q[4], sim.step(sim.state(q, v), u).q[0])


def test_what_is_refused():
    sim, q, v = BEGINNINGS["pendulum against its stop"]()
    with pytest.raises(MethodError, match="controls as an array"):
        sim.rollout_gradient(cost, q, v, lambda t, state: np.zeros(1), steps=3)
    with pytest.raises(ShapeError, match=r"a cost must be one number, received an array of shape \(1,\)"):
        sim.rollout_gradient(lambda q, v, u, t: q, q, v, np.zeros((2, 1)))
    with pytest.raises(ShapeError, match="slopes of a cost must have shapes"):
        sim.rollout_gradient(CostSlopes(np.zeros(7), np.zeros(7), np.zeros(7)), q, v, np.zeros((2, 1)))
    slopes = CostSlopes(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((2, 1)))
    with pytest.raises(MethodError, match="leave terminal out"):
        sim.rollout_gradient(slopes, q, v, np.zeros((2, 1)), terminal=terminal)
