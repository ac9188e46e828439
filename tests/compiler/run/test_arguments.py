"""Whatever form the arguments have: converted, broadcast, or refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.errors import KinloopError, MethodError, NonFiniteInput, ShapeError
from tests.compiler.graphs import double


def test_inputs_broadcast_over_leading_axes():
    kernel = double()
    x, y = np.arange(12.0).reshape(4, 1, 3), np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(kernel(x, y), 2 * x + y)
    np.testing.assert_array_equal(kernel(x[0, 0], y), 2 * x[0, 0] + y)
    np.testing.assert_array_equal(kernel([1, 2, 3], [0.5, 0, 0]), [2.5, 4, 6])
    assert kernel(np.zeros((0, 3)), y[0]).shape == (0, 3)
    assert kernel(np.zeros((5, 0, 3)), y[0]).shape == (5, 0, 3)
    np.testing.assert_array_equal(kernel(x[:1], y[:1]), 2 * x[:1] + y[:1])


def test_strided_and_foreign_inputs_are_read_right():
    kernel = double()
    wide = np.random.default_rng(0).normal(size=(9, 8))
    x, y = wide[:, 1:4], wide[::-1, 4:7]
    np.testing.assert_array_equal(kernel(x, y), 2 * x + y)
    np.testing.assert_array_equal(kernel(np.asfortranarray(x), y[:, ::-1]), 2 * x + y[:, ::-1])
    np.testing.assert_array_equal(kernel(x.astype(">f8"), y), 2 * x + y)
    np.testing.assert_array_equal(kernel(np.arange(3), np.array([True, False, True])), [1, 2, 5])
    shifted = np.frombuffer(b"x" + x[0].tobytes(), dtype=np.uint8)[1:].view(float)
    assert not shifted.flags.aligned
    np.testing.assert_array_equal(kernel(shifted, y[0]), 2 * x[0] + y[0])


def test_outputs_may_be_strided_or_overlap_the_inputs():
    kernel = double()
    x = np.random.default_rng(0).normal(size=(10, 3))
    expected = 2 * x[:-1] + x[1:]
    out = np.zeros((9, 6))
    assert kernel(x[:-1], x[1:], out=out[:, ::2]).base is out
    np.testing.assert_array_equal(out[:, ::2], expected)
    kernel(x[:-1], x[1:], out=x[:-1])
    np.testing.assert_array_equal(x[:-1], expected)
    one, other = np.arange(3.0), np.ones(3)
    kernel(one, other, one)
    np.testing.assert_array_equal(one, [1, 3, 5])


def test_several_outputs_scalars_and_matrices_keep_their_shapes():
    def body(x):
        return {"s": x[0] * x[1], "m": np.outer(x, x), "one": np.array([x[0]], dtype=object)}

    kernel = compile_function(sc.trace(body, {"x": 2}), cache=False)
    s, m, one = kernel([2.0, 3.0])
    assert s.shape == () and s == 6
    np.testing.assert_array_equal(m, [[4, 6], [6, 9]])
    assert one.shape == (1,)
    s, m, one = kernel(np.full((4, 5, 2), 2.0))
    assert s.shape == (4, 5) and m.shape == (4, 5, 2, 2) and one.shape == (4, 5, 1)
    ready = (np.empty(()), np.empty((2, 2)), np.empty(1))
    assert all(a is b for a, b in zip(kernel(np.array([2.0, 3.0]), *ready), ready))
    assert all(a is b for a, b in zip(kernel([2.0, 3.0], out=ready), ready))
    assert kernel.outputs == {"s": (), "m": (2, 2), "one": (1,)} and kernel.inputs == {"x": (2,)}


def test_empty_inputs_and_constant_outputs():
    kernel = compile_function(sc.trace(lambda x, y: np.array([4.0, x[0]], dtype=object), {"x": 1, "y": 0}), cache=False)
    np.testing.assert_array_equal(kernel([1.0], []), [4, 1])
    np.testing.assert_array_equal(kernel(np.ones((3, 1)), np.zeros((3, 0))), [[4, 1]] * 3)
    constant = compile_function(sc.Function({"x": 0}, {"c": np.array([1.0, 2.0])}, sc.Graph()), cache=False)
    np.testing.assert_array_equal(constant(np.zeros(0)), [1, 2])


def test_wrong_calls_raise_and_say_what_is_expected():
    kernel, x = double(), np.ones(3)
    wrong = [
        (TypeError, (x,), {}), (TypeError, (x,) * 4, {}), (TypeError, (), {}), (TypeError, (x, x, x), {"out": x}),
        (TypeError, (x, x), {"nonsense": 1}), (TypeError, (x, x), {"out": (x, x)}),
        (ShapeError, (x, np.ones(4)), {}), (ShapeError, (x, 1.0), {}), (ShapeError, (x, None), {}),
        (ShapeError, (x, "abc"), {}), (ShapeError, (x, x + 1j), {}), (ShapeError, (x, [[1, 2], [3]]), {}),
        (ShapeError, (x, np.array([None] * 3)), {}), (ShapeError, (np.ones((2, 3)), np.ones((5, 3))), {}),
        (ShapeError, (x, x, np.ones(4)), {}), (ShapeError, (x, x, np.ones(3, "f4")), {}),
        (ShapeError, (x, x, [0, 0, 0]), {}), (ShapeError, (x, x, np.ones((3, 1))), {}),
        (ShapeError, (np.ones((2, 3)), x, np.ones(3)), {}), (ShapeError, (x, x), {"out": "abc"}),
        (MethodError, (x, x), {"threads": 0}), (MethodError, (x, x), {"threads": "two"}),
        (MethodError, (x, x), {"on_nonfinite": "ignore"}), (NonFiniteInput, (x, x * np.nan), {}),
    ]  # fmt: skip
    for _ in range(2):  # before and after the builtin is made
        for error, args, options in wrong:
            with pytest.raises(error) as caught:
                kernel(*args, **options)
            assert isinstance(caught.value, KinloopError) or error is TypeError
        kernel(x, x)
    with pytest.raises(ShapeError, match=r"'y' of kernel double.* must have shape \(..., 3\), received \(4,\)"):
        kernel(x, np.ones(4))
    locked = np.ones(3)
    locked.flags.writeable = False
    with pytest.raises(ShapeError, match="read-only"):
        kernel(x, x, locked)
    np.testing.assert_array_equal(kernel(locked, locked), [3, 3, 3])
