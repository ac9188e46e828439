"""Functions of a task as kernels: what they compute, and what is said of those that cannot be one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import KinloopError, MethodError, ShapeError
from kinloop.learn.learning_task import Start, TaskState, between, plus, times
from kinloop.learn.random_numbers import Draws, streams
from kinloop.learn.task_kernels import Carried, TaskKernels
from kinloop.robot import Robot
from tests.learn.small_tasks import Balancing, Turning, cart


@pytest.fixture(scope="module")
def robot():
    return cart()


def test_kernels_compute_what_the_functions_say(robot):
    task = Balancing(robot, vary=False)
    kernels = TaskKernels(task)
    begin = kernels.start({"stream": streams(range(5))})
    rows = {"q": begin["q_begin"], "qd": begin["v_begin"], "carried": begin["carried"], "numbers": np.zeros((5, 0))}
    rows["action"] = np.linspace(-2, 2, 5)[:, None]
    found = kernels.outcome(rows)
    for k in range(5):
        memory = kernels.carried.memory(kernels.carried.split(begin["carried"][k]))
        action = np.clip(rows["action"][k], -1, 1)
        state = TaskState(robot.tree, rows["q"][k], rows["qd"][k], task.period, (action, np.zeros(1)), memory,
                          np.zeros((0, 3)), {}, Draws(np.ones(6)))  # fmt: skip
        assert found["reward"][k, 0] == pytest.approx(float(task.reward(state)), abs=1e-14)
        state.memory = {**memory, **task.remember(state)}
        np.testing.assert_allclose(found["observation"][k], task.observe(state), atol=1e-14)
        assert found["over"][k].tolist() == [float(task.ended(state)), 0.0]


def test_numbers_vary_as_they_are_told_to():
    draws = Draws(streams([1])[0])
    usual = np.array([2.0, 4.0])
    assert np.all(np.abs(times(0.5, 1.5).drawn(usual, draws) / usual - 1.0) <= 0.5)
    assert np.all(np.abs(plus(-0.1, 0.1).drawn(usual, draws) - usual) <= 0.1)
    assert np.all(np.abs(between(7.0, 8.0).drawn(usual, draws) - 7.5) <= 0.5)


def test_without_a_compiler_the_same_comes_out(robot):
    slow = Balancing(Robot(robot.mechanism, backend="numpy"), vary=False)
    fast, stream = TaskKernels(Balancing(robot, vary=False)), streams([3, 4])
    a, b = fast.start({"stream": stream}), TaskKernels(slow).start({"stream": stream})
    for name in a:
        np.testing.assert_allclose(a[name], b[name], atol=1e-12)


def test_loops_of_a_start_are_closed():
    four_bar = kl.robots.load("four_bar")

    class Seeing(Turning):
        def observe(self, state):
            return np.array([*state.q, state.q_of("joint1"), state.qd_of("joint1"), *state.pose("link2").p])

    kernels = TaskKernels(Seeing(four_bar))
    begin = kernels.start({"stream": streams(range(20))})
    assert four_bar.loop_error(begin["q_begin"]).max() < 1e-12 and np.ptp(begin["q_begin"][:, 0]) > 0.1
    rows = {**begin, "q": begin["q_begin"], "qd": np.zeros((20, four_bar.n_spanning)), "action": np.zeros((20, 1))}
    seen = kernels.observe(rows)["observation"]
    np.testing.assert_allclose(seen[:, -3:], four_bar.frame_pose(begin["q_begin"], "link2")[:, :3, 3], atol=1e-12)


BAD = {
    "observe": [(lambda s: 1.0, ShapeError, "what observe gives must be a vector, received an array of shape ()"),
                (lambda s: [math.sin(s.q[0])], MethodError, "could not be traced on symbols")],
    "reward": [(lambda s: s.q, ShapeError, r"the reward must be one number, received an array of shape (2,)"),
               (lambda s: s.q_of("rial"), KinloopError, "'rial'")],
    "ended": [(lambda s: s.q, ShapeError, "what ended gives must be one number"),
              (lambda s: 1.0 if s.q[0] > 1.0 else 0.0, MethodError, "without math and if")],
    "controls": [(lambda s: s.action, ShapeError, "controls must have shape (2,), received (1,)")],
    "remember": [(lambda s: {"stps": [0.0]}, KinloopError, "'stps'"),
                 (lambda s: {"steps": [0.0, 1.0]}, ShapeError, "'steps' in the task's memory must have shape (1,)")],
}  # fmt: skip


@pytest.mark.parametrize(("name", "call", "kind", "message"), [(n, *case) for n, some in BAD.items() for case in some])
def test_functions_that_cannot_be_a_task_are_refused(robot, name, call, kind, message):
    task = Balancing(robot, vary=False)
    setattr(task, name, call)
    with pytest.raises(kind) as found:
        TaskKernels(task)
    assert message in str(found.value)


def test_names_ranges_and_starts_are_checked(robot):
    task = Balancing(robot)
    task.vary = {**task.vary, "cart.mass": times(1, 2)}
    with pytest.raises(KinloopError, match=r"'cart.mass'.*pole.mass"):
        TaskKernels(task)
    task.vary = {"pole.mass": times(-0.5, 2.0)}
    with pytest.raises(MethodError, match=r"'pole.mass' cannot be -0.1; give numbers that are above zero"):
        TaskKernels(task)
    with pytest.raises(MethodError, match=r"latency \(0.2, 0.1\) is not a range of seconds"):
        TaskKernels(Balancing(robot, latency=(0.2, 0.1)))
    task = Balancing(robot, vary=False)
    task.memory = {"action": 1}
    with pytest.raises(MethodError, match="cannot remember something by the name of 'action'"):
        Carried(task)
    task = Balancing(robot, vary=False)
    task.start = lambda random: Start([0.0])
    with pytest.raises(ShapeError, match=r"the q that start gives must have shape \(2,\), received \(1,\)"):
        TaskKernels(task)
