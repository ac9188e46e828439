"""Accelerations of past steps: exact for polynomials, of the stated order in smooth motion, also after a jump."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.sim import Simulator
from kinloop.sim.integrators.history import (
    Past,
    carried_on,
    combine,
    extrapolated,
    known_only,
    over_the_step,
    read_past,
    respaced,
    to_the_middle,
    updated,
    weights,
)
from kinloop.sim.integrators.semi_implicit import order
from tests.sim.mechanisms import pendulum, started


def differences(values):
    """Backward differences at the last of equally spaced values."""
    out, row = [], np.array(values, dtype=float)
    while len(row):
        out.append(row[-1:])
        row = np.diff(row)
    return out


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("start", "end"), [(-0.5, 0.5), (0.5, 1.0), (0.0, 1.0)])
def test_weights_integrate_polynomials_exactly(count, start, end):
    w = weights(count, Fraction(start), Fraction(end))
    for power in range(count):
        d = differences([float(s) ** power for s in range(1 - count, 1)])
        once = (end ** (power + 1) - start ** (power + 1)) / (power + 1)
        moment = (end ** (power + 2) - start ** (power + 2)) / (power + 2)
        assert combine(w.velocity, d)[0] == pytest.approx(once, rel=1e-12, abs=1e-13)
        if power and power == count - 1:
            continue  # positions take one difference less
        assert combine(w.position, d)[0] == pytest.approx(end * once - moment, rel=1e-12, abs=1e-13)


def test_weights_of_a_step_are_those_of_the_midpoint_rule_corrected():
    w = over_the_step(4)
    np.testing.assert_allclose(w.velocity, [1.0, 0.0, 1 / 24, 1 / 24], rtol=1e-15)
    assert w.position[0] == 0.5 and to_the_middle(1).velocity == (0.5,) and to_the_middle(1).position == (0.125,)


def test_differences_follow_a_polynomial():
    def a(s):
        return np.array([1.0 + 2.0 * s - s**2 + 0.5 * s**3])

    d, known = [np.zeros(1)] * 4, 0.0
    for k in range(8):
        d = updated(a(k), d)[:4]
        known = min(known + 1.0, 4.0)
        if k >= 3:
            there = pytest.approx(a(k + 1)[0], rel=1e-12)
            assert extrapolated(d, known)[0] == there, "a cubic is known from four values on"
    assert extrapolated(updated(a(0), d)[:4], 1.0)[0] == a(0)[0], "nothing but the last value is known after a jump"
    assert known_only([1.0, 2.0, 3.0], 2.0) == [1.0, 2.0, 0.0] and known_only([1.0, 2.0], 0.0) == [1.0, 0.0]


def test_where_accelerations_are_lost_those_before_carry_on():
    """On numbers and in a kernel, where some rows are blind and some are not."""

    def choose(a, d, known, blind):
        return {"a": carried_on(a, [d[:2], d[2:4], d[4:]], known[0], blind[0] > 0.5)}

    rng = np.random.default_rng(3)
    a, d, blind = rng.normal(size=(7, 2)), rng.normal(size=(7, 6)), np.array([[0.0], [1.0]] * 3 + [[0.0]])
    known = np.array([3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 3.0])[:, None]
    kernel = compile_function(sc.trace(choose, {"a": 2, "d": 6, "known": 1, "blind": 1}), cache=False)
    for row, found in enumerate(kernel(a, d, known, blind)):
        sums = np.cumsum(d[row].reshape(3, 2), axis=0)[int(known[row, 0]) - 1]
        np.testing.assert_allclose(found, sums if blind[row, 0] else a[row], rtol=1e-14)
        numbers = choose(a[row], d[row], known[row], blind[row])["a"]
        assert numbers.dtype == float
        np.testing.assert_allclose(found, numbers, rtol=1e-14)


def test_a_memory_is_forgotten_where_something_else_was_held():
    held = np.array([1e-3, 0.5])
    past = Past([np.array([1.0, 2.0]), np.array([3.0, 4.0])], 2.0, held, np.array([9.0]))
    again = read_past(past.vector(), 2, 2, held)
    assert again.known == 2.0 and np.array_equal(again.vector(), past.vector())
    for other in ([1e-3, 0.6], [1e-3, np.nan]):
        assert read_past(past.vector(), 2, 2, np.array(other)).known == 0.0


@pytest.mark.parametrize(("since", "ratio"), [(0.5, 0.125), (0.5, 1.6), (1.0, 0.2), (1.0, 1.6)])
def test_a_memory_is_respaced_where_steps_become_shorter_or_longer(since, ratio):
    """A cubic, known at instants of one spacing, is known at those of another."""
    cubic = np.polynomial.Polynomial([0.3, -1.0, 0.7, 0.2])

    def differences(h):
        values = [np.array([cubic(-h * (since + k))]) for k in range(4)]
        return [sum((-1) ** k * comb(j, k) * values[k] for k in range(j + 1)) for j in range(4)]

    past = Past(differences(1.0), 4.0, np.array([1.0, 0.5]), np.array([7.0])).vector()
    fresh, same = np.zeros_like(past), Past(differences(1.0), 4.0, np.array([ratio, 0.5]), np.array([7.0])).vector()
    half = Past([*differences(1.0)[:1], *(np.array([1e6]),) * 3], 1.0, np.array([1.0, 0.5]), np.array([7.0])).vector()
    found = respaced(np.stack([past, fresh, same, half]), 4, 1, ratio, since)
    again = read_past(found[0], 4, 1, np.array([ratio, 0.5]))
    assert again.known == 4.0 and found[0, 5] == ratio and found[0, 6:].tolist() == [0.5, 7.0]
    np.testing.assert_allclose(again.differences, differences(ratio), atol=1e-12)
    assert np.array_equal(found[1:3], [fresh, same]), "rows that begin, and those with steps of this length, stay"
    np.testing.assert_allclose(found[3, :4], [differences(1.0)[0][0], 0, 0, 0], atol=1e-9, err_msg="what is unknown")
    assert respaced(past[None], 4, 1, 2.1, since)[0, 4] == 0.0, "far longer steps begin anew"


def warm(sim, fine, q, qd, u):
    """The state (q, qd) with the memory that exact motion up to it leaves: accelerations at the middles before."""
    h, n = sim.dt, order(sim.engine.system) - 1
    middles = []
    past = fine.state(q, qd=-qd)
    back = fine.rollout(state=past, controls=u, steps=2 * n - 1, record=("q", "qd"))  # in half steps, backwards
    for k in range(n):
        x, xd = back.q[0, 2 * k], -back.qd[0, 2 * k]
        middles.append(np.asarray(fine.engine.rate(x, xd, u)[1]))
    values, d = np.array(middles[::-1]), []
    while len(values):
        d.append(values[-1])
        values = np.diff(values, axis=0)
    state = sim.state(q, qd=qd)
    state.memory[0] = Past(d, float(n), np.array([h, *u]), np.zeros(0)).vector()
    return state


def cases():
    robot, q, v = started("crank_joint", 6.0)
    yield "pendulum", pendulum(), np.array([1.0]), np.array([2.0]), np.array([0.3])
    yield "crank-rocker", robot, q, robot.spanning_velocity(q, v), np.array([0.2])


@pytest.mark.parametrize("case", list(cases()), ids=lambda c: c[0])
def test_smooth_motion_is_of_the_stated_order(case):
    _, robot, q, qd, u = case
    exact = Simulator(robot, 0.16, integrator="adaptive", tolerance=1e-13).rollout(
        state=Simulator(robot).state(q, qd=qd), controls=u, steps=1
    )
    errors = []
    for h in (8e-3, 4e-3) if robot.name == "pendulum" else (2e-3, 1e-3):
        fine = Simulator(robot, 0.5 * h, integrator="adaptive", tolerance=1e-13)
        sim = Simulator(robot, h)
        end = sim.rollout(state=warm(sim, fine, q, qd, u), controls=u, steps=round(0.16 / h)).final
        errors.append(np.max(np.abs(end.q - exact.final.q)))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > order(sim.engine.system) - 0.5), (errors, orders)


@pytest.mark.parametrize("case", list(cases()), ids=lambda c: c[0])
def test_order_is_regained_after_another_control(case):
    """Some steps after a change energy is kept as if nothing had happened."""
    _, robot, q, qd, _ = case
    sim = Simulator(robot, 1e-3)
    u, n = np.zeros((1, 200, sim.nu)), order(sim.engine.system) - 1
    u[:, 50:60] = 0.5
    run = sim.rollout(state=sim.state(q, qd=qd), controls=u, record=("energy", "kinetic_energy"))
    energy = run.energy[0] / np.max(run.kinetic_energy)
    before, after = np.ptp(energy[8:50]), np.ptp(energy[72:])
    assert after < max(20.0 * before, 1e-9) and after < 1e-6
    assert run.final.memory[0, n * len(q)] == n, "all differences are known again"
