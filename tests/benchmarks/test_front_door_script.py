"""benchmarks/front_door.py: a line per robot and question."""

import pytest

from benchmarks import front_door as script
from kinloop.bench.model_files import available_trees
from kinloop.bench.peers import make_problem, missing
from kinloop.bench.timing import Effort
from kinloop.robots import load

TINY = Effort(rounds=1, budget=1e-5, batch=8, quick=True)


def test_a_line_per_robot_and_question():
    (table,) = script.front_door((), ("four_bar",), TINY).tables
    assert [row[:2] for row in table.rows] == [["four_bar", asked.quantity] for asked in script.QUESTIONS]
    assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.skipif("pinocchio" in missing() or "Panda" not in available_trees(), reason="pip install 'kinloop[peers]'")
def test_peers_stand_beside_trees():
    (table,) = script.front_door(("Panda",), (), TINY).tables
    assert [row[5] for row in table.rows] == [f"pinocchio {x}" for x in ("aba", "rnea", "crba", "computeFrameJacobian")]


def test_what_does_not_hold_is_said(monkeypatch):
    x = make_problem(load("four_bar"))
    monkeypatch.setattr(script, "ABOVE", -1e9)
    assert script.line("four_bar", x, script.QUESTIONS[0], TINY)[-1].startswith("above its kernel by more than")
