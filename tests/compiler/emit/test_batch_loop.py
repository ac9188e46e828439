"""Any number of rows is right, and a bad row spoils no other."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.errors import NonFiniteInput
from tests.compiler.graphs import double, random_function, random_states


@pytest.mark.parametrize("rows", range(1, 20))
def test_any_number_of_rows_is_right_and_nothing_else_is_written(rows):
    kernel = double(5)
    rng = np.random.default_rng(rows)
    x, y = rng.normal(size=(rows, 5)), rng.normal(size=(rows, 5))
    guarded = np.full((rows + 2, 5), 7.0)
    kernel(x, y, out=guarded[1:-1])
    np.testing.assert_array_equal(guarded[1:-1], 2 * x + y)
    assert (guarded[[0, -1]] == 7.0).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_outputs_that_are_constants_stand_in_every_row(dtype):
    def body(x, y):
        return {"a": np.array([[1.5, x[0]], [0.0, y[0]]], dtype=object), "y": y * 0.5 + x, "c": np.array([-2.0])}

    kernel = compile_function(sc.trace(body, {"x": 1, "y": 1}), dtype=dtype, cache=False)
    for rows in (1, 2, kernel.lanes + 1, 5 * kernel.lanes):
        x, y = (np.full((rows, 1), z, dtype) for z in (2.0, 3.0))
        x[0] = np.nan  # a bad row, and what its lanes leave behind
        for _ in range(2):
            a, _, c = kernel(x, y, on_nonfinite="nan")
            assert np.isnan(a[0]).all() and np.isnan(c[0]).all()
            assert (a[1:] == [[1.5, 2], [0, 3]]).all() and (c[1:] == -2).all()
        steps = kernel.iterate(np.full((rows, 1), 2.0, dtype), y, steps=3, feedback={"y": "y"})
        assert steps["c"].shape == (rows, 3, 1) and (steps["c"] == -2).all() and (steps["a"][..., 0, 0] == 1.5).all()
        np.testing.assert_array_equal(steps["a"][:, :, 1, 1], steps["a"][:1, :, 1, 1].repeat(rows, axis=0))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [1, 3, 9, 130])
def test_a_bad_row_is_named_or_nan_and_the_others_do_not_change(bad, rows):
    kernel = compile_function(random_function(5), cache=False)
    q, v = random_states(np.random.default_rng(1), rows)
    good = kernel(q, v)
    row = rows // 2
    v = v.copy()
    v[row, 1] = bad
    with pytest.raises(NonFiniteInput, match=rf"'v'.* is {bad} at index 1 in row {row};"):
        kernel(q, v)
    for threads in (1, 2):
        for got, want in zip(kernel(q, v, on_nonfinite="nan", threads=threads), good, strict=True):
            assert np.isnan(got[row]).all()
            rest = np.arange(rows) != row
            assert got[rest].tobytes() == want[rest].tobytes()


def test_the_first_of_many_bad_rows_is_named_over_threads():
    kernel = double()
    x = np.ones((1000, 3))
    x[[17, 500, 900], 2] = np.nan
    with pytest.raises(NonFiniteInput, match="row 17"):
        kernel(x, x, threads=2)
    grid = np.ones((2, 3, 3))
    grid[1, 2, 0] = np.inf
    with pytest.raises(NonFiniteInput, match=r"row \(1, 2\)"):
        kernel(grid, np.ones(3))
