"""benchmarks/building.py: stages in a process of their own, held against limits."""

from pathlib import Path

import pytest

from benchmarks import building


def test_a_chain_is_built_cold_and_warm(tmp_path: Path):
    cold = building.in_a_process("2", tmp_path)
    assert set(cold) == set(building.STAGES) and all(t > 0 for t in cold.values())
    kernels = sorted(tmp_path.rglob("*.kernel"))
    assert kernels, "the second run finds them"
    building.in_a_process("2", tmp_path)
    assert sorted(tmp_path.rglob("*.kernel")) == kernels


def test_limits_that_are_missed_are_marked():
    spent = dict.fromkeys(building.STAGES, 0.05)
    assert building.row("100", "warm", spent)[-2:] == ["0.200", "0.6"]
    assert building.row("100", "warm", spent | {"robot": 1.0})[-2:] == ["1.150", "0.6 MISSED"]
    assert building.row("7", "warm", spent)[-1] == ""
    assert building.row("Talos", "warm", spent)[4] == "50.0 > 15"
    assert building.row("Talos", "warm", spent | {"again": 0.0149})[4] == "14.9"


def test_what_cannot_be_built_says_why(tmp_path: Path):
    with pytest.raises(SystemExit, match=r"0 could not be built: .*links"):
        building.in_a_process("0", tmp_path)
