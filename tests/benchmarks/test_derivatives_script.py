"""benchmarks/derivatives.py: a line per robot and quantity."""

import pytest

from benchmarks import derivatives as script
from kinloop import robots
from kinloop.bench.model_files import available_trees
from kinloop.bench.peers import make_problem, missing
from kinloop.bench.timing import Effort

TINY = Effort(rounds=1, budget=1e-5, batch=8, quick=True)


def test_what_peers_cannot_say_stands_by_itself():
    x = make_problem(robots.load("belt_chain", links=2))
    for quantity in script.PEERS:
        assert script.line("belt_chain", x, quantity, TINY)[6:] == ["-"] * 5


@pytest.mark.skipif("pinocchio" in missing(), reason="pip install 'kinloop[peers]'")
def test_loops_stand_beside_constraints_of_the_tree_and_find_the_same():
    x = make_problem(robots.load("four_bar_chain", links=3))
    inverse, forward = (script.line(script.CHAIN, x, quantity, TINY) for quantity in script.PEERS)
    assert inverse[6:] == ["-"] * 5
    assert float(forward[-1]) < 1e-10 and forward[9].startswith("40x 120x")


@pytest.mark.skipif("pinocchio" in missing() or "Go1" not in available_trees(), reason="pip install 'kinloop[peers]'")
def test_peers_stand_beside_trees_and_find_the_same():
    (table,) = script.derivatives(("Go1",), TINY).tables
    assert [row[1] for row in table.rows] == list(script.PEERS)
    assert all(len(row) == len(table.columns) and float(row[-1]) < 1e-10 for row in table.rows)


@pytest.mark.slow
@pytest.mark.skipif("mujoco" in missing() or "G1" not in available_trees(), reason="pip install 'kinloop[peers]'")
def test_a_step_on_two_feet_stands_beside_mujoco():
    (table,) = script.linearized(TINY).tables
    assert table.rows[0][1] == "8 of 8" and len(table.rows[0]) == len(table.columns)
