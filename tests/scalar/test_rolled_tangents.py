"""Derivatives through rolled loops are those of the rounds written out."""

import numpy as np
import pytest

from kinloop import scalar as sc


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
