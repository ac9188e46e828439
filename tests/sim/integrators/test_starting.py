"""Accelerations before the beginning: those that the exact motion would have had."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim import Simulator
from kinloop.sim.integrators.history import HALF
from kinloop.sim.integrators.semi_implicit import ORDER, ORDER_ELSE, order
from kinloop.sim.integrators.starting import course, difference_weights
from tests.sim.mechanisms import parallelograms, started, turned

FOUND = len(course(ORDER - 1).used)
"""Differences that linkages begin with."""


def remembered(sim, q, qd, u):
    """What a row that begins remembers: differences (FOUND, n), how many are known, whether they are lost."""
    memory, lost = sim.engine.start(q, qd, u, np.array([sim.dt]))
    n = sim.robot.n_spanning
    known = memory[(order(sim.engine.system) - 1) * n]
    return memory[: FOUND * n].reshape(FOUND, n), known, bool(lost[0])


def test_differences_are_those_of_the_motion_before():
    robot, q, v = started("crank_joint", 8.0)
    qd, u = robot.spanning_velocity(q, v), np.array([0.4])
    errors = []
    for h in (2e-3, 1e-3):
        # the motion backwards, in half steps: forces that depend on positions and squares of velocities do not mind
        fine = Simulator(robot, 0.5 * h, integrator="adaptive", tolerance=1e-13)
        back = fine.rollout(state=fine.state(q, qd=-qd), controls=u, steps=2 * FOUND, record=("q", "qd"))
        a = np.array([fine.engine.rate(back.q[0, k], -back.qd[0, k], u)[1] for k in range(0, 2 * FOUND, 2)])
        found, known, lost = remembered(Simulator(robot, h), q, qd, u)
        assert known == FOUND and not lost
        want = [a[0], a[0] - a[1], a[0] - 2 * a[1] + a[2]]
        errors.append(np.max(np.abs(found - want)))
    assert errors[1] < 1e-4 and 3.5 < np.log2(errors[0] / errors[1]) < 6.5, errors


def test_the_first_step_has_the_order_of_those_that_follow():
    robot, q, v = started("crank_joint", 5.0)
    ends = [Simulator(robot, h).rollout(q, v, steps=round(0.2 / h)).q[-1] for h in (4e-3, 2e-3, 1e-3)]
    first, second = (np.max(np.abs(a - b)) for a, b in ((ends[0], ends[1]), (ends[1], ends[2])))
    assert np.log2(first / second) > 4.0


def test_a_fast_crank_keeps_its_energy_from_the_beginning():
    robot, q, v = started("crank_joint", 20.0)
    run = Simulator(robot, 1e-3).rollout(q, v, steps=2000, record=("energy", "kinetic_energy"))
    begin = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    assert np.max(np.abs(run.energy - begin)) < 2e-6 * np.max(run.kinetic_energy)  # 1.5e-3 with a leapfrog to begin


def test_nothing_is_said_where_accelerations_are_lost_to_rounding():
    robot = parallelograms(1)
    sim = Simulator(robot, 1e-3)
    for angle, lost in ((0.3, False), (0.5 * np.pi - 1e-6, True)):
        found, known, said = remembered(sim, *turned(robot, angle, 3.0), np.zeros(1))
        assert said is lost and known == (0 if lost else FOUND) and bool(np.any(found)) is not lost


def test_nothing_is_said_where_velocities_would_have_changed_beyond_all_bounds():
    """Three accelerations of three joints, each 0.6 times the torque: by 1e7 rad/s in a step at 5.6e9 N m."""
    robot = parallelograms(1)
    sim = Simulator(robot, 1e-3)
    for torque, lost in ((3e9, False), (1e10, True), (1e300, True)):
        found, known, said = remembered(sim, *turned(robot, 0.3, 0.0), np.array([torque]))
        assert said is lost and known == (0 if lost else FOUND)
        assert np.max(np.abs(found[0])) == pytest.approx(0.0 if lost else 0.6 * torque, rel=0.01)


@pytest.mark.parametrize("name", ["mini_cheetah", "double_pendulum"])
def test_trees_begin_without(name):
    """Their first step is the leapfrog's: no other kernel is made."""
    assert Simulator(kl.robots.load(name)).engine.start is None


@pytest.mark.sample(3)
def test_robots_with_many_joints_begin_with_less():
    """Two accelerations: energies stay from the first step on."""
    assert (FOUND, len(course(ORDER_ELSE - 1).used)) == (3, 2)
    robot = kl.robots.load("stewart")
    sim = Simulator(robot, 1e-3, limits=False)
    assert order(sim.engine.system) == ORDER_ELSE and sim.engine.start is not None
    q, v = robot.random_state(2)
    run = sim.rollout(q, 3.0 * v, steps=500, record=("energy", "kinetic_energy"))
    begin = robot.kinetic_energy(q, 3.0 * v) + robot.potential_energy(q)
    assert np.max(np.abs(run.energy - begin)) < 5e-8 * np.max(run.kinetic_energy)  # 9e-6 without any


@pytest.mark.parametrize("count", [ORDER - 1, ORDER_ELSE - 1])
def test_the_way_back_goes_where_it_says_and_is_of_the_stated_order(count):
    """x' = x from 1 on: rate k is met at exp(-t) at its time, and is wrong by the order that the docstring states."""
    rows, used = course(count)
    for h in (1e-2, 1e-3):
        rates: list[float] = []
        for row in rows:
            rates.append(1.0 - h * float(np.dot(row, rates[: len(row)])))
        order = 4 if count == ORDER - 1 else 2
        assert max(abs(rates[k] - np.exp(-h * float(t))) for k, t in used.items()) < 2.0 * h**order
        assert all(abs(sum(rows[k]) - float(t)) < 1e-15 for k, t in used.items())


def test_differences_of_polynomials_are_exact():
    for times in ([HALF, 3 * HALF, 5 * HALF], [0 * HALF, HALF], [0 * HALF, HALF, 3 * HALF]):
        polynomials = [lambda t: 1.0, lambda t: 0.3 - t, lambda t: t * t - 2.0 * t][: len(times)]
        for a in polynomials:
            values = [a(-float(t)) for t in times]
            middles = [a(-0.5 - k) for k in range(len(times))]
            want = [np.diff(middles[::-1], n=j)[-1] for j in range(len(times))]
            np.testing.assert_allclose(np.array(difference_weights(times)) @ values, want, atol=1e-14)
