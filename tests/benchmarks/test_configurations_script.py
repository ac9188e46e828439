"""benchmarks/configurations.py: figures of every robot, with Pinocchio's where it has any."""

import benchmarks.configurations as script


def test_figures_are_times(monkeypatch):
    monkeypatch.setattr(script, "ROUNDS", 1)
    for name in ("double_pendulum", "four_bar"):
        found = script.figures(name)
        assert all(x is None or 0.0 < x < 1e6 for x in found.values())
        assert found["integrate"] is not None and (name == "double_pendulum" or found["pin.integrate"] is None)
