"""The oracle and the clusters where loops disagree in their last digits: two answers, to two problems."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import relative

from kinloop.algorithms.witnesses.dense_kkt import dense_kkt, loop_rows, spanning_dynamics
from tests.sim.mechanisms import three_rockers


def eliminated(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of A x = b by Gauss's elimination in extended precision."""
    M = np.concatenate([A, b[:, None]], axis=1).astype(np.longdouble)
    for c in range(len(M)):
        p = c + int(np.argmax(np.abs(M[c:, c])))
        M[[c, p]] = M[[p, c]]
        M[c + 1 :] -= np.outer(M[c + 1 :, c] / M[c, c], M[c])
    for c in reversed(range(len(M))):
        M[c, -1] = (M[c, -1] - M[c, c + 1 : -1] @ M[c + 1 :, -1]) / M[c, c]
    return M[:, -1].astype(float)


def of_rows(robot, rows, q, v, tau) -> np.ndarray:
    """The acceleration under some of the rows alone, which leave as much freedom as the robot has."""
    tree = robot.tree
    qd = tree.spanning_jacobian(q) @ v
    H, c = spanning_dynamics(tree, q, qd)
    K, k = (x[list(rows)] for x in loop_rows(tree, q, qd))
    applied = np.zeros(len(H))
    applied[tree.independent_dofs] = tau
    A = np.block([[H, -K.T], [K, np.zeros((len(K), len(K)))]])
    return eliminated(A, np.concatenate([applied - c, k]))[tree.independent_dofs]


@pytest.mark.parametrize("noise", [1e-10, 1e-8, 1e-7])
def test_rows_that_disagree_are_answered_exactly_by_the_rows_kept_and_on_average_by_the_oracle(noise):
    """The cluster takes as many rows as it has dependent coordinates, at their word. The oracle takes the nearest rank
    of all rows. So the two differ by what the rows disagree, and neither is wrong."""
    robot = three_rockers(noise)
    (c,) = robot.tree.clusters
    for seed in range(4):
        q, v = robot.random_state(seed)[:2]
        tau = np.array([1.0 + seed])
        a, oracle = robot.forward_dynamics(q, v, tau), dense_kkt(robot.tree, q, v, tau)
        assert relative(a, of_rows(robot, c.chart.rows, q, v, tau)) < 1e-12
        K = loop_rows(robot.tree, q, np.zeros(4))[0]
        sizes = np.linalg.svd(K, compute_uv=False)
        assert 0.0 < sizes[3] < 2 * noise, "a row too many, that follows from the others to `noise`"
        # any row may stand for another: the answers lie this far apart
        assert relative(a, oracle) < 20.0 * noise / sizes[2]
        kept = [r for r in range(len(K)) if np.linalg.norm(K[r]) > 1e-3]
        others = [of_rows(robot, [r for r in kept if r != left], q, v, tau) for left in kept]
        spread = max(relative(x, a) for x in others)
        assert relative(a, oracle) <= 2.0 * spread + 1e-13, "the oracle is among them"
    exact = three_rockers(0.0)
    q, v = exact.random_state(0)[:2]
    assert relative(exact.forward_dynamics(q, v, np.ones(1)), dense_kkt(exact.tree, q, v, np.ones(1))) < 1e-13
