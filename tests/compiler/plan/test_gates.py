"""What nothing but a gated loop needs is left out with it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import kinloop.scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.plan.gates import find_gates
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.plan.stage_types import Segment

# Values: 0 and 1 are inputs, 2 says whether the loop is wanted; the loop 9 carries its first argument.
OPERATIONS = {
    2: ("lt", (0, 1)),
    3: ("mul", (0, 0)),
    4: ("add", (3, 1)),
    5: ("sub", (0, 1)),
    6: ("sqrt", (5,)),
    9: ("loop", (0, 2, 4, 6)),
    10: ("pick", (9,)),
}
LOOP = SimpleNamespace(carried=1, gate=1)


def test_operations_that_end_in_one_loop_get_its_gate():
    gates = find_gates(OPERATIONS, {9: LOOP}, [10])
    assert {k: gates[k] for k in OPERATIONS if k in gates} == {3: 2, 4: 2, 5: 2, 6: 2}


def test_what_is_needed_elsewhere_too_is_always_computed():
    assert set(find_gates(OPERATIONS, {9: LOOP}, [10, 3])) & set(OPERATIONS) == {4, 5, 6}
    again = {**OPERATIONS, 11: ("sin", (6,))}
    assert set(find_gates(again, {9: LOOP}, [10, 11])) & set(OPERATIONS) == {3, 4}


def test_two_loops_with_different_gates_share_nothing():
    other = {**OPERATIONS, 7: ("lt", (1, 0)), 11: ("loop", (1, 7, 6)), 12: ("pick", (11,))}
    gates = find_gates(other, {9: LOOP, 11: LOOP}, [10, 12])
    assert set(gates) & set(OPERATIONS) == {3, 4}


def test_a_loop_that_runs_only_where_another_does_shares_what_that_needs():
    """8 says "2 and 7": where 2 is not, nothing of the second loop is needed either."""
    other = {**OPERATIONS, 7: ("lt", (1, 0)), 8: ("and", (2, 7)), 11: ("loop", (1, 8, 6)), 12: ("pick", (11,))}
    gates = find_gates(other, {9: LOOP, 11: LOOP}, [10, 12])
    assert {k: gates[k] for k in OPERATIONS if k in gates} == {3: 2, 4: 2, 5: 2, 6: 2}
    alone = find_gates({**other, 9: ("loop", (0, 2, 4))}, {9: LOOP, 11: LOOP}, [10, 12])
    assert {k: alone[k] for k in (3, 4, 5, 6)} == {3: 2, 4: 2, 5: 8, 6: 8}


def test_a_loop_without_a_gate_or_with_a_constant_one_leaves_nothing_out():
    assert not find_gates(OPERATIONS, {9: SimpleNamespace(carried=1, gate=None)}, [10])
    constant = {**OPERATIONS, 9: ("loop", (0, 1.0, 4, 6))}
    assert not find_gates(constant, {9: LOOP}, [10])


def test_what_a_loop_alone_needs_is_copied_only_where_it_runs():
    def f(x):
        first = sc.repeat(3, lambda c, g: c * g[0], x[:4], x[4:5])
        once = sc.repeat(
            5, lambda c, g: np.array([c[0] + c[1] * g[0], *c[1:]]), first, first, x[5] > 0.0, lambda c: c[0] > 9.0
        )
        return np.array([once[0], x[4]])

    function = sc.trace(f, {"x": 6})
    idle = [s for s in make_plan(function, True).stages if isinstance(s, Segment) and s.gate is not None and s.copies]
    assert idle and all(not s.values for s in idle)
    kernel, x = compile_function(function, name="idle"), np.random.default_rng(0).normal(size=(21, 6))
    np.testing.assert_array_equal(kernel(x), np.array([kernel(row) for row in x]))
    np.testing.assert_allclose(kernel(x), np.array([function(row) for row in x]), rtol=1e-12)
