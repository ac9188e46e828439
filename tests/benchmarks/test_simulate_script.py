"""benchmarks/simulate.py: Mini Cheetah stands while it is timed."""

from benchmarks import simulate


def test_mini_cheetah_stands(monkeypatch):
    monkeypatch.setattr(simulate, "STATES", 2)
    monkeypatch.setattr(simulate, "STEPS", 20)
    ours = simulate.mini_cheetah()
    assert ours.touching == 4.0 and ours.gap > -1e-5
    first, second = simulate.report("mini_cheetah", ours, None).splitlines()
    assert "4 contacts (4.0 pressing)" in first and "status 1" in second
