"""Derivatives through rolled loops are those of the rounds written out."""

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function


def _loop(x, when, until):
    def body(carry, given):
        return np.array([carry[0] * given[0] + sc.sin(carry[1]), carry[1] + given[1] * carry[0]])

    return np.array(sc.repeat(6, body, x[:2], np.array([x[2], 2.0 * x[0]], dtype=object), when(x), until))


@pytest.mark.parametrize("when", [lambda x: True, lambda x: x[2] > 0.0, lambda x: x[2] < 0.0])
@pytest.mark.parametrize("until", [None, lambda c: c[0] > 3.0])
def test_the_derivative_of_a_loop_is_that_of_its_rounds(when, until):
    graph = sc.Graph()
    x, direction = graph.inputs("x", 3), [0.3, -1.0, 0.5]
    rolled = sc.Function({"x": 3}, {"x": _loop(x, when, until)}, graph)
    tangent = sc.Function({"x": 3}, {"d": sc.rolled_jvp(rolled.outputs["x"], x, direction)}, graph)
    flat = sc.unrolled(rolled)
    expected = sc.jvp(flat.outputs["x"], flat.graph.inputs("x", 3), direction)
    at = [0.2, 0.4, 0.9]
    assert np.allclose(tangent(at), sc.Function({"x": 3}, {"d": expected}, flat.graph)(at), rtol=1e-14, atol=0.0)


def test_loops_in_loops_and_loops_that_nothing_moves():
    graph = sc.Graph()
    x = graph.inputs("x", 2)

    def outer(carry, given):
        inner = sc.repeat(3, lambda c, g: c * g[0], carry, given)
        return np.array(inner) + given[0]

    still = np.array(sc.repeat(4, lambda c, g: c + g[0], [x[1]], [x[1]]))
    out = np.array(sc.repeat(2, outer, [x[0]], [x[0]])) * still
    f = sc.Function({"x": 2}, {"x": out, "d": sc.rolled_jvp(out, [x[0]], [1.0])}, graph)
    a, b, e = 1.1, 0.7, 1e-6
    assert abs(f([a, b])[1][0] - (f([a + e, b])[0][0] - f([a - e, b])[0][0]) / (2 * e)) < 1e-7


def test_a_branch_that_is_not_taken_has_no_part_in_a_derivative():
    graph = sc.Graph()
    x = graph.inputs("x", 1)
    out = np.array([sc.minimum(2.0 * x[0], 1.0 + sc.sqrt(sc.maximum(-x[0], 0.0)))])
    f = sc.Function({"x": 1}, {"d": sc.jvp(out, x, [1.0])}, graph)
    with np.errstate(all="ignore"):
        assert f([0.25])[0] == 2.0


@pytest.mark.parametrize("count", [None, 0.0, 2.0, 3.0])
@pytest.mark.parametrize("cleared", [None, [0]])
def test_the_derivative_of_a_loop_over_tables_is_that_of_its_rows(count, cleared):
    """Carried, shared and tabled values move; rows that are left out leave nothing, and tables are read by an index."""
    graph = sc.Graph()
    x = graph.inputs("x", 4)
    index = sc.where(x[3] > 0.0, 1.0, 0.0)

    def body(carry, row, shared):
        at = sc.take(np.array([shared[0], shared[1] * row[0]], dtype=object), shared[2])
        new = carry[0] * sc.sin(row[0]) + at * row[1] * shared[3]
        return [new, carry[1] + row[2]], [new * at, row[1] * carry[1]]

    tables = [np.array([[x[0], x[1]], [x[1] * x[2], 2.0], [3.0, x[0]]], dtype=object), np.array([[1.0], [x[2]], [0.5]])]
    shared = [[x[2], x[0] * x[1], index], [2.0]]
    how_many = None if count is None else x[3] * 0.0 + count
    carry, left = sc.scan(body, [x[0], 0.3], tables, shared, how_many, 0, cleared)
    out = np.array([*carry, *(left.flat if cleared is None else left[:, 0])], dtype=object)
    direction = [0.3, -1.0, 0.5, 0.7]
    f = sc.Function({"x": 4}, {"x": out, "d": sc.rolled_jvp(out, x, direction)}, graph)
    at, e = np.array([0.2, 0.4, 0.9, 0.6]), 1e-4
    ends = [np.array(f(at + k * e * np.array(direction))[0]) for k in (2, 1, -1, -2)]
    expected = (-ends[0] + 8 * ends[1] - 8 * ends[2] + ends[3]) / (12 * e)
    assert np.allclose(f(at)[1], expected, rtol=1e-10, atol=1e-11)
    kernel = compile_function(f, cache=False)
    assert np.allclose(np.asarray(kernel(at)[1]), f(at)[1], rtol=1e-14, atol=1e-15)
