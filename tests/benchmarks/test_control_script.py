"""benchmarks/control.py: what must hold of control; times are printed here, exactness is asserted."""

import sys

import numpy as np

from benchmarks import control


def test_lines_that_are_missed_are_marked():
    assert str(control.Line("a", 2.0, "us", 1.0)).endswith("(limit 1) MISSED")
    assert "MISSED" not in str(control.Line("a", 1.0, "us", 1.0)) and "limit" not in str(control.Line("a", 1.0, "us"))


def called_once(cases, **_):
    for call in cases.values():
        call()
    return dict.fromkeys(cases, 0.0)


def test_motors_are_exact(monkeypatch):
    monkeypatch.setattr(control, "seconds_per_call", called_once)
    lines = {line.what: line for line in control.motors()}
    exact = [line for line in lines.values() if line.limit == 1e-12]
    assert len(exact) == 3 and all(line.value <= 1e-12 for line in exact)


def test_tasks_are_measured(monkeypatch):
    """Tello's limbs are reached with closed loops; G1 and pink, which take long, are left out here."""
    monkeypatch.setattr(control.control_tasks, "seconds_per_call", called_once)
    monkeypatch.setattr(control.control_tasks, "available_trees", list)
    monkeypatch.setattr(control.control_tasks, "ROWS", 64)
    lines = {line.what: line for name in ("ik", "wbc") for line in control.SECTIONS[name]()}
    assert lines["tello, rows not reached"].value == 0.0
    assert lines["tello, loops at every iterate, worst"].value <= 1e-10
    assert lines["Tello on two feet, whole step with the QP"].limit == 150.0


def test_without_pink_it_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pink", None)
    assert list(control.control_tasks.beside_pink(None, np.zeros((1, 1)), [], 1.0, 1.0)) == []
    assert "pip install pin-pink" in capsys.readouterr().out
