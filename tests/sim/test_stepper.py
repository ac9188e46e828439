"""One watched step: when a row takes it, when it stops, and that it then stays. The integrator is a mock."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.sim import Motor, Simulator
from kinloop.sim.actuators import make_drive
from kinloop.sim.status import Fault, Status
from kinloop.sim.stepper import LARGEST_TURN, MAX_SPEED, OPENING, Moved, StepMethod, Stepper, StepState, System
from kinloop.sim.watch import PEAKS, Watch
from tests.sim.mechanisms import begin_watch, box_on, crank_rocker, free_box, pendulum

H = 1e-3


class Ahead:
    """Moves everything by one, and the velocity by the control; correction and nearness are given."""

    correction, near, records = 0.0, 1.0, {"seen": np.array([7.0])}

    def memory_size(self, system):
        return 2

    def respaced(self, system, memory, h):
        return memory

    def has_start(self, system):
        return False

    def starting_memory(self, system, q, qd, u, h):
        return np.zeros(2), True

    def step(self, system, q, qd, memory, u, h):
        return Moved(q + 1.0, qd + u, memory + 1.0, self.correction, self.near, 3.0 * h, self.records)


def stepper(correction=0.0, near=1.0, monitor=False):
    robot = pendulum()
    method = Ahead()
    method.correction, method.near = correction, near
    return Stepper(System(robot.tree, make_drive(robot.tree, None), None), method, monitor)


def call(made, u=0.5, until=10.0, qd=0.2, h=H, **watch):
    first = Watch.of(begin_watch(1)[0])._replace(**watch)
    state = StepState(np.array([0.1]), np.array([qd]), first.vector(), np.array([0.4, 0.5]))
    out = made(*state, np.array([u]), np.array([until]), np.array([h]))
    return out, Watch.of(out["watch_next"])


def stayed(out, qd=0.2):
    return [float(out[f"{name}_next"][0]) for name in ("q", "qd", "memory")] == [0.1, qd, 0.4]


def test_a_running_row_takes_the_step():
    out, watch = call(stepper())
    assert out["q_next"] == [1.1] and out["qd_next"] == [0.7]
    assert out["memory_next"].tolist() == [1.4, 1.5] and out["seen"].tolist() == [7.0]
    assert out["q_seen"] == out["q_next"] and out["qd_seen"] == out["qd_next"]
    assert watch.status == Status.RUNNING and watch.steps == 1.0 and watch.work == 0.0
    assert call(stepper(monitor=True))[1].work == 3.0 * H, "who watches energy counts work"


@pytest.mark.parametrize(
    ("options", "u", "fault"),
    [
        ({"correction": 2 * OPENING}, 0.5, Fault.OPEN),
        ({"correction": np.nan}, 0.5, Fault.ROUGH),
        ({"correction": np.inf}, 0.5, Fault.ROUGH),
        ({}, 1.01 * LARGEST_TURN / H, Fault.FAST),
        ({}, -1.01 * LARGEST_TURN / H - 0.4, Fault.FAST),
        ({}, 2 * MAX_SPEED, Fault.BEYOND),
        ({}, np.nan, Fault.BEYOND),
        ({}, np.inf, Fault.BEYOND),
    ],
)
def test_a_row_stops_before_a_step_that_is_too_long_for_it(options, u, fault):
    out, watch = call(stepper(**options), u)
    assert watch.status == Status.TOO_LONG and watch.steps == 0.0 and watch.work == 0.0 and stayed(out)
    assert watch.fault == fault and not any(getattr(watch, name) for name in PEAKS), "it says why, and no more"
    stopped = call(stepper(**options), u, status=float(Status.OPEN))[1]
    assert stopped.fault == 0.0, "what a stopped row does not try, it does not fail in"


def test_a_step_is_good_within_stated_bounds():
    """Loops closed to 1e-14 by the next correction, a tenth of a radian at most, everything below 1e7."""
    for options, u, bound in (({"correction": 1e-7}, 0.0, None), ({}, 0.1 / H, "turn"), ({}, 1e7, "speed")):
        h = 1e-12 if bound == "speed" else H
        for factor, good in ((0.99, True), (1.01, False)):
            tried = {name: factor * x for name, x in options.items()}
            watch = call(stepper(**tried), factor * u, qd=0.0, h=h)[1]
            assert watch.status == (Status.RUNNING if good else Status.TOO_LONG), (bound, factor)


def test_the_largest_values_so_far_are_kept():
    made = stepper()
    assert call(made, u=-0.9)[1].turning == pytest.approx(0.7)
    assert call(made, turning=5.0, loop_error=0.2)[1].turning == 5.0
    contacts = {"contact_force": np.array([[3.0, 0, 1.0], [0, 4.0, -1.0]]), "gap": np.array([-0.02, 0.1]),
                "residual": np.array([0.3]), "iterations": np.array([7.0])}  # fmt: skip
    made.method.records = contacts
    watch = call(made)[1]
    assert (watch.contact_force, watch.penetration, watch.residual) == (5.0, 0.02, 0.3), "of all contacts together"
    watch = call(made, contact_force=6.0, penetration=0.03, residual=0.4, iterations=6.0)[1]
    assert (watch.contact_force, watch.penetration, watch.residual, watch.iterations) == (6.0, 0.03, 0.4, 7.0)
    made.method.records = {**contacts, "gap": np.array([0.1, 0.2])}
    assert call(made)[1].penetration == 0.0


def test_the_largest_loop_error_so_far_is_kept():
    robot = crank_rocker()
    made = Stepper(System(robot.tree, make_drive(robot.tree, None), None), Ahead(), monitor=True)
    q, error = robot.neutral(), float(np.max(robot.loop_error(robot.neutral() + 1.0)))
    assert error > 0.1, "the mock opens the loop"
    for before in (0.0, 2.0 * error):
        first = Watch.of(begin_watch(1)[0])._replace(loop_error=before)
        out = made(q, np.zeros(3), first.vector(), np.zeros(2), np.zeros(3), np.array([9.0]), np.array([H]))
        assert Watch.of(out["watch_next"]).loop_error == pytest.approx(max(before, error), rel=1e-12)


def test_a_row_that_turns_too_fast_gets_shorter_steps():
    fast = 1.01 * LARGEST_TURN / H
    out, watch = call(stepper(), u=fast, qd=0.0)
    assert watch.status == Status.TOO_LONG and stayed(out, 0.0)
    assert call(stepper(), u=fast, qd=0.0, h=0.9 * H)[1].status == Status.RUNNING, "a shorter step will do"
    assert call(stepper(OPENING))[1].status == Status.RUNNING


@pytest.mark.parametrize("status", [Status.TOO_LONG, Status.OPEN, Status.DIVERGED, Status.SINGULAR])
def test_a_stopped_row_stays_as_it_is(status):
    out, watch = call(stepper(near=0.5), status=float(status), steps=3.0)
    assert watch.status == status and watch.steps == 3.0 and stayed(out)
    assert watch.nearest == 1.0 and watch.last == 0.0, "what it would have met does not count"


def test_a_row_that_has_come_far_enough_waits():
    out, watch = call(stepper(), until=4.0, steps=4.0)
    assert watch.status == Status.RUNNING and watch.steps == 4.0 and stayed(out)
    assert call(stepper(), until=4.0, steps=3.0)[1].steps == 4.0


def test_the_smallest_nearness_is_kept_and_the_last_two():
    assert call(stepper(near=0.4))[1].nearest == 0.4
    watch = call(stepper(near=0.4), nearest=0.3, last=0.5, before_last=0.6)[1]
    assert (watch.nearest, watch.last, watch.before_last, watch.passed) == (0.3, 0.4, 0.5, 0.0)


def test_a_passed_singular_configuration_is_remembered():
    through = call(stepper(near=0.05), last=0.05, before_last=0.15)[1]
    assert through.passed == 1.0
    assert call(stepper(near=0.9), passed=1.0)[1].passed == 1.0
    assert call(stepper(near=0.05), last=0.05, before_last=0.15, status=float(Status.OPEN))[1].passed == 0.0


@pytest.mark.parametrize("monitor", [False, True])
def test_symbols_give_what_numbers_give(monitor):
    made = stepper(near=0.5, monitor=monitor)
    sizes = made.inputs()
    assert sizes == {"q": 1, "qd": 1, "watch": len(Watch._fields), "memory": 2, "u": 1, "until": 1, "h": 1}
    traced = sc.trace(made, sizes)
    rng, drawn = np.random.default_rng(0), {**sizes, "watch": sizes["watch"] - 2}
    for steps in (0.0, 9.0, 10.0):
        for h in (H, 1.0):
            watch = np.append(rng.uniform(size=drawn["watch"]), [0.0, 0.0])
            watch[:2] = float(Status.RUNNING), steps
            given = [rng.normal(size=n) for n in drawn.values()]
            given[2], given[5], given[6] = watch, np.array([10.0]), np.array([h])
            for name, x in zip(traced.outputs, traced(*given), strict=True):
                np.testing.assert_array_equal(np.asarray(x, dtype=float), made(*given)[name])


def test_states_of_rows_are_taken_and_put_back():
    state = StepState(*(np.arange(6.0).reshape(3, 2) + 10 * k for k in range(4)))
    picked = state.at(np.array([2, 0]))
    assert np.array_equal(picked.qd, [[14.0, 15.0], [10.0, 11.0]])
    state.put(np.array([1, 2]), picked)
    assert np.array_equal(state.memory, [[30.0, 31.0], [34.0, 35.0], [30.0, 31.0]])


def test_integrators_with_steps_are_told_from_others():
    assert isinstance(Ahead(), StepMethod) and not isinstance(stepper(), StepMethod)


def test_forces_are_smooth_where_controls_alone_act():
    def smooth(robot, **options):
        return Simulator(robot, **options).engine.system.is_smooth

    assert smooth(pendulum()) and smooth(crank_rocker()) and smooth(pendulum(lower=-1.0, upper=1.0))
    assert box_on(None).engine.system.is_smooth
    assert not smooth(pendulum(damping=0.1)) and not smooth(pendulum(stiffness=0.1))
    assert not smooth(pendulum(friction=0.1)) and smooth(pendulum(friction=0.1), limits=False)
    assert not smooth(pendulum(), motors=[Motor("rod_joint", "velocity", kd=1.0)])


def test_turns_are_counted_of_joints_that_turn():
    assert Simulator(crank_rocker()).engine.system.turning == [0, 1, 2]
    assert Simulator(free_box()).engine.system.turning == [0, 1, 2], "translations have no angle"
