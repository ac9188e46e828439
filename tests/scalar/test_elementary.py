"""Elementary functions on numbers, symbols, and arrays of either or both."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc

ONE = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "abs": np.abs, "floor": np.floor,
}  # fmt: skip
TWO = {"atan2": np.arctan2, "minimum": np.minimum, "maximum": np.maximum}
POINTS = np.array([0.1, 0.37, 0.9, -0.6, 0.0])


@pytest.mark.parametrize("name", ONE)
def test_one_argument_agrees_with_numpy(name):
    f, g = getattr(sc, name), ONE[name]
    points = np.abs(POINTS) + 0.01 if name in ("sqrt", "log") else POINTS
    np.testing.assert_array_equal(f(points), g(points))
    assert f(float(points[0])) == float(g(points[0]))
    traced = sc.trace(lambda x: f(x), {"x": len(points)})
    np.testing.assert_array_equal(traced(points), g(points))


@pytest.mark.parametrize("name", TWO)
def test_two_arguments_agree_with_numpy(name):
    f, g = getattr(sc, name), TWO[name]
    a, b = POINTS, POINTS[::-1].copy()
    np.testing.assert_array_equal(f(a, b), g(a, b))
    traced = sc.trace(lambda x, y: f(x, y), {"x": len(a), "y": len(b)})
    np.testing.assert_array_equal(traced(a, b), g(a, b))


def test_a_usual_choice_is_that_choice_and_stays_usual_when_it_is_replayed():
    def clamp(x, mark=sc.usually):
        return mark(sc.where(x[0] < x[1], mark(sc.minimum(x, 0.5)), mark(sc.maximum(x, -0.5))))

    marked, plain = sc.trace(clamp, {"x": 3}), sc.trace(lambda x: clamp(x, lambda y: y), {"x": 3})
    again = sc.trace(lambda x: marked(x), {"x": 3})
    assert marked.operations == plain.operations == again.operations
    for f, usual in ((marked, 9), (again, 9), (plain, 0)):
        assert sum(s.payload == "usual" for s in f.nodes) == usual
        np.testing.assert_array_equal(f([1.0, -1.0, 0.0]), [1.0, -0.5, 0.0])
    np.testing.assert_array_equal(sc.usually(np.array([1.0, 2.0])), [1.0, 2.0])
    assert sc.usually(3.0) == 3.0
    assert sc.trace(lambda x: sc.usually(x + 1.0), {"x": 1}).nodes[-1].payload is None  # no choice


def test_where_chooses_element_by_element():
    f = sc.trace(lambda x: sc.where(np.less(x, 0.0, dtype=object), -x, 2.0 * x), {"x": 3})
    np.testing.assert_array_equal(f([-1.0, 0.0, 2.0]), [1.0, 0.0, 4.0])
    np.testing.assert_array_equal(sc.where(np.array([True, False]), np.array([1.0, 2.0]), 5.0), [1.0, 5.0])


def test_comparisons_and_logic_agree_with_python():
    def f(x):
        inside = sc.logical_and(x[0] > 0.0, sc.logical_not(x[0] >= 1.0))
        edge = sc.logical_or(x[0] <= 0.0, x[0] < -1.0)
        return np.array([sc.where(inside, 1.0, 0.0), sc.where(edge, 1.0, 0.0)])

    traced = sc.trace(f, {"x": 1})
    for x in (-2.0, 0.0, 0.5, 1.0, 2.0):
        np.testing.assert_array_equal(traced([x]), [float(0 < x < 1), float(x <= 0)])


def test_arrays_of_numbers_and_symbols_stay_mixed():
    def f(x):
        out = sc.sin(np.array([x[0], 0.5, 0.0], dtype=object))
        assert isinstance(out[1], float) and out[2] == 0.0
        return out

    np.testing.assert_array_equal(sc.trace(f, {"x": 1})([0.3]), np.sin([0.3, 0.5, 0.0]))


def test_functions_broadcast_and_take_lists():
    f = sc.trace(lambda x: sc.maximum(x.reshape(2, 1), [0.0, 1.0]), {"x": 2})
    np.testing.assert_array_equal(f([0.5, 2.0]), [[0.5, 1.0], [2.0, 2.0]])


def test_batches_replay_in_one_call():
    f = sc.trace(lambda x: np.array([sc.where(x[0] < x[1], sc.sin(x[0]), sc.atan2(x[1], x[0]))]), {"x": 2})
    rng = np.random.default_rng(0)
    batch = rng.normal(size=(2, 7))
    together = f(batch)[0]
    np.testing.assert_array_equal(together, [f(batch[:, k])[0] for k in range(7)])


@pytest.mark.parametrize("f", [np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sqrt, np.exp, np.log])
def test_functions_of_numpy_can_be_traced(f):
    x = np.array([0.3, 0.8])
    np.testing.assert_allclose(sc.trace(lambda x: f(x), {"x": 2})(x), f(x), rtol=1e-15)
    np.testing.assert_allclose(sc.trace(lambda x: np.array([f(x[1])]), {"x": 2})(x), [f(x[1])], rtol=1e-15)
