"""Traced functions: replay and operation counts."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from kinloop import scalar as sc


def test_replay_on_numbers_is_the_function():
    f = sc.trace(lambda x, y: {"a": x * y, "b": np.array([x[0] / y[1], 2.0])}, {"x": 2, "y": 2})
    a, b = f([1.0, 2.0], [3.0, 4.0])
    np.testing.assert_array_equal(a, [3.0, 8.0])
    np.testing.assert_array_equal(b, [0.25, 2.0])
    assert a.dtype == b.dtype == float


def test_replay_on_symbols_is_composition():
    inner = sc.trace(lambda x: np.array([sc.sin(x[0]) + x[1]]), {"x": 2})
    outer = sc.trace(lambda z: inner([z[0], 0.5]) * 2.0, {"z": 1})
    np.testing.assert_allclose(outer([0.3]), [2 * (np.sin(0.3) + 0.5)], rtol=1e-15)
    assert outer.operations == {"sin": 1, "add": 1, "mul": 1, "total": 3}


def test_operations_count_only_what_outputs_need():
    def f(x):
        _ = sc.exp(x[0])
        return np.array([x[0] * x[1] + x[0] * x[1]])

    assert sc.trace(f, {"x": 2}).operations == {"mul": 1, "add": 1, "total": 2}


def test_wrong_number_of_inputs_names_what_is_expected():
    f = sc.trace(lambda q, v: q * v, {"q": 1, "v": 1})
    with pytest.raises(TypeError, match=r"expected 2 inputs \(q, v\), received 1"):
        f([1.0])


def test_tracing_looks_for_no_garbage_and_leaves_the_collector_as_it_was():
    seen: list[bool] = []

    def noted(x):
        seen.append(gc.isenabled())
        if len(seen) > 2:
            raise ValueError("no more")
        return x + 1.0

    assert gc.isenabled()
    sc.trace(noted, {"x": 1})
    assert gc.isenabled(), "as before"
    gc.disable()
    try:
        sc.trace(noted, {"x": 1})
        assert not gc.isenabled(), "users who turned it off find it off"
    finally:
        gc.enable()
    with pytest.raises(ValueError, match="no more"):
        sc.trace(noted, {"x": 1})
    assert gc.isenabled() and seen == [False] * 3
