"""What the arithmetic of symbols folds, and the errors of the symbolic scalar."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinloop import scalar as sc
from kinloop.scalar.graph import Graph
from kinloop.scalar.symbol import Symbol


@pytest.fixture
def xyz():
    return Graph().inputs("x", 3)


def test_neutral_elements_fold_away(xyz):
    x = xyz[0]
    assert x + 0 is x and 0 + x is x and x - 0 is x
    assert x * 1 is x and 1 * x is x and x / 1 is x
    assert x**1 is x and x**0 == 1.0


def test_zero_absorbs(xyz):
    x = xyz[0]
    assert x * 0 == 0.0 and 0 * x == 0.0 and 0 / x == 0.0
    assert not isinstance(x * 0, Symbol)


def test_signs_meet(xyz):
    x, y, _ = xyz
    minus = -x
    assert -minus is x
    assert x * -1 is -x and -1 * x is -x
    assert x + (-y) is x - y
    assert x - (-y) is x + y
    assert (-x) * (-y) is x * y
    assert -(x - y) is y - x
    assert (-x) / y is -(x / y) and x / (-y) is -(x / y)


def test_a_value_against_itself_is_known(xyz):
    x, y, _ = xyz
    assert x - x == 0.0 and x / x == 1.0
    assert (x - y) + y is x and (x + y) - y is x and (x + y) - x is y
    assert x - (x - y) is y
    assert (x - y) - x is -y and x - (x + y) is -y


def test_a_value_against_its_own_reciprocal_is_one(xyz):
    x, y, _ = xyz
    assert x * (1.0 / x) == 1.0
    assert (y * (1.0 / x)) * x is y
    assert x * ((1.0 / x) * y) is y


def test_constants_meet(xyz):
    x = xyz[0]
    assert 2 + (3 + x) is 5.0 + x
    assert 2 - (3 + x) is -1.0 - x
    assert 2 * (3 * x) is 6.0 * x
    assert (x * 2) * 0.5 is x
    assert 2 * (3 / x) is 6.0 / x


def test_parity_of_functions_folds(xyz):
    x = xyz[0]
    for odd in (sc.sin, sc.tan, sc.asin, sc.atan):
        assert odd(-x) is -odd(x)
    for even in (sc.cos, sc.abs):
        assert even(-x) is even(x)
    assert sc.abs(sc.abs(x)) is sc.abs(x) and sc.abs(sc.exp(x)) is sc.exp(x)


def test_known_choices_fold(xyz):
    x, y, _ = xyz
    assert sc.where(True, x, y) is x and sc.where(False, x, y) is y
    assert sc.where(x < y, x, x) is x and sc.where(x < y, 2.0, 2.0) == 2.0
    assert sc.minimum(x, x) is x and sc.maximum(x, x) is x
    assert (x < x) is False
    assert isinstance(x <= x, Symbol), "nan <= nan is false: only the strict comparison is known"
    assert sc.logical_and(True, x < y) is (x < y) and sc.logical_and(x < y, False) is False
    assert sc.logical_or(x < y, True) is True and sc.logical_or(False, x < y) is (x < y)


def test_nan_stays_nan_through_a_trace():
    f = sc.trace(lambda x: np.array([x[0] + math.nan, math.nan * x[1], sc.sqrt(x[0]), x[0] * x[1]]), {"x": 2})
    out = f([-1.0, math.nan])
    assert np.all(np.isnan(out))


def test_functions_of_numbers_answer_as_floating_point_does():
    assert math.isnan(sc.sqrt(-1.0)) and math.isnan(sc.asin(2.0))
    assert sc.log(0.0) == -math.inf
    x = Graph().inputs("x", 1)[0]
    assert isinstance(x / 0.0, Symbol), "the sign of infinity is only known with x"
    assert math.isinf(sc.trace(lambda x: np.array([x[0] / 0.0]), {"x": 1})([3.0])[0])


def test_powers():
    f = sc.trace(lambda x: np.array([x[0] ** 3, x[0] ** -2, x[0] ** 0.5, x[0] ** 2.5, x[0] ** x[1]]), {"x": 2})
    np.testing.assert_allclose(f([1.7, 0.3]), [1.7**3, 1.7**-2, 1.7**0.5, 1.7**2.5, 1.7**0.3], rtol=1e-14)


def test_a_symbol_has_no_truth_value(xyz):
    with pytest.raises(TypeError, match=r"kinloop.scalar.where\(condition, a, b\) instead of if"):
        bool(xyz[0] < xyz[1])


def test_a_symbol_is_not_a_float(xyz):
    with pytest.raises(TypeError, match="keep it in an object array"):
        float(xyz[0])
    with pytest.raises(TypeError):
        np.zeros(2)[0] = xyz[0]


def test_numbers_and_symbols_share_an_array(xyz):
    mixed = np.array([[xyz[0], 2.0], [0.0, 1.0]], dtype=object)
    product = mixed @ np.array([[1.0, 0.0], [0.0, 3.0]])
    assert product[0, 0] is xyz[0] and product[0, 1] == 6.0 and product[1, 0] == 0.0 and product[1, 1] == 3.0
    assert (mixed.T + 0.0)[0, 0] is xyz[0]


def test_numbers_of_numpy_meet_symbols_from_either_side(xyz):
    x = xyz[0]
    assert np.float64(2.0) * x is 2.0 * x and x * np.float64(2.0) is 2.0 * x
    assert np.float64(1.0) + x is 1.0 + x and np.float64(1.0) - x is 1.0 - x
    assert isinstance(np.array([1.0, 2.0]) * x, np.ndarray)


# Random expressions: a stack of values grows by random operations; the trace must say what the floats say.

_BINARY = ("add", "sub", "mul", "div")
_UNARY = ("neg", "sin", "cos", "abs", "atan")
_STEP = st.tuples(st.sampled_from(_BINARY + _UNARY), st.integers(0, 40), st.integers(0, 40))


def _run(values: list, steps: list) -> list:
    for op, i, j in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        if op == "add":
            values.append(a + b)
        elif op == "sub":
            values.append(a - b)
        elif op == "mul":
            values.append(a * b)
        elif op == "div":
            values.append(a / (1.5 + b * b))
        elif op == "neg":
            values.append(-a)
        else:
            values.append(getattr(sc, op)(a))
    return values


@settings(max_examples=300, deadline=None)
@given(st.lists(_STEP, min_size=1, max_size=14), st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_folding_never_changes_a_value(steps, point):
    constants = [0.0, 1.0, -1.0, 0.5]
    f = sc.trace(lambda x: np.array(_run([*x, *constants], steps), dtype=object), {"x": 3})
    exact = _run([*(np.array([p], dtype=np.longdouble) for p in point), *constants], steps)
    scale = max(1.0, *(float(np.max(np.abs(e))) for e in exact))
    traced = np.asarray(f(point), dtype=float)
    for ours, theirs in zip(traced, exact, strict=True):
        assert abs(ours - float(np.squeeze(theirs))) <= 1e-13 * scale * (1 + len(steps))
