"""Linkages that move although they are overconstrained."""

import numpy as np
import pytest

from .numpy_robots import build


@pytest.mark.parametrize("name, rank, rows", [("bennett", 2, 5), ("bricard", 4, 5)])
def test_overconstrained_linkages_turn_with_one_freedom(name, rank, rows):
    robot = build(name)
    loop = robot.loop_names[0]
    assert robot.nv == 1
    q = robot.neutral()
    for _ in range(40):
        q = robot.integrate(q, [0.02])
        found = robot.loop_rows(loop, q)
        assert len(found.phi) == rows
        assert np.linalg.matrix_rank(found.K, tol=1e-7) == rank
        assert np.max(robot.loop_error(q)) < 1e-9
