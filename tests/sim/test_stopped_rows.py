"""Rows that stop stay at their last good state, whatever the integrator; the others never notice."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.sim import Plane, Simulator, Status
from tests.sim.mechanisms import crank_rocker, leg, pendulum

SLOW = pytest.mark.slow
GOOD, STEPS = 8, 20
"""Steps until a row is torn apart, and steps in all."""


def torn(sim, q, amount, **options):
    """A row that is torn apart after GOOD steps, and one that is not."""
    u = np.zeros((2, STEPS, sim.nu))
    u[0, GOOD:] = amount
    return sim.rollout(q, None, u, **options)


@pytest.mark.parametrize(
    ("amount", "every"),
    [(1e10, 1), (1e80, 3), *(pytest.param(*x, marks=SLOW) for x in ((1e10, 3), (1e30, 1), (1e30, 3), (1e80, 1)))],
)
@pytest.mark.parametrize("make", [pendulum, crank_rocker])
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
@pytest.mark.sample(6)
def test_a_row_that_stops_stays_at_its_last_good_state(integrator, make, amount, every):
    robot = make()
    sim, q = Simulator(robot, integrator=integrator), robot.neutral()
    if make is pendulum:
        q = q + 0.5
    run = torn(sim, q, amount, record=("q", "v", "energy"), every=every)
    good = sim.rollout(q, None, np.zeros((1, GOOD, sim.nu)), record=("q", "v"))
    assert run.status[0] in (Status.OPEN, Status.DIVERGED) and run.status[1] == Status.RUNNING
    assert run.stopped[0] == pytest.approx(GOOD * sim.dt) and run.final.t[0] == pytest.approx(GOOD * sim.dt)
    for x, y in ((run.final.q[0], good.q[0, -1]), (run.final.qd[0], good.final.qd[0])):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
    after = GOOD // every
    for name in ("q", "v", "energy"):
        x = run[name][0]
        assert np.all(np.isfinite(run[name])) and np.all(x[after:] == x[-1])
    np.testing.assert_allclose(run.v[0, -1], good.v[0, -1], rtol=1e-9, atol=1e-12)
    assert np.all(np.isfinite(run.final.memory))


def test_a_robot_without_loops_never_stops_for_its_loops():
    run = torn(Simulator(pendulum()), np.zeros(1), 1e30)
    assert run.status[0] == Status.DIVERGED


@pytest.mark.parametrize("amount", [1e10, pytest.param(1e90, marks=SLOW)])
def test_nothing_pushes_a_row_that_has_stopped(amount):
    robot = leg()
    sim = Simulator(robot, ground=Plane(0.8), contacts=["foot"], motors=["knee"])
    q = robot.neutral()
    q[2], q[8] = 0.39, 0.3
    names = ("gap", "contact_force", "joint_impulse", "residual")
    run = torn(sim, q, amount, record=names)
    assert run.stopped[0] == pytest.approx(GOOD * sim.dt) and np.isfinite(run.final.qd).all()
    for name in names:
        x = run[name]
        assert np.all(np.isfinite(x)) and np.array_equal(x[0, :GOOD], x[1, :GOOD])
        assert np.all(x[0, GOOD:] == (x[0, GOOD - 1] if name == "gap" else 0.0))
    first = torn(sim, q, amount, record=("gap",), every=10)
    assert np.all(np.isnan(first.gap[0])), "no gap was recorded before it stopped"
