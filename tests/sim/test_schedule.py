"""Rollouts end at a time and are recorded at times, whatever the step length; what is recorded moves nothing."""

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.errors import KinloopError
from kinloop.sim import ContactPoint, ExternalForce, Plane, Simulator, load
from kinloop.sim.schedule import Span, even, scheduled, span_of
from tests.sim.mechanisms import crank_rocker, free_box, pendulum, started

TIMES = np.array([0.0, 0.0004, 0.001, 0.00233, 0.00266, 0.003, 0.0057, 0.01, 0.01199])

INTEGRATORS = ("semi_implicit", "rk4", "adaptive")


@pytest.fixture(scope="module")
def linkage():
    return started("crank_joint", speed=15.0)


@pytest.mark.parametrize(("integrator", "error"), [("semi_implicit", 2e-8), ("rk4", 1e-10), ("adaptive", 1e-9)])
def test_what_is_recorded_at_times_is_what_a_reference_has_there(linkage, integrator, error):
    robot, q, v = linkage
    run = Simulator(robot, 1e-3, integrator=integrator).rollout(q, v, times=TIMES)
    np.testing.assert_array_equal(run.t, TIMES)
    np.testing.assert_array_equal(run.q[0], q)
    reference = Simulator(robot, 1.0, integrator="adaptive", tolerance=1e-12)
    for t, x, xd in zip(TIMES[1:], run.q[1:], run.v[1:], strict=True):
        end = reference.rollout(q, v, until=t, every=1).final
        assert end.t[0] == pytest.approx(t, abs=1e-15)
        np.testing.assert_allclose(x, end.q[0], atol=error)
        np.testing.assert_allclose(xd, reference.velocities(end)[0], atol=2e4 * error)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_looking_on_changes_nothing(linkage, integrator):
    robot, q, v = linkage
    sim = Simulator(robot, 1e-3, integrator=integrator)
    plain, seen = sim.rollout(q, v, until=TIMES[-1]), sim.rollout(q, v, times=TIMES)
    np.testing.assert_array_equal(plain.final.q, seen.final.q)
    np.testing.assert_array_equal(plain.final.memory, seen.final.memory)
    on = np.flatnonzero(np.isin(TIMES, plain.t))
    assert len(on) >= 3
    np.testing.assert_array_equal(seen.q[on], plain.q[np.searchsorted(plain.t, TIMES[on])])
    assert plain.final.t[0] == TIMES[-1] and len(plain.t) == 12


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_until_is_as_many_steps_and_a_shorter_one(integrator):
    sim = Simulator(pendulum(), 1e-2, integrator=integrator)
    whole, counted = sim.rollout([0.5], until=0.3), sim.rollout([0.5], steps=30)
    np.testing.assert_array_equal(whole.q, counted.q)
    np.testing.assert_array_equal(whole.t, counted.t)
    longer = sim.rollout([0.5], until=0.3025)
    np.testing.assert_array_equal(longer.q[:-1], counted.q)
    assert longer.t[-1] == longer.final.t[0] == 0.3025
    on = sim.rollout(state=longer.final, until=0.5)
    np.testing.assert_allclose(on.t[[0, -1]], [0.3125, 0.5])
    np.testing.assert_allclose(on.q[0, -1], sim.rollout([0.5], until=0.5).q[-1], atol=1e-5)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("every", [1, 2, 3, 7, 23, 40])
def test_every_is_any_number_of_steps(integrator, every):
    sim = Simulator(pendulum(), 1e-2, integrator=integrator)
    begin = sim.state([[0.5], [-0.2]], [[12.0], [1.0]])  # one row is too fast for whole steps
    all_of_it = sim.rollout(state=begin, steps=23)
    some = sim.rollout(state=begin, steps=23, every=every)
    np.testing.assert_array_equal(some.q, all_of_it.q[:, every - 1 :: every])
    np.testing.assert_array_equal(some.t, all_of_it.t[every - 1 :: every])
    with_start = sim.rollout(state=begin, steps=23, every=every, record_start=True)
    np.testing.assert_array_equal(with_start.q[:, 1:], some.q)
    np.testing.assert_array_equal(with_start.q[:, 0], begin.q)
    np.testing.assert_array_equal(with_start.t, [0.0, *some.t])


def test_rows_at_times_are_those_of_a_batch_even_in_parts():
    robot, q, v = started("crank_joint", speed=150.0)  # in parts
    sim = Simulator(robot, 1e-3)
    rows = sim.rollout(
        np.tile(q, (3, 1)), v * np.array([[1.0], [0.1], [0.8]]), times=TIMES, record=["q", "v", "energy"]
    )
    assert rows.substeps[0] > 0 and rows.substeps[1] == 0
    for k, part in enumerate((1.0, 0.1, 0.8)):
        alone = sim.rollout(q, part * v, times=TIMES, record=["q", "v", "energy"])
        np.testing.assert_array_equal(alone.q, rows.q[k])
        np.testing.assert_array_equal(alone.energy, rows.energy[k])


