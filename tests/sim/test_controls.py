"""What controls a rollout takes."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.errors import KinloopError, MethodError, NonFiniteInput, ShapeError
from kinloop.sim import Simulator, State
from kinloop.sim.controls import as_controls, ask
from tests.sim.mechanisms import pendulum

NU = 2


def states(rows):
    return State(np.arange(rows)[:, None] * 1.0, *(np.zeros((rows, 1)),), np.zeros(rows), np.ones(rows, int),
                 np.zeros((rows, 0)))  # fmt: skip


@pytest.mark.parametrize(
    ("given", "steps", "rows", "shape", "taken"),
    [
        (None, 7, 1, (1, 1, 2), 7),
        ([1.0, 2.0], 7, 3, (1, 1, 2), 7),
        (np.ones((5, 2)), None, 3, (1, 5, 2), 5),
        (np.ones((5, 2)), 4, 3, (1, 5, 2), 4),
        (np.ones((4, 5, 2)), None, 1, (4, 5, 2), 5),
        (np.ones((4, 1, 2)), 9, 4, (4, 1, 2), 9),
    ],
)
def test_every_form_becomes_a_table_for_all_rows_or_for_each(given, steps, rows, shape, taken):
    u, n, state = as_controls(given, steps, states(rows), NU)
    assert u.shape == shape and n == taken and len(state) == max(rows, shape[0])
    assert np.all(u == (0.0 if given is None else np.asarray(given)))


def test_one_state_is_repeated_under_controls_for_many():
    state = as_controls(np.zeros((3, 2, NU)), None, states(2).repeated(1), NU)[2]
    assert np.array_equal(state.q, np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("given", "steps", "rows", "error", "words"),
    [
        (None, None, 1, MethodError, "say how many steps to take"),
        (np.ones((5, 2)), 6, 1, ShapeError, "controls have 5 steps, 6 are asked for"),
        (np.ones((3, 5, 2)), None, 2, ShapeError, "2 states and controls for 3 rows"),
        (np.ones((2, 3, 5, 2)), None, 1, ShapeError, "controls must have shape"),
        (np.ones(3), 1, 1, ShapeError, r"controls must have shape \(2,\)"),
        ([np.nan, 0.0], 1, 1, NonFiniteInput, "controls is nan at index 0"),
        (lambda t, s: [0.0, 0.0], None, 1, MethodError, "a control function needs steps="),
    ],
)
def test_mistakes_are_named(given, steps, rows, error, words):
    with pytest.raises(error, match=words):
        as_controls(given, steps, states(rows), NU)


def test_a_function_stays_a_function_and_its_answer_is_checked():
    def control(t, state):
        return t * state.q * np.ones(NU)

    u, steps, _ = as_controls(control, 3, states(2), NU)
    assert u is control and steps == 3
    assert np.array_equal(ask(u, 2.0, np.zeros(2), states(2), NU), [[[0.0, 0.0]], [[2.0, 2.0]]])
    assert ask(lambda t, s: np.ones(NU), 0.0, np.zeros(4), states(4), NU).shape == (1, 1, NU), "for all"
    with pytest.raises(KinloopError, match="u must have shape"):
        ask(lambda t, s: 1.0, 0.0, np.zeros(1), states(1), NU)


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
def test_a_function_is_asked_at_the_time_of_the_states(integrator):
    sim, seen = Simulator(pendulum(), 1e-2, integrator=integrator), []

    def control(t, state):
        seen.append((t, state.t.copy()))
        return np.cos(40.0 * t) - 0.1 * state.qd

    whole = sim.rollout(np.array([0.5]), None, control, steps=12)
    seen.clear()
    first = sim.rollout(np.array([0.5]), None, control, steps=5)
    rest = sim.rollout(state=first.final, controls=control, steps=7)
    assert all(isinstance(t, float) and t == times[0] for t, times in seen)
    np.testing.assert_allclose([t for t, _ in seen], 1e-2 * np.arange(12), atol=1e-15)
    np.testing.assert_allclose(rest.q[0], whole.q[5:], rtol=0, atol=1e-9, err_msg="as if it had not stopped")
    held = sim.rollout(np.array([0.5]), None, [[np.cos(40.0 * (k * 1e-2))] for k in range(12)])
    free = sim.rollout(np.array([0.5]), None, lambda t, state: [np.cos(40.0 * t)], steps=12)
    np.testing.assert_array_equal(held.q, free.q, err_msg="a function is a table that is made on the way")


@pytest.mark.parametrize("integrator", ["semi_implicit", "adaptive"])
def test_rows_that_began_at_different_times_are_asked_at_theirs(integrator):
    sim, seen = Simulator(pendulum(), 1e-2, integrator=integrator), []

    def control(t, state):
        seen.append(np.array(t))
        return np.asarray(t).reshape(-1, 1) * np.ones((2, 1))

    state = sim.state(np.full((2, 1), 0.5), t=[0.0, 3.0])
    both = sim.rollout(state=state, controls=control, steps=3)
    np.testing.assert_allclose(seen, [[0.0, 3.0], [0.01, 3.01], [0.02, 3.02]])
    alone = sim.rollout(state=sim.state(np.array([0.5]), t=3.0), controls=lambda t, state: [t], steps=3)
    np.testing.assert_array_equal(both.q[1], alone.q[0])


def test_the_time_goes_on_when_a_row_has_stopped():
    sim, seen = Simulator(pendulum(), 1e-2), []

    def control(t, state):
        seen.append(t)
        return np.array([[0.0], [1e12]])

    run = sim.rollout(np.zeros((2, 1)), None, control, steps=4)
    assert run.diverged.tolist() == [False, True] and np.allclose(seen, [0.0, 0.01, 0.02, 0.03])


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
@pytest.mark.parametrize("rows", [1, 2])
def test_what_a_function_writes_into_its_state_moves_nothing(integrator, rows):
    sim = Simulator(pendulum(), 1e-3, integrator=integrator)

    def rude(t, state):
        for x in (state.q, state.qd, state.memory, state.t, state.status, state.pace):
            x[...] = 0
        return np.full((rows, 1), 0.3)

    start = np.full((rows, 1), 0.5)
    want = sim.rollout(start, None, lambda t, state: np.full((rows, 1), 0.3), steps=20)
    found = sim.rollout(start, None, rude, steps=20)
    np.testing.assert_array_equal(found.q, want.q)
    assert np.all(found.status == 1)
