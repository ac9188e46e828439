"""Trajectory optimisation: minima that other ways confirm, limits, and problems that cannot be solved."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.clusters import conditioning
from kinloop.control import ILQR, Outcome, SmoothDynamics
from kinloop.control.riccati_sweep import sweep_back
from kinloop.control.traced_cost import Expansion, TracedCost
from kinloop.errors import LoopNotClosed, MethodError, ShapeError
from tests.control.plants import floating, four_bar
from tests.control.reaching import STEPS, reaching

T = 30


def cost(q, v, u, t):
    return 0.05 * u @ u + 0.01 * v @ v + 0.1 * (1.0 - np.cos(q[2] - 0.5 * t))


def terminal(q, v):
    return 30.0 * (q[0] - 1.0) ** 2 + v @ v


@cache
def solver(limit=2.0):
    return ILQR(SmoothDynamics(four_bar()[0], 0.02), cost, terminal, limits=(-limit, limit))


@cache
def solved():
    return solver().solve(four_bar()[1], steps=T)


def total(robot, dt, q, v, u):
    """The cost of controls, step by step by the robot itself."""
    found = 0.0
    for k, x in enumerate(u):
        found += cost(q, v, x, k * dt)
        v = v + dt * robot.forward_dynamics(q, v, x)
        q = robot.integrate(q, v, dt)
    return found + terminal(q, v)


def test_no_control_can_be_changed_for_the_better():
    found, (robot, q) = solved(), four_bar()
    assert found.converged and found.status == Outcome.CONVERGED and "converged after" in found.reasons[0]
    assert found.cost == pytest.approx(total(robot, 0.02, q, np.zeros(1), found.controls), rel=1e-10)
    u, e = found.controls, 1e-5
    slope = np.zeros(T)
    for k in range(T):
        sides = [total(robot, 0.02, q, np.zeros(1), u + s * e * np.eye(T)[k][:, None]) for s in (1, -1)]
        slope[k] = (sides[0] - sides[1]) / (2 * e)
    low, high = u[:, 0] <= -2.0, u[:, 0] >= 2.0
    assert high.any() or low.any()
    assert np.abs(slope[~low & ~high]).max() < 1e-4
    assert (slope[low] > 0).all() and (slope[high] < 0).all()
    assert robot.loop_error(found.q).max() < 1e-12


def test_a_batch_has_the_bits_of_its_problems():
    robot, q = four_bar()
    starts = robot.integrate(np.tile(q, (3, 1)), [[0.0], [0.3], [-0.2]])
    many = solver().solve(starts, steps=T)
    for k in range(3):
        alone = solver().solve(starts[k], steps=T)
        for name in ("q", "v", "controls", "gains", "cost", "iterations"):
            np.testing.assert_array_equal(getattr(many, name)[k], getattr(alone, name))
    assert len(many.reasons) == 3


def test_the_unit_of_the_cost_does_not_matter():
    tiny = ILQR(
        solver().dynamics, lambda *x: 2.0**-60 * cost(*x), lambda *x: 2.0**-60 * terminal(*x), limits=(-2.0, 2.0)
    ).solve(four_bar()[1], steps=T)
    assert tiny.converged
    assert 2.0**60 * tiny.cost == pytest.approx(solved().cost, rel=1e-7)


def test_a_guess_beyond_the_limits_is_cut_and_one_at_the_minimum_stays():
    found = solver().solve(four_bar()[1], controls=np.full((T, 1), 50.0))
    assert np.abs(found.controls).max() <= 2.0 and found.converged
    again = solver().solve(four_bar()[1], controls=solved().controls)
    assert again.iterations <= 2 and again.cost <= solved().cost
    stuck = solver(0.0).solve(four_bar()[1], steps=T)
    assert stuck.converged and not stuck.controls.any()


def test_the_simulators_steps_are_optimised_too():
    robot, q = four_bar()
    sim = kl.Simulator(robot, dt=5e-3)
    found = ILQR(sim, cost, terminal, limits=(-2.0, 2.0)).solve(q, steps=40)
    assert found.converged
    slopes = sim.rollout_gradient(cost, q, None, found.controls, terminal=terminal)
    assert slopes.cost == pytest.approx(found.cost, rel=1e-12)
    free = np.abs(found.controls) < 2.0
    assert np.abs(slopes.controls[free]).max(initial=0.0) < 1e-3
    assert (slopes.controls * found.controls)[~free].max(initial=-1.0) < 0.0


def test_a_linear_problem_is_solved_at_once_as_a_dense_solve_does():
    rng, n, m, steps = np.random.default_rng(1), 3, 2, 6
    A, B = rng.normal(size=(1, steps, n, n)), rng.normal(size=(1, steps, n, m))
    xx, uu = np.tile(np.eye(n), (1, steps, 1, 1)), np.tile(0.3 * np.eye(m), (1, steps, 1, 1))
    parts = (
        rng.normal(size=(1, steps, n)),
        rng.normal(size=(1, steps, m)),
        xx,
        0.1 * rng.normal(size=(1, steps, m, n)),
        uu,
    )
    stage = Expansion(*parts)
    last = Expansion(
        rng.normal(size=(1, n)), np.zeros((1, 0)), 2.0 * np.eye(n)[None], np.zeros((1, 0, n)), np.zeros((1, 0, 0))
    )
    room = np.full((1, steps, m), -np.inf), np.full((1, steps, m), np.inf)
    k, K, slope, curvature, found = sweep_back(A, B, stage, last, room, np.zeros(1))
    x, u = np.zeros((steps + 1, n)), np.zeros((steps, m))
    for t in range(steps):
        u[t] = k[0, t] + K[0, t] @ x[t]
        x[t + 1] = A[0, t] @ x[t] + B[0, t] @ u[t]
    # dense: x = F u, cost quadratic in u
    F = np.zeros((steps + 1, n, steps, m))
    for t in range(steps):
        F[t + 1] = np.einsum("ij,jkl->ikl", A[0, t], F[t])
        F[t + 1, :, t] += B[0, t]
    H, g = np.zeros((steps * m, steps * m)), np.zeros(steps * m)
    for t in range(steps + 1):
        J = F[t].reshape(n, -1)
        E = np.zeros((m, steps * m))
        if t < steps:
            E[:, t * m : (t + 1) * m] = np.eye(m)
            H += J.T @ xx[0, t] @ J + E.T @ uu[0, t] @ E + E.T @ stage.ux[0, t] @ J + J.T @ stage.ux[0, t].T @ E
            g += J.T @ stage.x[0, t] + E.T @ stage.u[0, t]
        else:
            H, g = H + J.T @ last.xx[0] @ J, g + J.T @ last.x[0]
    best = np.linalg.solve(H, -g)
    np.testing.assert_allclose(u.ravel(), best, atol=1e-9 * np.abs(best).max())
    assert found.all()
    assert -(slope + 0.5 * curvature)[0] == pytest.approx(0.5 * g @ np.linalg.solve(H, g), rel=1e-9)


def test_hessians_of_costs_are_those_along_closed_motions():
    robot, e = floating(), 1e-4

    def height(q, v, u, t):
        return np.exp(0.3 * robot.frame_pose(q, "tip")[2, 3]) + v[0] * v[7] * q[8] + u[0] * q[9] ** 2 + t

    traced = TracedCost(robot, 1, height)
    q, v = robot.random_state(7)
    u, t, n = np.array([0.4]), np.array(0.2), 2 * robot.nv + 1

    def value(d):
        at = robot.integrate(q, d[: robot.nv]), v + d[robot.nv : -1], u + d[-1:]
        return float(traced.value(*at, t))

    assert value(np.zeros(n)) == pytest.approx(height(q, v, u, 0.2), rel=1e-12)
    x, du, xx, ux, uu = traced.expand(q, v, u, t)
    H, g = np.block([[xx, ux.T], [ux, uu]]), np.concatenate([x, du])
    for d in np.random.default_rng(8).normal(size=(4, n)):
        d /= np.linalg.norm(d)
        near, far = (value(e * d), value(-e * d)), value(np.zeros(n))
        assert (near[0] - near[1]) / (2 * e) == pytest.approx(g @ d, abs=1e-7)
        assert (near[0] + near[1] - 2 * far) / e**2 == pytest.approx(d @ H @ d, abs=1e-6)


def test_problems_that_cannot_be_solved_say_why():
    q = four_bar()[1]
    dynamics = solver().dynamics

    def told(cost, terminal=None, start=q, **more):
        found = ILQR(dynamics, cost, terminal).solve(start, **({"steps": 10} | more))
        return Outcome(int(found.status)), found.reasons[0], found

    outcome, why, found = told(lambda q, v, u, t: u[0] / (t - 0.04), controls=np.ones((10, 1)))
    assert outcome == Outcome.NO_START and "its cost is" in why and np.isnan(found.gains).all()
    outcome, why, _ = told(lambda q, v, u, t: sc.sqrt(u @ u))
    assert outcome == Outcome.NO_SLOPES and "cost of step 0 has no derivatives" in why
    _, _, found = told(lambda q, v, u, t: u @ u, iterations=0)
    end = float(found.q[-1, 0])
    outcome, why, _ = told(lambda q, v, u, t: u @ u, lambda q, v: sc.sqrt(sc.abs(q[0] - end)))
    assert outcome == Outcome.NO_SLOPES and "end has no derivatives" in why
    outcome, why, _ = told(cost, terminal, iterations=1)
    assert outcome == Outcome.ITERATIONS and "after 1 iterations" in why
    outcome, why, _ = told(cost, terminal, controls=np.full((10, 1), 1e99))
    assert outcome == Outcome.NO_START and "cannot take step" in why
    outcome, why, _ = told(lambda q, v, u, t: u @ u, lambda q, v: 1e3 * sc.abs(q[0] - end))  # best, at a kink
    assert outcome == Outcome.STALLED and "kink" in why


def test_a_motion_through_a_singular_configuration_says_so():
    """An arm too weak to be held swings through the line of its parallelogram, where its loop may fold either way."""
    robot, dynamics, cost, terminal, q, holding = reaching()
    weak = ILQR(dynamics, cost, terminal, limits=(-4.0, [3.0, 2.0]))
    found = weak.solve(q, controls=np.tile(holding, (STEPS, 1)))
    assert found.status == Outcome.STALLED and "before step 4 loops are at a singular configuration" in found.reasons[0]
    assert conditioning(robot.tree, found.q[4]) > 1e3


def test_costs_without_curvature_need_regularisation_and_get_it():
    q = four_bar()[1]
    linear = ILQR(solver().dynamics, lambda q, v, u, t: 0.0 * t, lambda q, v: -q[0], limits=(-1.0, 1.0))
    found = linear.solve(q, steps=10)
    assert found.converged and (np.abs(found.controls) == 1.0).all()  # nothing but the limits holds it
    hill = ILQR(
        solver().dynamics, lambda q, v, u, t: -0.1 * u @ u, lambda q, v: -((q[0] - 1.0) ** 2), limits=(-1.0, 1.0)
    )
    found = hill.solve(q, controls=0.1 * np.ones((10, 1)))
    assert found.converged and (np.abs(found.controls) == 1.0).all()


def test_inputs_that_do_not_fit_are_named():
    q = four_bar()[1]
    with pytest.raises(MethodError, match=r"steps=T"):
        solver().solve(q)
    with pytest.raises(ShapeError, match=r"controls must have shape \(T, 1\) or \(B, T, 1\)"):
        solver().solve(q, controls=[1.0])
    with pytest.raises(ShapeError, match="2, 1, 3, 1 problems"):
        solver().solve(np.tile(q, (2, 1)), controls=np.zeros((3, 5, 1)))
    with pytest.raises(LoopNotClosed):
        solver().solve(q + 0.1, steps=5)
    with pytest.raises(MethodError, match=r"control 0 are 1.0 to -1.0"):
        ILQR(solver().dynamics, cost, limits=(1.0, -1.0))
    with pytest.raises(ShapeError, match="limits must be"):
        ILQR(solver().dynamics, cost, limits=([1.0, 2.0], [3.0, 4.0]))
    with pytest.raises(ShapeError, match="a cost must be one number"):
        ILQR(solver().dynamics, lambda q, v, u, t: u)


def test_every_problem_of_a_batch_has_parameters_of_its_own():
    """As if each had been written with its numbers in the cost; the same bits alone and among others."""
    robot, q0 = four_bar()
    dynamics = SmoothDynamics(robot, 0.02)

    def reach(q, v, p):
        return p[1] * (q[0] - p[0]) ** 2 + v @ v

    shared = ILQR(dynamics, lambda q, v, u, t, p: p[2] * u @ u, reach, limits=(-2.0, 2.0), parameters=3)
    goals = np.array([[1.0, 30.0, 0.05], [0.2, 30.0, 0.05], [1.0, 3.0, 0.2]])
    found = shared.solve(q0, steps=T, parameters=goals)
    assert found.q.shape[0] == 3 and found.converged.all() and np.ptp(found.q[:, -1, 0]) > 0.3
    for k, p in enumerate(goals):
        alone = shared.solve(q0, steps=T, parameters=p)
        assert alone.cost == found.cost[k] and np.array_equal(alone.controls, found.controls[k])
        own = ILQR(
            dynamics, lambda q, v, u, t, p=p: p[2] * u @ u, lambda q, v, p=p: reach(q, v, p), limits=(-2.0, 2.0)
        ).solve(q0, steps=T)
        assert own.cost == pytest.approx(float(alone.cost), rel=1e-9)
    with pytest.raises(MethodError, match="the costs have 3 parameters; give parameters="):
        shared.solve(q0, steps=T)
    with pytest.raises(MethodError, match=r"the costs have 0 parameters; make them with ILQR\(..., parameters=n\)"):
        solver().solve(q0, steps=T, parameters=[1.0])
    with pytest.raises(ShapeError, match=r"parameters must have shape \(3,\)"):
        shared.solve(q0, steps=T, parameters=[1.0])
    with pytest.raises(ShapeError, match="have 2, 1, 1, 3 problems"):
        shared.solve(np.tile(q0, (2, 1)), steps=T, parameters=goals)