def test_contact_is_recorded_between_steps():
    robot, q = free_box(), free_box().neutral()
    q[2] = 0.3
    points = [ContactPoint("box", (0.0, 0.0, -0.05))]
    sim = Simulator(robot, 1e-2, ground=Plane(), contacts=points)
    times = np.array([0.0, 0.104, 0.3, 0.655])
    run = sim.rollout(q, None, times=times, record=["gap", "contact_force", "q"])
    assert np.isnan(run.gap[0]).all() and np.isnan(run.contact_force[0]).all()
    np.testing.assert_allclose(run.q[1, 2], 0.3 - 0.5 * 9.81 * 0.104**2, atol=1e-9)
    np.testing.assert_allclose(run.contact_force[[1, 3], 0, 2], [0.0, 2.0 * 9.81], atol=0.3)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("rows", [1, 2])
def test_control_functions_get_the_time_of_the_state(integrator, rows):
    sim = Simulator(pendulum(), 1e-2, integrator=integrator)
    asked = []

    def control(t, state):
        asked.append(t)
        assert np.all(state.t == t)
        return [np.sin(t)]

    begin = sim.state(np.full((rows, 1), 0.1), t=0.7)
    run = sim.rollout(state=begin, controls=control, times=[0.705, 0.72, 0.7351])
    np.testing.assert_allclose(asked, [0.7, 0.71, 0.72, 0.73])
    table = sim.rollout(state=begin, controls=np.sin(asked)[:, None], times=[0.705, 0.72, 0.7351])
    np.testing.assert_array_equal(run.q, table.q)
    assert run.final.t.tolist() == [0.7351] * rows


def test_a_row_that_stops_stays_where_it_was_at_later_times():
    robot = crank_rocker()
    sim = Simulator(robot, 1e-3, integrator="adaptive")
    q = robot.neutral()
    run = sim.rollout(q, [1e9], times=[0.0005, 0.002, 0.0031])
    assert run.status[0] != 1 and run.stopped[0] == run.final.t[0] < 0.0031
    np.testing.assert_array_equal(run.q[-1], run.final.q[0])


def test_rollouts_at_times_are_saved(tmp_path):
    run = Simulator(pendulum(), 1e-2).rollout([0.3], times=[0.0, 0.013, 0.5])
    again = load(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.t, run.t)
    np.testing.assert_array_equal(again.q, run.q)


def test_spans_and_stretches():
    state = Simulator(pendulum(), 0.1).state()
    assert span_of(state, 0.1, None, 0.3, None) == Span(3) and span_of(state, 0.1, 3, None, None) is None
    steps, rest = span_of(state, 0.1, None, None, [0.1, 0.25])
    assert steps == 2 and rest == pytest.approx(0.05)
    assert list(even(10, 3, 0.1).chunks(4)) == [(0, 3), (3, 3), (6, 3), (9, 1)]
    assert list(even(4, 1, 0.1, rest=0.05).chunks(100)) == [(0, 4), (4, 1)]
    schedule = scheduled(state, 0.1, Span(5), [0.1, 0.25, 0.5], 1, False)
    assert list(schedule.chunks(100)) == [(0, 1), (1, 1), (2, 3)]
    assert scheduled(state, 0.1, Span(5), [0.1], 1, True).due.tolist() == [0, 1]


def test_mistakes_are_named():
    sim = Simulator(pendulum(), 1e-2)
    late = sim.state([[0.1], [0.2]], t=[0.0, 1.0])
    for given, words in (
        ({"until": 0.0}, "until must lie after 0 s, when the rollout begins, received 0 s"),
        ({"until": 1.0, "steps": 3}, "takes steps= or until=, not both"),
        ({"times": [0.2, 0.1]}, "times must be a list of increasing times"),
        ({"times": [-0.2, 0.1]}, "none before the beginning at 0 s"),
        ({"times": []}, "times must be a list of increasing times"),
        ({"times": [0.1], "every": 2}, "recorded at times= or every so many steps, not both"),
        ({"times": [0.1], "steps": 3}, "times go on to 0.1 s, beyond the end of the rollout"),
        ({"until": 1.0, "state": late}, "until needs rows that begin at the same time"),
        ({"until": 0.055, "controls": np.zeros((5, 1))}, "controls have 5 steps, 6 are asked for"),
    ):
        with pytest.raises(KinloopError, match=words):
            sim.rollout(**given)


def test_a_row_in_contact_that_stops_is_recorded_as_it_was_at_later_times():
    boom = ExternalForce("box", lambda s: [0.0, 0.0, 0.0, 0.0, 0.0, sc.where(s.t > 0.0205, 1e30, 0.0)])
    q = free_box().neutral()
    q[2] = 0.2
    points = [ContactPoint("box", (0.0, 0.0, -0.05))]
    sim = Simulator(free_box(), 1e-3, ground=Plane(), contacts=points, forces=[boom])
    run = sim.rollout(q, None, times=[0.0104, 0.02, 0.0213, 0.03, 0.0333], record=["q", "gap", "contact_force"])
    assert run.status[0] != 1 and run.stopped[0] == run.final.t[0] == pytest.approx(0.021)
    np.testing.assert_array_equal(run.q[2:], np.tile(run.final.q, (3, 1)))
    np.testing.assert_array_equal(run.gap[1:, 0], run.gap[1, 0])
    assert not run.contact_force.any()
