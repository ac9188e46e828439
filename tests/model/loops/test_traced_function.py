"""Functions of joint positions are traced once for the joint types they are used with."""

from __future__ import annotations

import pickle

import numpy as np

import kinloop as kl
from kinloop.model.joints import Prismatic, Revolute
from kinloop.model.loops.traced_function import TracedFunction

CALLS: list[int] = []


def square(x):
    CALLS.append(1)
    return x * x


def test_a_function_is_traced_once_for_its_joint_types():
    f, a, b = TracedFunction(square, "loop 'x'"), (Revolute(),), (Prismatic(),)
    CALLS.clear()
    first = f.derivatives(a)
    assert f.derivatives(a) is first and len(CALLS) == 1
    assert f.derivatives(b) is not first and len(CALLS) == 2
    value, slope, bias = f.derivatives(b)(np.array([3.0]), np.array([2.0]))
    assert (value[0], slope[0, 0], bias[0]) == (9.0, 6.0, 8.0)


def test_a_traced_function_pickles_without_its_trace():
    f = TracedFunction(square, "loop 'x'")
    f.derivatives((Revolute(),))
    again = pickle.loads(pickle.dumps(f))
    assert (again.call, again.what) == (square, "loop 'x'")


def test_robots_with_traced_functions_pickle():
    robot = kl.robots.load("tello")
    q, _ = robot.random_state(0)
    again = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(again.loop_error(q), robot.loop_error(q))


def test_two_robots_of_one_mechanism_share_the_trace():
    m = kl.robots.mechanism("tello")
    first = kl.Robot(m).tree.top
    loop = m.loops[0]
    trace = loop.own_functions(first)[0]
    assert loop.own_functions(kl.Robot(m).tree.top)[0] is trace
