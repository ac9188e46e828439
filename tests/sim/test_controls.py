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
    return State(np.arange(rows)[:, None] * 1.0, *(np.zeros((rows, 1)),), np.zeros(rows), np.ones(rows, bool),
                 np.zeros((rows, 0)))  # fmt: skip


@pytest.mark.parametrize(
    ("given", "steps", "rows", "shape", "taken"),
    [
        (None, 7, 1, (1, 1, 2), 7),
        ([1.0, 2.0], 7, 3, (3, 1, 2), 7),
        (np.ones((5, 2)), None, 3, (3, 5, 2), 5),
        (np.ones((5, 2)), 4, 3, (3, 5, 2), 4),
        (np.ones((4, 5, 2)), None, 1, (4, 5, 2), 5),
        (np.ones((4, 1, 2)), 9, 4, (4, 1, 2), 9),
    ],
)
def test_every_form_becomes_a_table_per_row(given, steps, rows, shape, taken):
    u, n, state = as_controls(given, steps, states(rows), NU)
    assert u.shape == shape and n == taken and len(state) == shape[0]
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
    assert np.array_equal(ask(u, 2.0, states(2), NU), [[[0.0, 0.0]], [[2.0, 2.0]]])
    assert ask(lambda t, s: np.ones(NU), 0.0, states(4), NU).shape == (4, 1, NU)
    with pytest.raises(KinloopError, match="u must have shape"):
        ask(lambda t, s: 1.0, 0.0, states(1), NU)


def test_controls_may_be_a_function_of_time_and_state():
    sim = Simulator(pendulum(), 1e-3)
    seen = []

    def control(t, state):
        seen.append(t)
        return -0.1 * state.qd

    r = sim.rollout(np.array([0.5]), None, control, steps=10)
    assert len(seen) == 10 and np.all(np.isfinite(r.q))
