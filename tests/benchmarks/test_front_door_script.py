"""benchmarks/front_door.py: a line per robot and question."""

import inspect

import pytest

from benchmarks import front_door as script
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.bench.model_files import available_trees
from kinloop.bench.peers import make_problem, missing
from kinloop.bench.timing import Effort
from kinloop.robot import Robot
from kinloop.robots import load

TINY = Effort(rounds=1, budget=1e-5, batch=8, quick=True)


def test_a_line_per_robot_and_question():
    table, every, rows = script.front_door((), ("four_bar",), TINY).tables
    assert [row[:2] for row in table.rows] == [["four_bar", asked.quantity] for asked in script.QUESTIONS]
    assert all(len(row) == len(t.columns) for t in (table, every, rows) for row in t.rows)
    assert [row[1:3] for row in rows.rows] == [
        [name, str(n)] for name in ("forward_dynamics", script.DERIVATIVES) for n in (8, 64)
    ]


def test_every_method_that_computes_something_has_a_line():
    lines = {row[1] for row in script.every_method(("mit_humanoid_leg",), TINY).rows}
    named = {line.partition("(")[0] for line in lines}
    said = {name for name, f in inspect.getmembers(Robot, inspect.isfunction) if not name.startswith("_")}
    structure = {"compile", "frame", "with_independent", "q_index", "v_index", "spanning_index", "body_index", "motors"}
    numbers = {"parameters", "inertial_parameters", "with_inertial_parameters", "base_parameters"}
    assert said - named == structure | numbers  # they compute nothing at a state
    for quantity, entry in QUANTITIES.items():
        own = [line for line in lines if line.startswith(f"{quantity}(")]
        assert len(own) >= 2 + entry.forces, quantity


@pytest.mark.skipif("pinocchio" in missing() or "Panda" not in available_trees(), reason="pip install 'kinloop[peers]'")
def test_peers_stand_beside_trees():
    table, *_ = script.front_door(("Panda",), (), TINY).tables
    assert [row[5] for row in table.rows] == [f"pinocchio {x}" for x in ("aba", "rnea", "crba", "computeFrameJacobian")]


def test_what_does_not_hold_is_said(monkeypatch):
    x = make_problem(load("four_bar"))
    monkeypatch.setattr(script, "ABOVE", -1e9)
    assert script.line("four_bar", x, script.QUESTIONS[0], TINY)[-1].startswith("above its kernel by more than")
    monkeypatch.setattr(script, "BATCH", -1e9)
    said = script.row_line("four_bar", x, "forward_dynamics", 8, TINY)[-1]
    assert said.startswith("above its machine code by more than")
    way = script.ways(x)[0]._replace(most=-1e9)
    assert script.way_line("four_bar", x, way, TINY)[-1].startswith("above its kernel by more than")
