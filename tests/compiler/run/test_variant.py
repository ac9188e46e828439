"""Rows of a batch in machine code."""

from __future__ import annotations

import numpy as np

from kinloop import scalar as sc
from kinloop.compiler import compile_function


def test_rows_longer_than_what_is_fetched_ahead_are_read_whole():
    function = sc.trace(lambda x: np.array([np.sum(x), x[-1]], dtype=object), {"x": 300})
    kernel = compile_function(function, cache=False)
    x = np.random.default_rng(0).normal(size=(37, 300))
    found = kernel(x)
    assert found.tobytes() == np.stack([kernel(row) for row in x]).tobytes()
    np.testing.assert_allclose(found[:, 0], x.sum(axis=1), rtol=1e-12, atol=1e-12)
