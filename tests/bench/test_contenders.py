"""Calls of our kernels as they are timed: they compute what the front door computes."""

import numpy as np
import pytest

from kinloop import robots
from kinloop.algorithms.constrained.motion_constraints import Point
from kinloop.bench.contenders import ALL, CALL, ONE, batch_call, one_call, relative_error, robot_call, timed
from kinloop.bench.peers import Peer, make_problem


@pytest.fixture(scope="module")
def problem():
    return make_problem(robots.load("serial_chain", links=6))


@pytest.mark.parametrize("quantity", ["forward_dynamics", "constrained_dynamics"])
def test_one_call_and_a_batch_compute_the_same(problem, quantity):
    held = [Point("tip")] if quantity == "constrained_dynamics" else ()
    kernel = problem.robot.compile(quantity, constraints=held) if held else problem.robot.compile(quantity)
    inputs = [problem.q, problem.v, problem.tau]
    one, many = one_call(kernel, inputs), batch_call(kernel, inputs, 5)
    assert (one.states, many.states) == (1, 5)
    one.call()
    many.call()
    exact = problem.robot.constrained_dynamics(*inputs, held)[0] if held else problem.robot.forward_dynamics(*inputs)
    np.testing.assert_array_equal(one.result(), exact)
    np.testing.assert_array_equal(robot_call(lambda: exact).result(), exact)
    np.testing.assert_array_equal(many.result(), exact)


def test_records_are_per_state(problem, effort):
    kernel, inputs = problem.robot.compile("forward_dynamics"), [problem.q, problem.v, problem.tau]
    exact = problem.robot.forward_dynamics(*inputs, method="dense_kkt")
    for mode, contender in ((CALL, one_call(kernel, inputs)), (ONE, batch_call(kernel, inputs, 512))):
        (record,) = timed("forward dynamics", mode, [contender], exact, effort)
        assert (record["quantity"], record["mode"], record["who"]) == ("forward dynamics", mode, "kinloop")
        assert record["error"] < 1e-12
        assert 0 < record["us"] < 1e4
    (record,) = timed("forward dynamics", ALL, [batch_call(kernel, inputs, 8, None)], None, effort)
    assert record["error"] is None


def test_errors_are_relative_to_the_largest_entry():
    assert relative_error(np.array([1.0, 10.5]), np.array([1.5, 10.0])) == 0.05


def test_contenders_of_one_name_are_refused(effort):
    """They would be timed as one."""
    twice = [Peer("same", lambda: None, None), Peer("same", lambda: None, None)]
    with pytest.raises(ValueError, match="names of their own"):
        timed("nothing", CALL, twice, None, effort)
