"""Methods timed beside each other."""

import numpy as np

from kinloop import robots
from kinloop.bench.papers.method_timing import dynamics_case, time_methods
from kinloop.bench.peers import Peer


def test_every_method_is_called_batched_and_checked(effort):
    robot = robots.load("geared_chain", links=2)
    cases = {m: dynamics_case(robot, "forward_dynamics", m) for m in ("cluster_aba", "approximate_aba")}
    other = Peer("other", lambda: None, lambda: cases["cluster_aba"].exact)
    unread = Peer("unread", lambda: None, None)
    found = time_methods("forward_dynamics", cases, effort, peers=[other, unread])
    assert set(found["cluster_aba"]) == {"operations", "error", "call_us", "batch_us"}
    assert found["cluster_aba"]["error"] < 1e-12 < found["approximate_aba"]["error"]
    assert found["other"]["error"] == 0.0 and found["unread"]["error"] is None
    assert "batch_us" not in time_methods("forward_dynamics", cases, effort, batches=False)["cluster_aba"]


def test_cases_are_at_the_same_state_and_exact():
    robot = robots.load("geared_chain", links=2)
    a, b = (
        dynamics_case(robot, q, m) for q, m in (("inverse_dynamics", "cluster_rnea"), ("inverse_osim", "cluster_efpa"))
    )
    np.testing.assert_array_equal(a.inputs[0], b.inputs[0])
    assert (len(a.inputs), len(b.inputs)) == (3, 1)
    assert a.exact.shape == (2,) and b.exact.shape == (6, 6)
