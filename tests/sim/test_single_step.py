"""Single steps and control functions of one row: the same as rollouts of tables, with little around the kernel."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kinloop.errors import KinloopError
from kinloop.sim import Plane, Simulator, Status
from kinloop.sim.batch import Batch
from kinloop.sim.recorder import AT_ONCE, DERIVED
from kinloop.sim.single_step import SingleStep
from tests.sim.mechanisms import box_on, level, pendulum, started


def same(a, b, names):
    for name in names:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    for x, y in zip(a.final.arrays(), b.final.arrays(), strict=True):
        np.testing.assert_array_equal(x, y)
    for name in ("t", "status", "stopped", "substeps", "singular", "nearest"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.reasons == b.reasons and a.peaks.keys() == b.peaks.keys() and a.final.h == b.final.h
    for name, peak in a.peaks.items():
        np.testing.assert_array_equal(peak, b.peaks[name], err_msg=name)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize(("integrator", "monitor"), [("semi_implicit", True), ("semi_implicit", False), ("rk4", None)])
def test_a_function_of_one_row_is_a_table_that_is_made_on_the_way(integrator, monitor, every):
    robot, q, v = started("rocker_joint")
    sim = Simulator(robot, 1e-3, integrator=integrator, monitor=monitor)
    u = np.sin(np.arange(40.0))[:, None]
    table = sim.rollout(q, v, u, record=DERIVED, every=every)
    asked = sim.rollout(q, v, lambda t, state: u[round(t / 1e-3)], steps=40, record=DERIVED, every=every)
    same(asked, table, DERIVED)


def test_records_of_contact_are_the_same(monkeypatch):
    sim = box_on(Plane())
    calls = []
    advance = Batch.advance
    monkeypatch.setattr(Batch, "advance", lambda *given: calls.append(given[2]) or advance(*given))
    v = np.array([0.3, -2.0, 0.1, 0.0, 0.0, -2.0])
    names = (*sim.contact.records, "q", "energy")
    table = sim.rollout(level(0.1), v, steps=120, record=names)
    assert calls == [0]
    asked = sim.rollout(level(0.1), v, lambda t, s: np.zeros(sim.nu), steps=120, record=names)
    assert calls == [0, 0], "only the first step goes the long way"
    same(asked, table, names)


def test_rows_that_need_parts_or_stop_are_brought_there():
    robot, q, v = started("crank_joint", 90.0)
    sim = Simulator(robot, 1e-3)
    push = np.zeros((60, 1))
    push[20:] = 500.0
    table = sim.rollout(q, v, push)
    asked = sim.rollout(q, v, lambda t, s: push[round(t / 1e-3)], steps=60)
    assert table.substeps[0] > 0, "it goes in parts"
    same(asked, table, ("q", "v"))
    sim = Simulator(pendulum(), 1e-3)
    push = np.zeros((20, 1))
    push[7:] = 1e12
    table, asked = sim.rollout(np.zeros(1), np.ones(1), push), sim.rollout(
        np.zeros(1), np.ones(1), lambda t, s: push[round(t / 1e-3)], steps=20
    )  # fmt: skip
    assert asked.status[0] == Status.DIVERGED
    same(asked, table, ("q", "v"))


def test_many_steps_of_a_function_are_recorded_whatever_it_writes_into_its_states():
    sim = box_on(Plane())
    names = (*sim.contact.records, "q", "v")

    def spoil(t, state):
        for x in state.arrays()[:3]:
            x[:] = np.nan
        return np.zeros((1, sim.nu))

    for every in (1, 7):
        table = sim.rollout(level(0.05), steps=2 * AT_ONCE + 30, record=names, every=every)
        asked = sim.rollout(level(0.05), None, spoil, steps=2 * AT_ONCE + 30, record=names, every=every)
        same(asked, table, names)


def test_states_that_a_function_saw_are_its_own():
    sim, seen = Simulator(pendulum(), 1e-2), []
    run = sim.rollout(np.array([0.5]), None, lambda t, s: seen.append(s) or np.zeros(1), steps=8)
    assert [s.q[0, 0] for s in seen[1:]] == run.q[:-1, 0].tolist()
    assert [s.t[0] for s in seen] == [k * 1e-2 for k in range(8)]
    again = sim.rollout(state=seen[3], steps=5)
    np.testing.assert_array_equal(again.q[0], run.q[3:], err_msg="a run may begin anew at each of them")


def test_a_step_goes_the_short_way_and_says_what_is_wrong(monkeypatch):
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3)
    first = sim.step(sim.state(q, v), np.zeros(1))
    monkeypatch.setattr(Batch, "advance", None)  # the long way would fail
    second = sim.step(first, np.ones(1))
    np.testing.assert_array_equal(sim.step(first, np.ones((1, 1))).q, second.q)
    kept = [x.copy() for x in second.arrays()]
    third = sim.step(second, np.ones(1))
    monkeypatch.undo()
    for x, y, z in zip(second.arrays(), kept, third.arrays(), strict=True):
        np.testing.assert_array_equal(x, y, err_msg="a step leaves the state before it alone")
        assert x.shape == z.shape and x.dtype == z.dtype
    assert not any(np.shares_memory(x, y) for x in second.arrays()[:3] for y in third.arrays()[:3])
    batch = sim.batch(first)
    table = sim.rollout(state=first, controls=np.ones((1, 1)))
    np.testing.assert_array_equal(second.q, table.final.q)
    np.testing.assert_array_equal(second.memory, table.final.memory)
    assert len(batch) == 1 and second.h == 1e-3 and second.t[0] == table.final.t[0]
    for given in ([1.0], np.ones((1, 1)), np.ones(1, dtype=int), None):
        assert sim.step(first, given).q.shape == (1, robot.nq)
    for wrong, words in (
        (np.array([np.nan]), "u is nan"), (np.ones(2), "u must have shape"), ("x", "real numbers"),
        (np.ones(1) * 1j, "real numbers"), (np.array([1e200]), "up to 1e"),
    ):  # fmt: skip
        with pytest.raises(KinloopError, match=words):
            sim.step(first, wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [(np.array([np.nan]), "u is nan"), (np.ones(2), "u must have shape"), ("x", "real"), (np.array([1e200]), "up to")],
)
def test_what_a_function_says_wrong_is_named_in_every_step(wrong, words):
    sim = Simulator(pendulum(), 1e-2)
    for k in (0, 3):
        with pytest.raises(KinloopError, match=words):
            sim.rollout(np.array([0.5]), None, lambda t, s, k=k: wrong if t > k * 1e-2 - 1e-9 else np.zeros(1), steps=8)


def test_a_simulator_serves_many_threads_at_once():
    sim = box_on(Plane())
    heights = np.linspace(0.05, 0.2, 8)
    names = ("q", "contact_force", "gap")

    def fall(height):
        return sim.rollout(level(height), None, lambda t, s: np.zeros(sim.nu), steps=150, record=names)

    alone = [fall(h) for h in heights]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fall, heights))
    for a, b in zip(together, alone, strict=True):
        same(a, b, names)


def test_a_kernel_that_is_no_step_is_refused():
    robot, *_ = started("crank_joint")
    with pytest.raises(TypeError, match="a step gives"):
        SingleStep(robot.compile("forward_dynamics"))
