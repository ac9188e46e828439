"""The code of a graph computes what the graph says, special values included."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from tests.compiler.graphs import every_operation, random_function, random_states, reference


@pytest.mark.parametrize("seed", range(6))
def test_a_kernel_replays_its_graph(seed):
    function = random_function(seed)
    kernel = compile_function(function, cache=False)
    q, v = random_states(np.random.default_rng(seed), 37)
    expected = reference(function, q, v)
    for got, want in zip(kernel(q, v), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    for got, want in zip(kernel(q[5], v[5]), expected, strict=True):
        np.testing.assert_allclose(got, want[5], rtol=1e-13, atol=1e-13)


def test_every_operation_answers_as_numpy_for_special_values():
    """Infinite and nan intermediates too: they arise inside, since the inputs themselves must be finite."""
    function = every_operation()
    kernel = compile_function(function, cache=False)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e300, -1e300, 1e-310, 1e5, 3e7, 1e15, np.pi]
    x, y = (a.reshape(-1, 1) for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        (want,) = reference(function, x, y)
    np.testing.assert_allclose(kernel(x, y), want, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose([kernel(a, b) for a, b in zip(x, y)], want, rtol=1e-14, atol=1e-15)


def test_infinity_and_nan_inside_the_graph_reach_every_function():
    unary = (sc.sin, sc.cos, sc.tan, sc.asin, sc.acos, sc.atan, sc.sqrt, sc.exp, sc.log, sc.abs, sc.floor)

    def body(x):
        inf, nan = 1.0 / x[0], (x[0] * 1.0) / x[0]
        out = [f(z) for f in unary for z in (inf, -inf, nan)]
        for f in (sc.minimum, sc.maximum, sc.atan2):
            out += [f(a, b) for a in (inf, nan, 1.0 + x[0]) for b in (-inf, nan, 2.0 + x[0])]
        return np.array(out, dtype=object)

    function = sc.trace(body, {"x": 1})
    # x / x is folded to 1 by the graph: nan has to come from 0 * inf.
    nan_function = sc.trace(lambda x: body([x[0] - x[1], x[2]]), {"x": 3})
    for made, x in ((function, np.zeros((1, 1))), (nan_function, np.array([[1.0, 1.0, 0.0]]))):
        (want,) = reference(made, x)
        kernel = compile_function(made, cache=False)
        np.testing.assert_allclose(kernel(x)[0], want[0], rtol=1e-15)
        np.testing.assert_allclose(kernel(np.repeat(x, 5, axis=0)), np.repeat(want, 5, axis=0), rtol=1e-15)


def _clamped(mark, q, v):
    """Nested choices with special values inside; `mark` says which are usual."""
    inf = 1.0 / (q[0] - q[0] * v[0])
    odd = [q[1], inf, -inf, inf - inf, v[1] * q[2]]
    low, high = -v[0], v[2] * v[2]
    held = [mark(sc.minimum(mark(sc.maximum(x, low)), high)) for x in odd]
    rare = [sc.sqrt(x * x + v[1]) for x in held]
    rare = [mark(sc.where(v[2] < q[3], x / y, sc.exp(-y))) for x, y in zip(odd, rare, strict=True)]
    found = [mark(sc.where(q[0] < v[0], x, y)) for x, y in zip(held, rare, strict=True)]
    return np.array([*found, rare[0] + held[1], found[0] - found[1]], dtype=object)


@pytest.mark.parametrize("loop", [False, True])
def test_usual_choices_change_no_bit_and_no_count(loop):
    def body(mark):
        def straight(q, v):
            return _clamped(mark, q, v)

        def rounds(q, v):
            return sc.repeat(2, lambda c, given: _clamped(mark, c[:4], given), [*q, 0.5, 0.25, 0.125], [*v])

        return sc.trace(rounds if loop else straight, {"q": 4, "v": 3})

    plain, marked = body(lambda x: x), body(sc.usually)
    assert plain.operations == marked.operations
    plain, marked = (compile_function(f, cache=False) for f in (plain, marked))
    assert " phi double" in marked._core.build().text(1)
    for lanes in (1, marked.lanes):
        assert "rare" in marked._core.build().text(lanes) and "rare" not in plain._core.build().text(lanes)
    rng = np.random.default_rng(4)
    q, v = (np.repeat(x, n, axis=0) for x in random_states(rng, 24) for n in ([1] * 16 + [16] * 8,))  # lanes agree
    q[::5, 0], v[::5, 0] = 1.0, 1.0  # infinity and nan come up
    q[::3, 1] = -v[::3, 0]  # equal values are compared
    want = plain(q, v).tobytes()
    assert np.isnan(plain(q, v)).any() and np.isfinite(plain(q, v)).any()
    assert marked(q, v).tobytes() == want
    assert np.array([marked(a, b) for a, b in zip(q, v, strict=True)]).tobytes() == want


def test_single_precision_agrees_to_its_own_accuracy():
    function = random_function(1, loops=False)
    q, v = random_states(np.random.default_rng(2), 50)
    for single, full in zip(compile_function(function, dtype="float32")(q, v), compile_function(function)(q, v)):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, full, rtol=3e-4, atol=3e-5)
