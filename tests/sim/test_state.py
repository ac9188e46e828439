"""Batches of states."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from kinloop.errors import MethodError
from kinloop.sim import Simulator, State
from kinloop.sim.state import Maker
from tests.sim.mechanisms import crank_rocker, pendulum


def two():
    return State(
        np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0], [6.0]]), np.array([0.1, 0.2]), np.array([1, 4]),
        np.array([[7.0], [8.0]]),
    )  # fmt: skip


def test_repeated_is_the_first_row_many_times():
    s = two()
    r = s.repeated(3)
    assert len(s) == 2 and len(r) == 3
    for many, one in zip(r.arrays(), s.arrays(), strict=True):
        assert np.array_equal(many, np.stack([one[0]] * 3))
        many[:] = 0
    assert s.q[0, 0] == 1.0, "copies, not views"


def test_rows_take_whole_steps_unless_it_is_said():
    assert two().pace.tolist() == [[1, 0], [1, 0]]
    for rows in (1, 3):  # said of others
        assert State(*two().arrays()[:5], np.full((rows, 2), 7)).pace.tolist() == [[1, 0], [1, 0]]
    assert State(*two().arrays()[:5], np.full((2, 2), 7)).pace.tolist() == [[7, 7], [7, 7]]
    none = State(np.zeros((0, 2)), np.zeros((0, 1)), np.zeros(0), np.zeros(0, dtype=int), np.zeros((0, 1)))
    assert none.pace.shape == (0, 2) and len(none) == 0


def test_arrays_are_what_is_said_per_row():
    s = two()
    assert [a is b for a, b in zip(s.arrays(), (s.q, s.qd, s.t, s.status, s.memory, s.pace), strict=True)] == [True] * 6


def test_rows_are_well_while_they_run():
    assert two().ok.tolist() == [True, False]
    made = State(*two().arrays(), 1e-3, Maker("robot", "a", "rk4", "b", (0,))).repeated(4)
    assert made.made_by == Maker("robot", "a", "rk4", "b", (0,)) and made.ok.all()


def test_a_state_does_not_change():
    with pytest.raises(FrozenInstanceError):
        two().q = np.zeros((2, 2))


def test_states_and_rollouts_made_in_little_time_have_all_of_their_fields():
    sim = Simulator(pendulum(), 1e-3)
    run = sim.rollout(np.zeros(1), np.ones(1), steps=3)
    for made in (run, run.final, sim.step(run.final, np.zeros(1))):
        assert set(vars(made)) == {f.name for f in fields(made)}
        with pytest.raises(FrozenInstanceError):
            made.t = None


def test_v_is_the_independent_part_of_qd():
    made = State(*two().arrays(), 1e-3, Maker("robot", "a", "rk4", "b", (0,)))
    np.testing.assert_array_equal(made.v, [[5.0], [6.0]])
    with pytest.raises(MethodError, match=r"of no simulator's making; robot\.independent\(state\.qd\) gives its v"):
        two().v  # noqa: B018


def test_v_of_a_state_is_the_v_that_it_began_with():
    sim = Simulator(crank_rocker("rocker_joint"), 1e-3)
    state = sim.state(sim.robot.neutral(), [[0.3], [0.4]])
    np.testing.assert_array_equal(state.v, [[0.3], [0.4]])
    run = sim.rollout(state=state, steps=50)
    np.testing.assert_allclose(run.final.v, run.v[:, -1], rtol=1e-10)
