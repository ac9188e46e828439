"""benchmarks/learning_arrays.py: everything it measures can be called."""

import pytest

from benchmarks import learning_arrays


def called_once(cases, **_):
    for call in cases.values():
        call()
    return dict.fromkeys(cases, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["jax", "torch"])
def test_calls_are_measured(part, monkeypatch):
    pytest.importorskip(part)
    monkeypatch.setattr(learning_arrays, "seconds_per_call", called_once)
    monkeypatch.setattr(learning_arrays, "ROWS", 16)
    lines = list(learning_arrays.PARTS[part]("four_bar"))
    assert sum(line.limit is not None for line in lines) == {"jax": 4, "torch": 1}[part]
