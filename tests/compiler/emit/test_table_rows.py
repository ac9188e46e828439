"""Rows of tables that loops use where they lie, and those that other stages look into, which are copied."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop.scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.emit.table_rows import rows_beside
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.plan.stage_types import Repeat

ROWS, WIDTH = 5, 4


def plainly(carry, row, shared):
    return [carry[0] + row[0] * row[1]], [row[2] * shared[0], row[3] - carry[0]]


def by_index(carry, row, shared):
    x = sc.take(np.array(row[:WIDTH]), row[WIDTH])
    return [carry[0] + x], [x, row[WIDTH] + carry[0]]


def in_a_loop(carry, row, shared):
    inner, left = sc.scan(
        lambda c, r, s: ([c[0] + r[0] * r[1]], [r[0] - s[0]]), carry, np.array(row[:WIDTH]).reshape(2, 2), shared
    )
    return inner, [left[0, 0], left[1, 0] + row[WIDTH]]


def loop(body):
    def f(x):
        table, extra = x[: ROWS * WIDTH].reshape(ROWS, WIDTH), x[ROWS * WIDTH : -2].reshape(ROWS, 1)
        end, left = sc.scan(body, [0.5], [table, extra], (x[-2],), sc.floor(3.0 + 2.0 * x[-1]))
        return np.array([*end, *left.flat])

    return f


@pytest.mark.parametrize(
    ("body", "beside"),
    [(plainly, {"%row0", "%row1", "%left"}), (by_index, {"%row1", "%left"}), (in_a_loop, {"%row1", "%left"})],
)
def test_rows_are_copied_where_others_than_segments_look_into_them(body, beside):
    function = sc.trace(loop(body), {"x": ROWS * (WIDTH + 1) + 2})
    (stage,) = (s for s in make_plan(function, True).stages if isinstance(s, Repeat))
    assert {b.pointer for b in rows_beside(stage)} == beside
    kernel = compile_function(function, name=body.__name__)
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (19, ROWS * (WIDTH + 1) + 2))
    x[:, ROWS * WIDTH : -2] = np.random.default_rng(1).integers(0, WIDTH, (19, ROWS))
    batch = kernel(x)
    np.testing.assert_array_equal(batch, np.array([kernel(row) for row in x]))
    np.testing.assert_allclose(batch, np.array([function(row) for row in x]), rtol=1e-13, atol=1e-13)


def test_angles_of_a_row_are_read_from_a_copy():
    def over(x):
        def body(carry, row, shared):
            return [carry[0] + sc.sin(row[0])], [sc.cos(row[0]) * row[1], carry[0] * sc.sin(row[1])]

        carry, left = sc.scan(body, [0.5], x.reshape(4, 2))
        return np.array([*carry, *left.flat], dtype=object)

    function = sc.trace(over, {"x": 8})
    kernel = compile_function(function, cache=False)
    x = np.linspace(-2.0, 3.0, 8)
    expected = function(x)
    np.testing.assert_allclose(kernel(x), np.asarray(expected, dtype=float), rtol=1e-14)
    assert kernel(np.tile(x, (9, 1)))[5].tobytes() == kernel(x).tobytes()
