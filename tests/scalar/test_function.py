"""Traced functions: replay, operation counts, rolled and unrolled loops."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc


def newton_root(carry, given):
    """One step of Newton's method for the square root."""
    return np.array([0.5 * (carry[0] + given[0] / carry[0]), carry[1] + 1.0], dtype=object)


def test_replay_on_numbers_is_the_function():
    f = sc.trace(lambda x, y: {"a": x * y, "b": np.array([x[0] / y[1], 2.0])}, {"x": 2, "y": 2})
    a, b = f([1.0, 2.0], [3.0, 4.0])
    np.testing.assert_array_equal(a, [3.0, 8.0])
    np.testing.assert_array_equal(b, [0.25, 2.0])
    assert a.dtype == b.dtype == float


def test_replay_on_symbols_is_composition():
    inner = sc.trace(lambda x: np.array([sc.sin(x[0]) + x[1]]), {"x": 2})
    outer = sc.trace(lambda z: inner([z[0], 0.5]) * 2.0, {"z": 1})
    np.testing.assert_allclose(outer([0.3]), [2 * (np.sin(0.3) + 0.5)], rtol=1e-15)
    assert outer.operations == {"sin": 1, "add": 1, "mul": 1, "total": 3}


def test_operations_count_only_what_outputs_need():
    def f(x):
        _ = sc.exp(x[0])
        return np.array([x[0] * x[1] + x[0] * x[1]])

    assert sc.trace(f, {"x": 2}).operations == {"mul": 1, "add": 1, "total": 2}


def test_wrong_number_of_inputs_names_what_is_expected():
    f = sc.trace(lambda q, v: q * v, {"q": 1, "v": 1})
    with pytest.raises(TypeError, match=r"expected 2 inputs \(q, v\), received 1"):
        f([1.0])


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_a_rolled_loop_equals_its_rounds_written_out(rounds):
    rolled = sc.trace(lambda x: sc.repeat(rounds, newton_root, [x[0], 0.0], [x[0]]), {"x": 1})
    flat = sc.unrolled(rolled)
    assert any(s.op == "loop" for s in rolled.nodes) and not any(s.op == "loop" for s in flat.nodes)
    value = np.array([2.0, 0.0])
    for _ in range(rounds):
        value = newton_root(value, [2.0])
    np.testing.assert_array_equal(rolled([2.0]), value.astype(float))
    np.testing.assert_array_equal(flat([2.0]), value.astype(float))


def test_a_loop_of_numbers_runs_at_once():
    out = sc.repeat(4, newton_root, [9.0, 0.0], [9.0])
    assert not any(isinstance(x, sc.Symbol) for x in out) and out[1] == 4.0


def test_loops_nest():
    def outer(carry, given):
        return sc.repeat(2, lambda c, g: c + g, carry, given)

    f = sc.trace(lambda x: sc.repeat(3, outer, [0.0], x), {"x": 1})
    assert f([1.5])[0] == 9.0 and sc.unrolled(f)([1.5])[0] == 9.0


def test_a_gated_loop_leaves_alone_who_does_not_want_it():
    f = sc.trace(lambda x: sc.repeat(3, lambda c, g: c * g[0], [x[0]], [x[1]], when=x[2] < 0.0), {"x": 3})
    assert f([1.0, 2.0, -1.0])[0] == 8.0 and f([1.0, 2.0, 1.0])[0] == 1.0
    assert sc.unrolled(f)([1.0, 2.0, -1.0])[0] == 8.0
    assert sc.repeat(3, lambda c, g: 2.0 * c, np.ones(1), when=False)[0] == 1.0


def test_loops_count_every_round():
    f = sc.trace(lambda x: sc.repeat(7, lambda c, g: sc.sin(c) * g[0], x, x), {"x": 1})
    assert f.operations == {"sin": 7, "mul": 7, "total": 14}


def test_derivatives_go_through_unrolled_loops():
    f = sc.unrolled(sc.trace(lambda x: sc.repeat(6, newton_root, [x[0], 0.0], [x[0]]), {"x": 1}))
    x = f.graph.inputs("x", 1)
    slope = sc.Function({"x": 1}, {"d": sc.jacobian(f.outputs["out"][:1], x)}, f.graph)
    np.testing.assert_allclose(slope([2.0])[0, 0], 0.5 / np.sqrt(2.0), rtol=1e-9)


def test_what_a_loop_uses_from_outside_must_be_given():
    with pytest.raises(ValueError, match="two different traces"):
        sc.trace(lambda x: sc.repeat(2, lambda c, g: c * x[0], [x[0]]), {"x": 1})
