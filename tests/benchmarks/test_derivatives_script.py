"""benchmarks/derivatives.py: a line per robot and quantity."""

import pytest

from benchmarks import derivatives as script
from kinloop import robots
from kinloop.bench.model_files import available_trees
from kinloop.bench.peers import make_problem, missing
from kinloop.bench.timing import Effort

TINY = Effort(rounds=1, budget=1e-5, batch=8, quick=True)


def test_robots_with_loops_stand_by_themselves():
    x = make_problem(robots.load("four_bar"))
    for quantity in script.PEERS:
        assert script.line("four_bar", x, quantity, TINY)[6:] == ["-"] * 5


@pytest.mark.skipif("pinocchio" in missing() or "Go1" not in available_trees(), reason="pip install 'kinloop[peers]'")
def test_peers_stand_beside_trees_and_find_the_same():
    (table,) = script.derivatives(("Go1",), TINY).tables
    assert [row[1] for row in table.rows] == list(script.PEERS)
    assert all(len(row) == len(table.columns) and float(row[-1]) < 1e-10 for row in table.rows)
