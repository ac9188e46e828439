"""Rolled loops: one node that says what its rounds say, written out or not."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc


def newton_root(carry, given):
    """One step of Newton's method for the square root."""
    return np.array([0.5 * (carry[0] + given[0] / carry[0]), carry[1] + 1.0], dtype=object)


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
