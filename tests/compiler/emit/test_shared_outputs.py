"""Outputs that are the same number lie in one slot of W states; arrays are as they would be without."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function

BAND = 3  # beyond so many places from the diagonal a matrix is constant


def banded(x, side):
    """A symmetric matrix: products in a band, -0 right above it, 0 beyond, 1 at the far corner."""
    out = np.full((side, side), 0.0, dtype=x.dtype)
    for i in range(side):
        for j in range(max(0, i - BAND), i + 1):
            out[i, j] = out[j, i] = x[i] * x[j]
        if i > BAND:
            out[i - BAND - 1, i] = -0.0
    out[-1, 0] = out[-1, 0] if side <= BAND + 1 else 1.0
    return out


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("side", [2, 5, 17, 30])
def test_constants_and_mirrored_numbers_arrive_everywhere(dtype, side):
    """Constants begin and end anywhere in blocks, and rows anywhere in lines of memory."""
    kernel = compile_function(sc.trace(lambda x: banded(x, side), {"x": side}), dtype=dtype, cache=False)
    for rows in (2 * kernel.lanes + 3, kernel.lanes):
        x = np.random.default_rng(side).normal(size=(rows, side)).astype(dtype)
        expected = np.stack([banded(row, side) for row in x])
        for shift in range(4):
            memory = np.full(expected.size + 8, 7.0, dtype)
            out = memory[shift : shift + expected.size].reshape(expected.shape)
            kernel(x, out=out)
            assert out.tobytes() == expected.tobytes()
            assert (memory[:shift] == 7).all() and (memory[shift + out.size :] == 7).all()


def test_a_number_is_stored_once():
    side = 9
    kernel = compile_function(sc.trace(lambda x: banded(x, side), {"x": side}), cache=False)
    segment = re.search(r"define internal void @p0_0\(.*?\n}", kernel.ir, re.DOTALL)
    constants = re.search(r"@constant_values = .*", kernel.ir)
    assert segment is not None and constants is not None
    assert segment.group().count("store") == sum(min(i, BAND) + 1 for i in range(side))
    assert constants.group().count("double 0x") == 3


@pytest.mark.parametrize("rows", [1, 11])
def test_steps_are_fed_with_outputs_that_share_a_slot(rows):
    def step(x):
        half = 0.5 * x[0] + x[1]
        return {"other": x[:3] + 1, "next": np.array([half, *[x[2] * x[3]] * 10, half, 0.25, 0.25], dtype=object)}

    kernel = compile_function(sc.trace(step, {"x": 14}), cache=False)
    start = np.random.default_rng(3).normal(size=(rows, 14))
    x = start
    for _ in range(3):
        x = kernel(x)[1]
    assert np.array_equal(kernel.iterate(start, steps=3, feedback={"x": "next"})["next"], x)


@pytest.mark.parametrize("good", [[True] * 16, [True, False] * 8])
def test_what_a_loop_leaves_is_an_output_where_it_lies(good):
    """Also where a few states keep what they had; steps that are fed with it get the same."""

    def step(x):
        _, left = sc.scan(lambda c, row, s: ([], [row[0] * 0.5, row[1] + s[0]]), [], x[:12].reshape(6, 2), (x[12],))
        go = x[12] > 0.5
        kept = [sc.usually(sc.where(go, a, b)) for a, b in zip(left[:, 0], x[:6], strict=True)]
        return {"seen": left[:, 1], "next": np.array([*kept, *x[6:]], dtype=object)}

    function = sc.trace(step, {"x": 13})
    kernel, x = compile_function(function, cache=False), np.random.default_rng(0).normal(size=(16, 13))
    x[:, 12] = good
    found = kernel.iterate(x, steps=3, feedback={"x": "next"})
    for k, row in enumerate(x):
        one = kernel.iterate(row, steps=3, feedback={"x": "next"})
        assert all(found[name][k].tobytes() == one[name].tobytes() for name in found)
        for _ in range(3):
            seen, row = function(row)
        np.testing.assert_allclose(found["next"][k], row, rtol=1e-14)
        np.testing.assert_allclose(found["seen"][k, -1], seen, rtol=1e-14)
