"""benchmarks/constrained.py: what it adds to the report."""

import numpy as np
import pytest

from benchmarks import constrained
from kinloop import Point, Weld, robots
from kinloop.bench.peers import make_problem, missing
from kinloop.bench.timing import Effort

TINY = Effort(rounds=1, budget=1e-5, batch=8, quick=True)


def test_operations_are_counted_per_joint():
    chains, ladders = constrained.operations(TINY).tables
    assert all(len(row) == len(chains.columns) for row in chains.rows + ladders.rows)
    n, count, each = (int(chains.rows[0][k]) for k in (0, 1, 1 + len(constrained.COUNTED)))
    assert each == round(count / n)


def test_errors_are_of_the_worst_coordinate():
    exact = np.array([[1000.0, 1.0, 1.0]])
    np.testing.assert_allclose(constrained.worst_coordinate(exact + [[1.0, 0.01, 0.0]], exact), [0.01])


@pytest.mark.skipif("mujoco" in missing(), reason="pip install 'kinloop[peers]'")
@pytest.mark.parametrize("kind", [Point, Weld])
def test_mujoco_holds_what_is_held(kind):
    x = make_problem(robots.load("serial_chain", links=3))
    (peer,) = constrained.mujoco_held(x, [kind("link-2")])
    peer.call()
    model = constrained.mujoco_robot(x, '<weld body1="link-2"/>').model
    assert model.neq == 1


def test_unknown_parts_are_refused():
    with pytest.raises(SystemExit, match="no part named 'table2'; known: speed, softness, operations"):
        constrained.main(["table2"], TINY)
