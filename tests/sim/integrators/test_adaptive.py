"""Dormand and Prince's pair: its coefficients, its orders on a plain problem, its step control on linkages."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import KinloopError
from kinloop.sim import Simulator, Status
from kinloop.sim.integrators import adaptive
from kinloop.sim.integrators.adaptive import A, D, E, attempt, interpolate
from tests.sim.mechanisms import RECORD, drift, pendulum, started

C = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
B5 = np.array([*A[-1], 0.0])


class Oscillator:
    """x'' = -x, in place of a robot."""

    def f(self, x, u, t=0.0):
        return np.array([x[1], -x[0]]), 1.0


START = np.array([1.0, 0.3])


def exact(t):
    c, s = np.cos(t), np.sin(t)
    return np.array([[c, s], [-s, c]]) @ START


def step(h):
    field = Oscillator()
    y, k, near = attempt(field, START, field.f(START, None)[0], None, h)
    assert near == 1.0
    return y, k


def test_stages_are_consistent():
    np.testing.assert_allclose([sum(row) for row in A], C[1:], rtol=1e-15)


def test_both_steps_meet_their_order_conditions():
    lower = B5 - np.array(E)
    for k in range(5):
        assert B5 @ C**k == pytest.approx(1 / (k + 1), rel=1e-14)
    for k in range(4):
        assert lower @ C**k == pytest.approx(1 / (k + 1), rel=1e-14)
    assert abs(lower @ C**4 - 1 / 5) > 1e-4, "the second one is of order 4 only: that is the error estimate"


def test_the_last_slope_is_the_first_of_the_next_step():
    y, k = step(0.1)
    assert len(k) == 7 and np.array_equal(k[6], Oscillator().f(y, None)[0])


def slope_of_error(error, steps=(0.4, 0.2, 0.1)):
    e = [error(h) for h in steps]
    return np.log2(e[0] / e[1]), np.log2(e[1] / e[2])


def test_a_step_is_of_order_five_and_its_estimate_of_order_four():
    for order in slope_of_error(lambda h: np.linalg.norm(step(h)[0] - exact(h))):
        assert 5.7 < order < 6.5
    for order in slope_of_error(lambda h: np.linalg.norm(h * np.array(E) @ np.array(step(h)[1]))):
        assert 4.7 < order < 5.5


def test_between_steps_the_interpolant_is_of_order_four():
    y, k = step(0.3)
    np.testing.assert_array_equal(interpolate(START, y, k, 0.3, 0.0), START)
    np.testing.assert_allclose(interpolate(START, y, k, 0.3, 1.0), y, rtol=1e-15)
    assert sum(D) == pytest.approx(0.0, abs=1e-12)
    for part in (0.3, 0.7):
        for order in slope_of_error(
            lambda h, part=part: np.linalg.norm(interpolate(START, *step(h), h, part) - exact(part * h))
        ):
            assert 4.6 < order < 5.6


def test_a_smaller_tolerance_gives_a_smaller_error():
    robot, q, v = started("crank_joint")
    ends, taken = [], []
    for tolerance in (1e-4, 1e-7, 1e-12):
        run = Simulator(robot, 1e-2, integrator="adaptive", tolerance=tolerance).rollout(q, v, steps=30)
        ends.append(run.q[-1])
        taken.append(run.info["steps"][0])
    errors = [np.max(np.abs(x - ends[-1])) for x in ends[:-1]]
    assert errors[1] < 1e-2 * errors[0] and taken[0] < taken[1] < taken[2]


def test_a_step_that_meets_a_singular_configuration_is_tried_with_twelve_other_lengths(monkeypatch):
    lengths = []

    def counted(field, x, slope, u, h, t):
        lengths.append(h)
        return attempt(field, x, slope, u, h, t)

    monkeypatch.setattr(adaptive, "attempt", counted)
    monkeypatch.setattr(adaptive, "is_blind", lambda near, speed, h: len(lengths) <= 26)
    run = Simulator(pendulum(), 1e-3, integrator="adaptive").rollout([0.3], None, steps=1)
    np.testing.assert_allclose(lengths[:13], 1e-3 * 0.77 ** np.arange(13), rtol=1e-12)
    assert lengths[13] > lengths[12] and run.status[0] == Status.RUNNING, "then it is taken all the same"
    np.testing.assert_allclose(lengths[13:26], lengths[13] * 0.77 ** np.arange(13), rtol=1e-12)
    assert len(lengths) == 2 * 12 + run.info["steps"][0]


@pytest.mark.parametrize("tolerance", [1e-10, 1e-12, 1e-13, 1e-14])
def test_rounding_at_a_dead_centre_stops_no_row_however_tight_the_tolerance(tolerance):
    """A four-bar with equal opposite sides passes the place where all bars lie in line at 200 rad/s; energy is kept."""
    robot, torque = kl.robots.load("four_bar"), 1e4
    sim = Simulator(robot, 1e-3, integrator="adaptive", limits=False, tolerance=tolerance)
    for seed in (1, 5, 6):
        q, _ = robot.random_state(seed)
        end = sim.rollout(q, None, [torque], steps=20).final
        gained = robot.kinetic_energy(end.q[0], robot.independent(end.qd[0]))
        gained += robot.potential_energy(end.q[0]) - robot.potential_energy(q)
        assert end.status.tolist() == [Status.RUNNING]
        assert gained == pytest.approx(torque * (end.q[0, 0] - q[0]), rel=4e-8)


def test_records_do_not_change_the_motion():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3, integrator="adaptive")
    dense, sparse = (sim.rollout(q, v, steps=40, every=every) for every in (1, 40))
    assert dense.info == sparse.info, "steps follow the accuracy, not the recorded times"
    np.testing.assert_array_equal(dense.final.q, sparse.final.q)
    np.testing.assert_array_equal(dense.q[-1], sparse.q[-1])


def test_controls_that_change_are_held_between():
    sim = Simulator(pendulum(), 1e-2, integrator="adaptive", tolerance=1e-12)
    u = np.random.default_rng(0).normal(size=(20, 1))
    fine = Simulator(pendulum(), 1e-2, integrator="rk4", substeps=64)
    a, b = (s.rollout(np.zeros(1), np.ones(1), u) for s in (sim, fine))
    assert np.max(np.abs(a.q - b.q)) < 1e-10


def test_rows_that_diverge_stop_and_say_so():
    controls = np.zeros((2, 6, 1))
    controls[1, 2:] = 1e16
    run = Simulator(pendulum(), 1e-3, integrator="adaptive").rollout(np.zeros(1), np.ones(1), controls)
    assert run.status.tolist() == [Status.RUNNING, Status.DIVERGED]
    assert np.all(np.isfinite(run.q)) and run.stopped[1] <= 3e-3


def test_what_it_cannot_do_is_named():
    sim = Simulator(pendulum(), integrator="adaptive")
    with pytest.raises(KinloopError, match="the adaptive integrator has no single step; use rollout"):
        sim.step(sim.state())


def test_progress_is_told():
    told = []
    sim = Simulator(pendulum(), integrator="adaptive")
    sim.rollout(None, None, np.zeros((3, 1)), progress=lambda done, steps: told.append((done, steps)))
    sim.rollout(steps=5, progress=lambda done, steps: told.append((done, steps)))
    assert told == [(1, 3), (2, 3), (3, 3), (5, 5)]


def test_adaptive_agrees_with_fine_fixed_steps():
    robot, q, v = started("rocker_joint")
    fine = Simulator(robot, 1e-4, integrator="rk4").rollout(q, v, steps=5000, every=100)
    sim = Simulator(robot, 1e-2, integrator="adaptive", tolerance=1e-12)
    r = sim.rollout(q, v, steps=50, record=RECORD)
    assert np.max(np.abs(r.q - fine.q)) < 1e-9
    assert np.max(r.loop_error) <= 1e-12
    assert drift(r) < 1e-9
