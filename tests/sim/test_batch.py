"""Batch rows on their way: none sees another, and steps that are too long for a row are taken in parts."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import NonFiniteInput
from kinloop.sim import Simulator, Status
from kinloop.sim import batch as batch_module
from kinloop.sim.reasons import judge
from kinloop.sim.recorder import Recorder, RecordPlan
from kinloop.sim.status import Fault
from kinloop.sim.stepper import LARGEST_TURN
from tests.sim.mechanisms import pendulum, started


def swinging(rows=3):
    robot, q, v = started("rocker_joint")
    sim = Simulator(robot, 1e-3)
    return sim, sim.state(q, v * np.linspace(0.4, 1.0, rows)[:, None])


def silent(sim, steps, rows):
    plan = RecordPlan(sim, ())
    return Recorder(plan, plan.even(1, steps), rows)


def test_a_batch_that_has_not_moved_reads_as_it_began():
    sim, state = swinging()
    batch = sim.batch(state)
    again = batch.read()
    np.testing.assert_allclose(again.qd, state.qd, rtol=1e-13)
    assert np.array_equal(again.q, state.q) and np.array_equal(again.t, state.t) and np.all(again.ok)
    assert len(batch) == 3 and batch.nu == sim.nu and batch.dt == sim.dt
    batch.state.q[:] = 0.0
    assert np.any(state.q), "the state it began with is its own"


def test_steps_may_be_taken_in_any_portions():
    sim, state = swinging()
    u = np.zeros((3, 1, sim.nu))
    ends = []
    for cuts in ([120], [50, 70], [1, 118, 1]):
        batch, done = sim.batch(state), 0
        for n in cuts:
            batch.advance(u, done, n, silent(sim, 120, 3), None)
            done += n
        assert np.all(batch.watch.steps == 120.0)
        ends.append(batch.read())
    for end in ends[1:]:
        for a, b in zip(end.arrays(), ends[0].arrays(), strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_that_go_in_parts_do_so_in_any_portions():
    robot, q, v = started("crank_joint", 200.0)
    sim = Simulator(robot, 1e-3)
    state, u = sim.state(q, v * np.array([[1.0], [0.05]])), np.zeros((2, 1, sim.nu))
    ends = []
    for cuts in ([40], [1, 38, 1], [13, 27]):
        batch, done = sim.batch(state), 0
        for n in cuts:
            batch.advance(u, done, n, silent(sim, 40, 2), None)
            done += n
        assert batch.substeps[0] > 100 and batch.substeps[1] == 0
        ends.append(batch.read())
    for end in ends[1:]:
        for a, b in zip(end.arrays(), ends[0].arrays(), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_row_that_stopped_before_stays_stopped():
    sim = Simulator(pendulum(), 1e-3)
    state = sim.state(np.zeros((2, 1)), np.ones((2, 1)))
    state.status[1] = Status.OPEN
    batch = sim.batch(state)
    batch.advance(np.zeros((2, 1, 1)), 0, 10, silent(sim, 10, 2), None)
    end = batch.read()
    assert end.ok.tolist() == [True, False] and batch.watch.steps.tolist() == [10.0, 0.0]
    assert end.q[1] == 0.0 and end.q[0] != 0.0
    assert end.status.tolist() == [Status.RUNNING, Status.OPEN], "for the reason for which it stopped"
    assert batch.reasons == ["", "had stopped at t = 0 s, before this rollout began"]


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(threads):
    sim, state = swinging(5)
    run = sim.rollout(state=state, steps=60, threads=threads)
    np.testing.assert_array_equal(run.q, sim.rollout(state=state, steps=60).q)


def test_batch_rows_are_bitwise_those_of_single_runs():
    robot, q, v = started("rocker_joint")
    sim = Simulator(robot, 1e-3, integrator="rk4")
    speeds = v * np.linspace(0.3, 1.5, 7)[:, None]
    batch = sim.rollout(q, speeds, steps=400, record=("q", "v", "qd"))
    for k in range(len(speeds)):
        one = sim.rollout(q, speeds[k], steps=400, record=("q", "v", "qd"))
        for name in ("q", "v", "qd"):
            assert np.array_equal(batch[name][k], one[name])
        assert np.array_equal(batch.final.q[k], one.final.q[0])


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_begin_find_their_past_before_they_step(threads):
    """In the thread that takes their steps, under their first controls; rows that are too fast for a past have none."""
    robot, q, v = started("rocker_joint")
    sim = Simulator(robot, 1e-3)
    state = sim.state(q, v * np.where(np.arange(20) % 7 == 3, 100.0, 0.5)[:, None])
    u = np.random.default_rng(0).normal(size=(20, 3, sim.nu))
    together = sim.rollout(state=state, controls=u, steps=3, threads=threads).final
    lost = sim.engine.start(state.q, state.qd, u[:, 0], np.full((20, 1), sim.dt))[1][:, 0]
    assert lost.tolist() == [float(k % 7 == 3) for k in range(20)]
    places = sim.engine.places(20)
    for name, x in (("q", state.q), ("qd", state.qd), ("u", u[:, 0]), ("h", sim.dt), ("memory", 7.0)):
        places.stepping.arrays[name][:] = x
    assert sim.engine.remembering(places)(0, 20) == -1
    assert np.array_equal(np.any(places.state.memory, axis=1), lost == 0.0)
    for k in range(20):
        alone = sim.rollout(state=sim.state(state.q[k], qd=state.qd[k]), controls=u[[k]], steps=3).final
        for a, b in zip(alone.arrays(), together.arrays(), strict=True):
            assert a.tobytes() == b[[k]].tobytes()


def test_a_row_that_is_no_number_is_named_whoever_finds_it():
    sim, state = swinging(40)
    state.q[17, 1] = state.q[33, 0] = np.nan
    for threads in (1, 2, 3):
        with pytest.raises(NonFiniteInput, match="is nan at index 1 in row 17"):
            sim.rollout(state=state, steps=5, threads=threads)
    state.q[:] = sim.robot.close(sim.robot.neutral())
    assert sim.rollout(state=state, steps=5, threads=2).final.ok.all(), "the simulator goes on"


def test_a_diverged_row_is_frozen_and_touches_no_other():
    robot = pendulum()
    sim = Simulator(robot, 1e-3)
    controls = np.zeros((3, 50, 1))
    controls[1, 20:] = 1e12
    r = sim.rollout(np.zeros((3, 1)), np.ones((3, 1)), controls)
    alone = sim.rollout(np.zeros(1), np.ones(1), controls[0])
    assert r.status.tolist() == [1, 4, 1]
    assert np.array_equal(r.q[0], alone.q) and np.array_equal(r.q[2], alone.q)
    assert np.all(np.isfinite(r.q[1])) and np.all(r.q[1, 25:] == r.q[1, -1])
    assert r.stopped[1] < 0.03 and np.isinf(r.stopped[0])


def test_a_row_that_stops_tells_its_judge_what_was_tried(monkeypatch):
    """The last good state, and the length of the shortest steps: 1.6 times as many parts each time, from 8 on."""
    seen = []
    monkeypatch.setattr(batch_module, "judge", lambda engine, stop: seen.append(stop) or judge(engine, stop))
    sim = Simulator(pendulum(), 1e-3)
    run = sim.rollout(np.array([0.3]), None, [1e14], steps=3)
    (stop,) = seen
    parts = 8
    while parts <= 2**15:
        parts = int(np.ceil(1.6 * parts))
    assert stop.h == sim.dt / parts and stop.tried == f"with the step in {parts:,} parts"
    assert stop.q == [0.3] and stop.qd == [0.0] and stop.fault in (Fault.FAST, Fault.BEYOND)
    assert run.status.tolist() == [Status.DIVERGED]


def pushed(name, torque, integrator, dt=1e-3, steps=20, seed=1, **options):
    """A robot of the zoo, at rest, under a constant torque on its first coordinate."""
    robot = kl.robots.load(name)
    q, _ = robot.random_state(seed)
    sim = Simulator(robot, dt, integrator=integrator, limits=False, **options)
    u = np.zeros(sim.nu)
    u[0] = torque
    return q, sim.rollout(q, None, u, steps=steps, record=("q", "loop_error"))


@pytest.mark.parametrize(("name", "torque"), [("slider_crank", 3e3), ("rssr", 1e3), ("four_bar", 1e4)])
def test_steps_that_are_too_long_are_taken_in_parts(name, torque):
    q, exact = pushed(name, torque, "adaptive", tolerance=1e-12)
    path = np.max(np.abs(exact.q - q))
    assert path > 1.0, "this is no small motion"
    for integrator, bound in (("semi_implicit", 1e-3), ("rk4", 1e-7)):
        _, run = pushed(name, torque, integrator)
        assert run.status.tolist() == [1] and run.substeps[0] > 20
        assert np.max(np.abs(run.q - exact.q)) < bound * max(path, 1.0), integrator
        assert np.max(run.loop_error) < 1e-12
    assert exact.substeps.tolist() == [0]


def test_parts_are_counted_and_long_steps_come_back():
    """A row that is braked again takes whole steps again."""
    robot, q, v = started("crank_joint", 10.0)
    sim = Simulator(robot, 1e-3)
    u = np.zeros((1, 330, 1))
    u[:, 20:40], u[:, 40:60] = 600.0, -600.0
    run = sim.rollout(state=sim.state(q, v), controls=u, record=("q", "v"))
    fast = np.max(np.abs(run.v)) * 1e-3
    assert fast > LARGEST_TURN and run.status.tolist() == [1] and 100 < run.substeps[0] < 30_000
    assert run.final.pace[0].tolist() == [1, 0], "whole steps again"
    calm = sim.rollout(state=sim.state(q, v), steps=300)
    assert calm.substeps.tolist() == [0]


def test_rows_in_parts_are_bitwise_those_of_single_runs_however_they_are_asked_for():
    """Rows that hurry at different times are in parts together, some settled and some not; controls change or not."""
    robot, q, v = started("crank_joint", 10.0)
    sim = Simulator(robot, 1e-3)
    u = np.zeros((4, 90, 1))
    for k, start in enumerate((10, 13, 19, 40)):
        u[k, start : start + 12] = 500.0
        u[k, start + 12 : start + 24] = -500.0
    state = sim.state(q, v * np.ones((4, 1)))
    many = sim.rollout(state=state, controls=u, record=("q", "qd"))
    assert np.all(many.substeps > 50) and many.status.tolist() == [1] * 4
    asked = sim.rollout(state=state, controls=lambda t, s: u[:, min(89, round(float(t) / sim.dt))], steps=90)
    for k in range(4):
        one = sim.rollout(state=sim.state(q, v), controls=u[[k]], record=("q", "qd"))
        for found in (many.q[k], asked.q[k]):
            np.testing.assert_array_equal(found, one.q[0])
        np.testing.assert_array_equal(many.final.memory[k], one.final.memory[0])
        assert many.substeps[k] == one.substeps[0] == asked.substeps[k]


def test_a_row_in_parts_touches_no_other():
    robot, q, v = started("crank_joint", 10.0)
    sim = Simulator(robot, 1e-3)
    u = np.zeros((3, 60, 1))
    u[1, 20:] = 400.0
    many = sim.rollout(state=sim.state(q, v * np.ones((3, 1))), controls=u)
    assert many.substeps[1] > 100 and many.substeps[[0, 2]].tolist() == [0, 0]
    for k in range(3):
        one = sim.rollout(state=sim.state(q, v), controls=u[[k]])
        np.testing.assert_array_equal(many.q[k], one.q[0])
