"""Batch rows that stop get going again, or are left alone for good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim import Simulator, Status
from kinloop.sim.charts.gauge import sample_jacobians
from kinloop.sim.charts.recharting import typical_singular
from kinloop.sim.charts.resuming import Resumer
from kinloop.sim.charts.thresholds import PATIENCE
from tests.sim.mechanisms import RECORD, drift, pendulum, started


def typical(robot):
    return typical_singular(robot.tree, sample_jacobians(robot.tree))


def linkage(rows=3):
    """A batch of crank-rockers in a chart that is bad where they are, and how to resume them."""
    robot, q, v = started("rocker_joint")
    sim = Simulator(robot, 1e-3)
    batch = sim.batch(sim.state(q, v * np.ones((rows, 1))))
    batch.until[:] = 10.0
    return batch, Resumer(rows, typical(robot)), np.zeros(1)


def test_rows_wait_that_stopped_before_their_end():
    batch, resumer, _ = linkage()
    assert len(resumer.waiting(batch)) == 0
    batch.watch.status[:] = Status.RUNNING, Status.CHART, Status.OPEN
    assert resumer.waiting(batch).tolist() == [1, 2]
    batch.watch.steps[2] = 10.0
    assert resumer.waiting(batch).tolist() == [1]


def test_a_row_stopped_by_its_chart_goes_on_in_a_better_one():
    batch, resumer, u = linkage()
    before, qd = batch.engine(0), batch.state.qd[0].copy()
    batch.watch.status[0] = Status.CHART
    resumer.resume(batch, 0, u)
    assert batch.watch.status[0] == Status.RUNNING and batch.chart_changes.tolist() == [1, 0, 0]
    q = batch.state.q[0]
    assert batch.engine(0).gauge(q)[0] <= 1.001 < before.gauge(q)[0]
    np.testing.assert_allclose(batch.state.qd[0], qd, rtol=1e-9)
    assert batch.engine(1) is before, "the others stay where they are"


def test_patience_has_an_end():
    batch, resumer, u = linkage()
    for _ in range(PATIENCE):
        assert 0 in resumer.waiting(batch) or batch.watch.status[0] == Status.RUNNING
        batch.watch.status[0] = Status.CHART
        resumer.resume(batch, 0, u)
    assert batch.watch.status[0] == Status.DIVERGED and len(resumer.waiting(batch)) == 0


def test_progress_renews_patience():
    batch, resumer, u = linkage()
    for step in range(3 * PATIENCE):
        batch.watch.steps[0], batch.until[0] = step, step + 5.0
        batch.watch.status[0] = Status.CHART
        resumer.resume(batch, 0, u)
        assert batch.watch.status[0] == Status.RUNNING


def test_rows_without_loops_are_left_alone():
    sim = Simulator(pendulum(), 1e-3)
    batch = sim.batch(sim.state(np.zeros((1, 1)), np.ones((1, 1))))
    batch.until[:] = 5.0
    batch.watch.status[0] = Status.DIVERGED
    resumer = Resumer(1, {})
    assert resumer.waiting(batch).tolist() == [0]
    resumer.resume(batch, 0, np.zeros(1))
    assert batch.watch.status[0] == Status.DIVERGED and len(resumer.waiting(batch)) == 0


def test_a_row_before_a_singular_configuration_is_put_beyond_it():
    robot = kl.robots.load("four_bar")
    sim = Simulator(robot, 1e-3)
    q = robot.close(np.array([-2e-3, -2e-3, 2e-3]))
    batch = sim.batch(sim.state(q, np.array([5.0])))
    batch.until[:] = 10.0
    batch.watch.status[0] = Status.CHART
    Resumer(1, typical(robot)).resume(batch, 0, np.zeros(1))
    assert batch.watch.status[0] == Status.RUNNING and batch.singular[0] and batch.watch.lowest_volume[0] == 0.0
    steps = batch.watch.steps[0]
    assert 1 <= steps <= 5 and batch.state.q[0, 0] == pytest.approx(-2e-3 + 5e-3 * steps, rel=0.02)


def test_parallelogram_passes_its_singular_configuration_on_its_branch():
    robot = kl.robots.load("four_bar")
    q0 = robot.close(np.array([0.5, 0.5, -0.5]))
    for integrator in ("semi_implicit", "rk4"):
        r = Simulator(robot, 1e-3, integrator=integrator).rollout(q0, np.array([5.0]), steps=2000, record=RECORD)
        assert r.status[0] == 1 and r.singular[0]
        assert np.all(np.isfinite(r.q)) and np.max(r.loop_error) <= 1e-12
        # on the parallelogram branch the coupler keeps its direction
        assert np.max(np.abs(np.sin(r.q[:, 0] + r.q[:, 2] - (q0[0] + q0[2])))) < 1e-6
        assert np.ptp(r.q[:, 0]) > 2 * np.pi


@pytest.mark.parametrize("speed", [0.5, 5.0, 20.0])
@pytest.mark.parametrize("independent", [0, 1, 2])
def test_parallelogram_keeps_its_energy_through_singular_configurations(independent, speed):
    base = kl.robots.load("four_bar")
    robot = replace(base.mechanism, independent=(base.joint_names[independent],)).build()
    q0 = base.close(np.array([0.5, 0.5, -0.5]))
    v = base.spanning_velocity(q0, np.array([speed]))[robot.tree.independent_dofs]
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q0, v, steps=10_000, record=RECORD)
    assert r.status[0] == 1 and r.singular[0]
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12
    assert np.max(np.abs(np.sin(r.q[:, 0] + r.q[:, 2] - (q0[0] + q0[2])))) < 1e-6


def test_parallelogram_that_lands_exactly_on_the_singular_configuration():
    robot = kl.robots.load("four_bar")
    dt = 1e-3
    q0 = robot.close(np.array([-0.05, -0.05, 0.05]))
    r = Simulator(robot, dt).rollout(q0, np.array([5.0]), steps=30, record=RECORD)
    assert r.status[0] == 1 and r.singular[0] and np.all(np.isfinite(r.q))
    assert abs(r.q[-1, 0] - 0.1) < 1e-3
