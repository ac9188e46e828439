"""aligator on robots with loops: the same cost as with our solver, within limits too; slopes as differences say."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.control import ILQR, SmoothDynamics
from tests.control.plants import floating
from tests.control.reaching import DT, STEPS, reaching

aligator = pytest.importorskip("aligator")

from kinloop.control.aligator_models import Dynamics, StageCost, trajectory_problem  # noqa: E402


def problem():
    _, dynamics, cost, terminal, q0, hold = reaching()
    return dynamics, cost, terminal, q0, np.tile(hold, (STEPS, 1))


def solved(**options):
    dynamics, cost, terminal, q0, guess = problem()
    made = trajectory_problem(dynamics, cost, terminal, q0, controls=guess, **options)
    solver = aligator.SolverProxDDP(1e-6, 1e-4)
    solver.max_iters = 400
    solver.rollout_type = aligator.ROLLOUT_LINEAR
    solver.setup(made.problem)
    assert solver.run(made.problem, made.xs, made.us), "it says that it converged"
    return made, solver.results


def test_a_linkage_reaches_at_the_cost_that_our_solver_finds():
    dynamics, cost, terminal, q0, guess = problem()
    made, found = solved()
    ours = ILQR(dynamics, cost, terminal, tolerance=1e-12).solve(q0, controls=guess)
    assert ours.converged and found.traj_cost == pytest.approx(float(ours.cost), rel=1e-8)
    q, _ = made.motion(found.xs)
    assert dynamics.robot.loop_error(q).max() < 1e-12
    np.testing.assert_allclose(q, ours.q, atol=1e-4)


def test_limits_are_kept():
    dynamics, cost, terminal, q0, guess = problem()
    limits = (-8.0, [1.0, 1.5])
    ours = ILQR(dynamics, cost, terminal, limits=limits, tolerance=1e-12).solve(q0, controls=guess)
    _, found = solved(limits=limits)
    u = np.array(found.us)
    assert ours.converged and (ours.controls == -8.0).any()
    assert (u > -8.0 - 1e-6).all() and (u < np.array([1.0, 1.5]) + 1e-6).all()
    assert found.traj_cost == pytest.approx(float(ours.cost), rel=1e-6)


def test_slopes_of_steps_and_costs_are_those_of_differences():
    """With a free base and a ball, away from the configurations that charts are made about."""
    robot, rng, e = floating(), np.random.default_rng(0), 1e-6
    dynamics = SmoothDynamics(robot, DT)

    def cost(q, v, u, t):
        tip = robot.frame_pose(q, "tip")[:3, 3]
        return tip @ tip + 0.1 * v @ v + u @ u + t

    q0, v0 = robot.random_state(1)
    made = trajectory_problem(dynamics, cost, lambda q, v: cost(q, v, v, 0.0), q0, v0, controls=np.zeros((2, robot.nv)))
    stage = made.problem.stages[0]
    space, n, nu = stage.xspace, 2 * robot.nv, dynamics.nu
    x, u = made.xs[0] + 0.2 * rng.normal(size=n), rng.normal(size=nu)
    step, price = Dynamics(dynamics, *made.charts[:2]), made.problem.stages[0].cost
    data, priced = step.createData(), price.createData()
    assert isinstance(price, StageCost) and space.ndx == n

    def ahead(x, u):
        step.forward(x, u, data)
        price.evaluate(x, u, priced)
        return np.array([*data.xnext, priced.value])

    step.dForward(x, u, data)
    price.computeGradients(x, u, priced)
    J = np.vstack([np.hstack([data.Jx, data.Ju]), priced.grad])
    for k, d in enumerate(np.eye(n + nu)):
        change = (ahead(x + e * d[:n], u + e * d[n:]) - ahead(x - e * d[:n], u - e * d[n:])) / (2 * e)
        np.testing.assert_allclose(change, J[:, k], atol=2e-7)
