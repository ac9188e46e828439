"""One watched step: when a row takes it, when it stops, and that it then stays. Integrator and gauge are mocks."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.sim.actuators import make_drive
from kinloop.sim.charts.thresholds import REACH_LIMIT, VOLUME_LIMIT
from kinloop.sim.status import Status
from kinloop.sim.stepper import MAX_SPEED, OPENING, Moved, StepMethod, Stepper, StepState, System
from kinloop.sim.watch import Watch, begin_watch
from tests.sim.mechanisms import pendulum


class Ahead:
    """Moves everything by one, plus the control; the correction and what the gauge reads are given."""

    correction = 0.0

    def prepared(self, system):
        return system

    def memory_size(self, system):
        return 2

    def step(self, system, q, v, qd, memory, u):
        return Moved(q + 1.0, v + u, qd + 1.0, memory + 1.0, self.correction, q, {"seen": np.array([7.0])})


class Gauge:
    """Says what it is told."""

    reach, volume = 1.0, 1.0

    def __call__(self, q):
        return self.reach, self.volume


def stepper(correction=0.0, reach=1.0, volume=1.0):
    robot = pendulum()
    method, gauge = Ahead(), Gauge()
    method.correction, gauge.reach, gauge.volume = correction, reach, volume
    return Stepper(System(robot.tree, make_drive(robot.tree, None), None, 1e-3), method, gauge)


def call(made, u=0.5, until=10.0, **watch):
    first = Watch.of(begin_watch(1)[0])._replace(**watch)
    state = StepState(np.array([0.1]), np.array([0.2]), np.array([0.3]), first.vector(), np.array([0.4, 0.5]))
    out = made(*state, np.array([u]), np.array([until]))
    return out, Watch.of(out["watch_next"])


def stayed(out):
    return [float(out[f"{name}_next"][0]) for name in ("q", "v", "qd", "memory")] == [0.1, 0.2, 0.3, 0.4]


def test_a_running_row_takes_the_step():
    out, watch = call(stepper())
    assert out["q_next"] == [1.1] and out["v_next"] == [0.7] and out["qd_next"] == [1.3]
    assert out["memory_next"].tolist() == [1.4, 1.5] and out["seen"].tolist() == [7.0]
    assert out["q_seen"] == out["q_next"] and out["v_seen"] == out["v_next"]
    assert watch.status == Status.RUNNING and watch.steps == 1.0


@pytest.mark.parametrize(
    ("options", "u", "status"),
    [
        ({"reach": REACH_LIMIT * 1.01}, 0.5, Status.CHART),
        ({"volume": VOLUME_LIMIT * 0.99}, 0.5, Status.CHART),
        ({"correction": 2 * OPENING}, 0.5, Status.OPEN),
        ({"correction": np.nan}, 0.5, Status.OPEN),
        ({}, 2 * MAX_SPEED, Status.DIVERGED),
        ({}, np.nan, Status.DIVERGED),
        ({"correction": 1.0}, np.inf, Status.DIVERGED),
        ({"reach": 1e9, "correction": 1.0}, np.inf, Status.CHART),
        ({"reach": np.nan}, 0.5, Status.CHART),
    ],
)
def test_a_row_stops_before_a_step_that_it_cannot_take(options, u, status):
    out, watch = call(stepper(**options), u)
    assert watch.status == status and watch.steps == 0.0 and stayed(out)


@pytest.mark.parametrize("status", [Status.CHART, Status.OPEN, Status.DIVERGED])
def test_a_stopped_row_stays_as_it_is(status):
    out, watch = call(stepper(volume=0.5), status=float(status), steps=3.0)
    assert watch.status == status and watch.steps == 3.0 and stayed(out)
    assert watch.lowest_volume == 1.0, "what it would have met does not count"


def test_a_row_that_has_come_far_enough_waits():
    out, watch = call(stepper(), until=4.0, steps=4.0)
    assert watch.status == Status.RUNNING and watch.steps == 4.0 and stayed(out)
    assert call(stepper(), until=4.0, steps=3.0)[1].steps == 4.0


def test_the_lowest_volume_only_falls():
    assert call(stepper(volume=0.4))[1].lowest_volume == 0.4
    assert call(stepper(volume=0.4), lowest_volume=0.3)[1].lowest_volume == 0.3
    stopped = call(stepper(volume=0.05))[1]
    assert stopped.status == Status.CHART and stopped.lowest_volume == 0.05


def test_widened_limits_bear_more_and_return_in_good_configurations():
    wide = {"reach_limit": 50.0, "volume_limit": 1e-3}
    bad = call(stepper(reach=20.0, volume=0.01), **wide)[1]
    assert bad.status == Status.RUNNING and (bad.reach_limit, bad.volume_limit) == (50.0, 1e-3)
    good = call(stepper(), **wide)[1]
    assert (good.reach_limit, good.volume_limit) == (REACH_LIMIT, VOLUME_LIMIT)


def test_symbols_give_what_numbers_give():
    made = stepper(volume=0.5)
    sizes = made.inputs()
    assert sizes == {"q": 1, "v": 1, "qd": 1, "watch": 5, "memory": 2, "u": 1, "until": 1}
    traced = sc.trace(made, sizes)
    rng = np.random.default_rng(0)
    for steps in (0.0, 9.0, 10.0):
        watch = Watch(1.0, steps, 0.7, 5.0, 0.1).vector()
        given = [rng.normal(size=n) for n in sizes.values()]
        given[3], given[6] = watch, np.array([10.0])
        for name, x in zip(traced.outputs, traced(*given), strict=True):
            np.testing.assert_array_equal(np.asarray(x, dtype=float), made(*given)[name])


def test_states_of_rows_are_taken_and_put_back():
    state = StepState(*(np.arange(6.0).reshape(3, 2) + 10 * k for k in range(5)))
    picked = state.at(np.array([2, 0]))
    assert np.array_equal(picked.qd, [[24.0, 25.0], [20.0, 21.0]])
    state.put(np.array([1, 2]), picked)
    assert np.array_equal(state.memory, [[40.0, 41.0], [44.0, 45.0], [40.0, 41.0]])


def test_integrators_with_steps_are_told_from_others():
    assert isinstance(Ahead(), StepMethod) and not isinstance(Gauge(), StepMethod)
