"""Rows to lanes and back: every number arrives, whatever the numbers of rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.emit.lane_transfer import RUN


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("columns", [1, 3, 4, 5, 8, 9, 17, 64, 65, 135])
def test_columns_around_every_multiple_of_the_lanes(dtype, columns):
    assert RUN // np.dtype(dtype).itemsize < 135  # rows that are written in several turns
    kernel = compile_function(sc.trace(lambda x: x[::-1], {"x": columns}), dtype=dtype, cache=False)
    for rows in (1, 2, kernel.lanes, 2 * kernel.lanes - 1, 2 * kernel.lanes + 1):
        x = np.random.default_rng(rows).normal(size=(rows, columns)).astype(dtype)
        assert kernel(x).tobytes() == x[:, ::-1].tobytes()
        assert kernel(x[0]).tobytes() == x[0, ::-1].tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_alarm_hears_every_place(dtype):
    columns = 19
    kernel = compile_function(sc.trace(lambda x: x * 2.0, {"x": columns}), dtype=dtype, cache=False)
    rows = kernel.lanes + 2
    for place in range(rows * columns):
        x = np.ones((rows, columns), dtype)
        x.flat[place] = np.nan if place % 2 else -np.inf
        bad = np.arange(rows) == place // columns
        out = kernel(x, on_nonfinite="nan")
        assert np.isnan(out[bad]).all() and (out[~bad] == 2).all()
        one = kernel(x[place // columns], on_nonfinite="nan")
        assert np.isnan(one).all()
