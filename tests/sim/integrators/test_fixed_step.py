"""Rollouts in chunks."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.sim import Simulator
from kinloop.sim.integrators import fixed_step
from tests.sim.mechanisms import pendulum


@pytest.mark.parametrize("chunk", [1, 7, 40, 10_000])
def test_chunks_change_nothing(monkeypatch, chunk):
    sim = Simulator(pendulum(damping=0.1), 1e-3)
    u = np.random.default_rng(0).normal(size=(2, 60, 1))
    whole = sim.rollout(np.zeros(1), np.ones(1), u, every=3, record=("q", "v", "energy"))
    monkeypatch.setattr(fixed_step, "CHUNK", chunk)
    parts = sim.rollout(np.zeros(1), np.ones(1), u, every=3, record=("q", "v", "energy"))
    for name, x in whole.arrays().items():
        np.testing.assert_array_equal(parts.arrays()[name], x, err_msg=name)


def test_progress_reaches_the_end():
    seen = []
    sim = Simulator(pendulum(), 1e-3)
    sim.rollout(np.zeros(1), None, steps=700, progress=lambda done, steps: seen.append((done, steps)))
    done = [d for d, _ in seen]
    assert len(seen) > 2 and done == sorted(set(done)) and seen[-1] == (700, 700)


def test_a_control_function_sees_every_state_before_its_step():
    sim = Simulator(pendulum(), 1e-3)
    times, states = [], []

    def control(t, state):
        times.append(t)
        states.append(state.q[:, 0].copy())
        return -2.0 * state.qd

    run = sim.rollout(np.array([[0.1], [0.4]]), None, control, steps=8)
    np.testing.assert_allclose(times, 1e-3 * np.arange(8))
    np.testing.assert_array_equal(np.array(states)[1:].T, run.q[:, :-1, 0])


def test_controls_of_a_function_are_those_of_a_table():
    sim = Simulator(pendulum(), 1e-3)
    u = np.random.default_rng(1).normal(size=(12, 1))
    table = sim.rollout(np.zeros(1), np.ones(1), u)
    asked = sim.rollout(np.zeros(1), np.ones(1), lambda t, s: u[round(t / 1e-3)], steps=12)
    np.testing.assert_array_equal(table.q, asked.q)
