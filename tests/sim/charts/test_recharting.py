"""Better charts, and the way over singular configurations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim.actuators import make_drive
from kinloop.sim.charts.gauge import Gauge, coordinate_scales, loops, sample_jacobians
from kinloop.sim.charts.recharting import (
    approach,
    best_chart,
    orientation,
    pass_over,
    rechart,
    smallest_singular,
    spanning_kinetic,
    typical_singular,
)
from kinloop.sim.charts.thresholds import LANDING, NO_BETTER_SWAP
from tests.sim.mechanisms import crank_rocker

LINKAGES = ["four_bar", "slider_crank", "rssr", "six_bar", "bricard"]


@pytest.mark.parametrize("name", LINKAGES)
def test_a_change_of_charts_keeps_the_spanning_state(name):
    robot = kl.robots.load(name)
    for seed in range(3):
        q, v = robot.random_state(seed)
        qd = robot.spanning_velocity(q, v)
        tree = rechart(robot.tree, q)
        _, again, _ = tree.spanning_motion(q, qd[tree.independent_dofs])
        np.testing.assert_allclose(again, qd, atol=1e-9 * np.max(np.abs(qd)))


@pytest.mark.parametrize("name", LINKAGES)
def test_in_the_best_charts_no_swap_helps(name):
    robot = kl.robots.load(name)
    samples = sample_jacobians(robot.tree)
    for seed in range(3):
        q, _ = robot.random_state(seed)
        tree = rechart(robot.tree, q)
        assert Gauge(tree, samples)(q)[0] <= 1.0 + 2 * NO_BETTER_SWAP
        again = rechart(tree, q)
        assert again.independent_dofs == tree.independent_dofs, "the best stays the best"


def test_the_best_chart_has_the_largest_volume():
    robot = crank_rocker("rocker_joint")
    tree, q = robot.tree, robot.neutral()
    (c,) = loops(tree)
    K, scale = tree.rows(c, q).K, coordinate_scales(tree)[c.index]
    chart = best_chart(c, K, scale)
    scaled = (K * c.equations.weights[:, None] * scale)[list(chart.rows)]

    def volume(independent):
        return abs(np.linalg.det(np.delete(scaled, independent, axis=1)))

    assert volume(chart.independent[0]) == max(volume(i) for i in range(3))


def test_nearness_is_a_singular_value_relative_to_its_usual_size():
    robot = kl.robots.load("four_bar")
    tree, samples = robot.tree, sample_jacobians(robot.tree)
    typical = typical_singular(tree, samples)
    (c,) = loops(tree)
    scale, rank = coordinate_scales(tree)[c.index], len(c.chart.dependent)
    sizes = [np.linalg.svd(K * scale, compute_uv=False)[rank - 1] for K in samples[c.index]]
    assert typical[c.index] == pytest.approx(np.median(sizes), rel=1e-12)
    q = robot.close(np.array([0.1, 0.1, -0.1]))
    expected = np.linalg.svd(tree.rows(c, q).K * scale, compute_uv=False)[rank - 1] / typical[c.index]
    assert smallest_singular(tree, q, typical) == pytest.approx(expected, rel=1e-9)
    near = [smallest_singular(tree, robot.close(np.array([x, x, -x])), typical) for x in (0.3, 0.03, 0.003)]
    assert near[0] > 5 * near[1] > 25 * near[2] > 0
    assert smallest_singular(kl.robots.load("double_pendulum").tree, np.zeros(2), {}) == 1.0, "there is no loop"


def parallelogram(x=-0.1, speed=5.0):
    """A parallelogram that swings in a vertical plane, on its way to the configuration in line, which it meets at 0."""
    robot = replace(kl.robots.mechanism("four_bar"), gravity=(-9.81, 0.0, 0.0)).build()
    q = robot.close(np.array([x, x, -x]))
    return robot, q, robot.spanning_velocity(q, np.array([speed]))


def test_the_orientation_changes_sign_where_loops_lose_rank():
    robot, before, _ = parallelogram(-0.1)
    after = parallelogram(0.1)[1]
    assert orientation(robot.tree, before) * orientation(robot.tree, after) < 0
    assert abs(orientation(robot.tree, parallelogram(-0.01)[1])) < 0.2 * abs(orientation(robot.tree, before))


def test_approach_is_the_part_of_the_way_that_a_step_covers():
    robot, q, qd = parallelogram(-0.1)
    rate = qd[0]
    for part in (0.25, 0.5):
        covered = approach(robot.tree, q, (0.1 * part / rate) * qd)
        assert covered == pytest.approx(part, rel=0.05)
    assert approach(robot.tree, q, (0.15 / rate) * qd) > 1.0, "it passes"
    assert approach(robot.tree, q, (-0.05 / rate) * qd) < 0.0, "it goes away"


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "double_pendulum"])
def test_kinetic_energy_of_allowed_velocities_is_the_robots(name):
    robot = kl.robots.load(name)
    q, v = robot.random_state(1)
    qd = robot.spanning_velocity(q, v)
    assert spanning_kinetic(robot.tree, q, qd) == pytest.approx(robot.kinetic_energy(q, v), rel=1e-9)
    assert spanning_kinetic(robot.tree, q, 2 * qd) == pytest.approx(4 * robot.kinetic_energy(q, v), rel=1e-9)


@pytest.mark.parametrize("x", [-2e-3, -1e-4, -4.9e-3])
def test_a_passage_keeps_branch_loops_and_energy(x):
    robot, q, qd = parallelogram(x)
    drive, dt = make_drive(robot.tree, []), 1e-3
    passage = pass_over(robot.tree, drive, q, qd, np.zeros(0), dt, 10)
    assert passage is not None and 1 <= passage.steps <= 5
    assert np.max(robot.loop_error(passage.q)) < 1e-12
    assert np.sin(passage.q[0] + passage.q[2]) == pytest.approx(0.0, abs=1e-9), "still a parallelogram"
    assert passage.q[0] - q[0] == pytest.approx(passage.steps * dt * qd[0], rel=1e-2)
    energy = [spanning_kinetic(robot.tree, a, b) + float(robot.potential_energy(a)) for a, b in ((q, qd), passage[1:3])]
    assert energy[1] == pytest.approx(energy[0], rel=1e-12)
    here, there = (abs(orientation(robot.tree, a)) for a in (q, passage.q))
    assert there > 0.5 * LANDING / passage.steps * (here + there), "not too near the configuration it passed"


def test_a_passage_stays_within_its_horizon():
    robot, q, qd = parallelogram(-4.9e-3)
    drive = make_drive(robot.tree, [])
    assert pass_over(robot.tree, drive, q, qd, np.zeros(0), 1e-3, 1).steps == 1
    assert pass_over(robot.tree, drive, q, qd, np.zeros(0), 1e-3, 0) is None, "there is no step left to take"
