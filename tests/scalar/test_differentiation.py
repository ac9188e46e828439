"""Derivatives on the graph: forward = reverse = finite differences in extended precision."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.scalar.tracing import Function

FUNCTIONS = {
    "add": lambda x: x[0] + x[1] + 3.0,
    "sub": lambda x: x[0] - x[1] - 3.0,
    "mul": lambda x: x[0] * x[1] * -2.0,
    "div": lambda x: x[0] / x[1] + 2.0 / x[0] + x[1] / 3.0,
    "neg": lambda x: -(x[0] * x[1]),
    "pow": lambda x: x[0] ** 3 + x[1] ** -2 + x[0] ** 1.5,
    "sin": lambda x: sc.sin(x[0] * x[1]),
    "cos": lambda x: sc.cos(x[0] * x[1]),
    "tan": lambda x: sc.tan(x[0] * x[1]),
    "asin": lambda x: sc.asin(0.5 * x[0] * x[1]),
    "acos": lambda x: sc.acos(0.5 * x[0] * x[1]),
    "atan": lambda x: sc.atan(x[0] / x[1]),
    "atan2": lambda x: sc.atan2(x[0], x[1]) + sc.atan2(-x[0], -2.0) + sc.atan2(1.0, x[1]),
    "sqrt": lambda x: sc.sqrt(x[0] * x[0] + x[1]),
    "exp": lambda x: sc.exp(x[0] - x[1]),
    "log": lambda x: sc.log(x[0] + x[1] * x[1]),
    "abs": lambda x: sc.abs(x[0] - 2.0 * x[1]) + sc.abs(x[0]),
    "minimum": lambda x: sc.minimum(x[0], x[1] * x[1]) + sc.minimum(0.1, x[0]),
    "maximum": lambda x: sc.maximum(sc.sin(x[0]), x[1]) + sc.maximum(x[1], -1.0),
    "where": lambda x: sc.where(x[0] < x[1], x[0] * x[1], sc.sin(x[1])) * x[0],
    "floor": lambda x: sc.floor(3.0 * x[0]) * x[1],
    "constant": lambda x: 2.0 + 0.0 * x[0],
}


def _with_derivatives(f) -> Function:
    graph = sc.Graph()
    x = graph.inputs("x", 2)
    out = np.empty(1, dtype=object)
    out[0] = f(x)
    return Function(
        {"x": 2},
        {"f": out, "forward": sc.jacobian(out, x, "forward"), "reverse": sc.jacobian(out, x, "reverse")},
        graph,
    )


def _value(function: Function, point: np.ndarray) -> np.longdouble:
    # a batch of one keeps extended precision through the replay
    out = function([np.array([p], dtype=np.longdouble) for p in point])[0][0]
    return np.longdouble(np.squeeze(out))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("point", [(0.7, 0.45), (0.31, 1.3)])
def test_forward_equals_reverse_equals_finite_differences(name, point):
    f = _with_derivatives(FUNCTIONS[name])
    point = np.array(point, dtype=np.longdouble)
    _, forward, reverse = f(point.astype(float))
    np.testing.assert_allclose(forward, reverse, rtol=1e-14, atol=1e-15)
    h = np.longdouble(2e-4)
    for k in range(2):
        e = np.zeros(2, dtype=np.longdouble)
        e[k] = h
        five = _value(f, point - 2 * e) - 8 * _value(f, point - e) + 8 * _value(f, point + e) - _value(f, point + 2 * e)
        slope = float(five / (12 * h))
        assert abs(forward[0, k] - slope) <= 1e-12 * max(1.0, abs(slope))


def test_second_derivatives_come_from_the_same_rules():
    graph = sc.Graph()
    x = graph.inputs("x", 2)
    f = np.array([sc.sin(x[0]) * sc.exp(x[1]) / (1.0 + x[0] * x[0])], dtype=object)
    gradient = sc.jacobian(f, x, "reverse")[0]
    hessian = Function({"x": 2}, {"h": sc.jacobian(gradient, x, "forward")}, graph)([0.4, 0.3])
    back = Function({"x": 2}, {"h": sc.jacobian(gradient, x, "reverse")}, graph)([0.4, 0.3])
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-13)
    np.testing.assert_allclose(hessian, back, rtol=1e-13)


def test_directional_derivatives_are_jacobian_products():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(3, 4))
    graph = sc.Graph()
    x = graph.inputs("x", 4)
    y = sc.sin(A @ x) * x[:3]
    d, w = rng.normal(size=4), rng.normal(size=3)
    f = Function({"x": 4}, {"J": sc.jacobian(y, x), "Jd": sc.jvp(y, x, d), "wJ": sc.vjp(y, x, w)}, graph)
    J, Jd, wJ = f(rng.normal(size=4))
    np.testing.assert_allclose(Jd, J @ d, rtol=1e-13)
    np.testing.assert_allclose(wJ, w @ J, rtol=1e-13)


def test_numbers_have_no_derivative():
    graph = sc.Graph()
    x = graph.inputs("x", 2)
    out = np.array([3.0, x[1], 0.0], dtype=object)
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(sc.jacobian(out, x, mode).astype(float), [[0, 0], [0, 1], [0, 0]])


def test_an_unknown_mode_is_refused_by_name():
    x = sc.Graph().inputs("x", 1)
    with pytest.raises(ValueError, match="mode 'sideways' is not one of 'forward', 'reverse'"):
        sc.jacobian(x, x, "sideways")


def test_a_rolled_loop_asks_to_be_unrolled_first():
    graph = sc.Graph()
    x = graph.inputs("x", 1)
    out = sc.repeat(3, lambda c, g: c * g[0], [1.0], x)
    with pytest.raises(ValueError, match=r"call kinloop\.scalar\.unrolled first"):
        sc.jacobian(out, x)


DEAD = {
    "square root": lambda x: sc.where(x[0] > 0.0, sc.sqrt(x[0]), x[1]) + x[0],
    "division": lambda x: sc.where(x[0] > 0.0, x[1] / x[0], 3.0 * x[1] * x[1]),
    "product with infinity": lambda x: sc.where(x[0] > 0.0, x[0] * (1.0 / x[0]) * sc.sin(x[1] / x[0]), x[1]),
    "nested": lambda x: sc.where(x[1] > 0.0, sc.where(x[0] > 0.0, sc.log(x[0]) * x[1], x[1]), 1.0 / x[0]),
    "known to the condition": lambda x: sc.where(sc.abs(1.0 / x[0]) < 1e6, sc.sin(1.0 / x[0]), x[1]),
    "maximum": lambda x: sc.maximum(sc.sqrt(x[0]), x[1]) + sc.minimum(1.0 / x[0], x[1]),
    "shared": lambda x: sc.where(x[0] > 0.0, sc.atan2(x[0], x[0] * x[1]), x[1]) * sc.cos(x[0] * x[1]),
}


@pytest.mark.parametrize("name", DEAD)
def test_a_branch_that_is_not_taken_has_no_part_in_a_derivative(name):
    f = _with_derivatives(DEAD[name])
    x = f.graph.inputs("x", 2)
    second = Function({"x": 2}, {"f": sc.jacobian(f.outputs["reverse"][0], x, "reverse")}, f.graph)
    with np.errstate(all="ignore"):
        value, forward, reverse = f([0.0, 0.5])
        hessian = second([0.0, 0.5])
    assert np.isfinite(value).all()
    assert np.isfinite(forward).all() and np.isfinite(hessian).all()
    np.testing.assert_array_equal(forward, reverse)
    assert forward[0, 1] != 0


def test_told_derivatives_take_the_place_of_those_of_the_rules():
    def call(x):
        y = 3.0 * sc.opaque(2.0 * x[0])
        along = sc.Tangents(x, [1.0])
        rule = along.of(np.array([y * y]))
        along = sc.Tangents(x, [1.0])
        along.tell(y.args[1:], [5.0])
        return {"rule": rule, "told": along.of(np.array([y * y]))}

    found = sc.trace(call, {"x": 1}).named(np.array([0.5]))
    assert found["rule"] == 2 * 3.0 * 6.0 and found["told"] == 2 * 3.0 * 3.0 * 5.0


def test_an_opaque_value_is_gone_where_its_function_is_called():
    inner = sc.trace(lambda x: {"y": np.array([3.0 * sc.opaque(2.0 * x[0])])}, {"x": 1})
    assert inner.operations["same"] == 1
    outer = sc.trace(lambda x: {"y": inner(x)}, {"x": 1})
    assert outer.operations == {"mul": 1, "total": 1} and outer.named(np.array([0.5]))["y"] == 3.0
    assert sc.opaque(2.0) == 2.0
