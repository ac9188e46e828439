"""Plans: segments, fused products, rolled loops, and compile time that grows with the operations only."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import build, compile_function, core
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.plan.stage_types import Angles, Repeat, Segment
from kinloop.compiler.run.host import host
from tests.compiler.graphs import chain, random_function, reference


def test_short_segments_change_nothing(monkeypatch):
    function = random_function(11, size=400)
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-1, 1, (21, 4)), rng.uniform(-1, 1, (21, 3))
    whole = compile_function(function, cache=False)(q, v)
    for length in (1, 7, 50):
        monkeypatch.setattr(build, "make_plan", lambda f, fuse, n=length, **how: make_plan(f, fuse, n, **how))
        for got, want in zip(compile_function(function, cache=False)(q, v), whole, strict=True):
            assert got.tobytes() == want.tobytes()


def test_a_host_without_fma_gets_separate_operations(monkeypatch):
    target = dataclasses.replace(host(), fma=False)
    monkeypatch.setattr(core, "host", lambda: target)
    function = random_function(13)
    made = compile_function(function, cache=False)
    assert "call double @llvm.fma" not in made.ir and "> @llvm.fma" not in made.ir.split("declare", 99)[-1]
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-1, 1, (9, 4)), rng.uniform(-1, 1, (9, 3))
    for got, want in zip(made(q, v), reference(function, q, v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def test_what_a_later_pass_needs_is_computed_there():
    def body(x, y):
        early = [a * b for a, b in zip(x, y, strict=True)]
        outward = [x[0]]
        for a in x[1:]:
            outward.append(outward[-1] * a + 1.0)
        for a, b in zip(reversed(early), reversed(outward), strict=True):
            outward[0] = (outward[0] + a) * b
        return np.array([outward[0]], dtype=object)

    plan = make_plan(sc.trace(body, {"x": 40, "y": 40}), fuse=False, segment=30)
    assert len(plan.stages) > 4
    assert plan.slots - plan.n_in - plan.n_out < 45  # the 40 that go outward wait, the 40 products do not


def newton(rounds):
    def body(x):
        return sc.repeat(
            rounds, lambda c, g: np.array([0.5 * (c[0] + g[0] / c[0])], dtype=object), [1.0 + x[0]], [x[0]]
        )

    return sc.trace(body, {"x": 1})


def test_a_loop_stays_rolled():
    few, many = make_plan(newton(3), True), make_plan(newton(3000), True)
    assert few.slots == many.slots and len(few.stages) == len(many.stages)
    assert any(isinstance(stage, Repeat) for stage in few.stages)
    made, longer = (compile_function(newton(rounds), cache=False) for rounds in (30, 90))
    assert made.operations["total"] == 30 * 3 + 1 and len(made.ir) == len(longer.ir)
    np.testing.assert_allclose(made([2.0]), [np.sqrt(2.0)], rtol=1e-15)
    np.testing.assert_allclose(made([[2.0], [9.0], [16.0]]), [[np.sqrt(2.0)], [3], [4]], rtol=1e-15)


def test_a_loop_of_no_rounds_hands_back_what_it_was_given():
    np.testing.assert_array_equal(compile_function(newton(0), cache=False)([2.0]), [3.0])


def test_nested_loops_and_loops_after_loops():
    def inner(c, g):
        return np.array([c[0] + g[0], sc.sin(c[1]) + c[0]], dtype=object)

    def outer(c, g):
        return sc.repeat(3, inner, c, [g[0] * c[1]])

    def body(x):
        first = sc.repeat(4, outer, [x[0], x[1]], [x[2]])
        again = sc.repeat(2, outer, first, [sc.cos(first[0])])
        return np.array([*first, *again, x[0]], dtype=object)

    function = sc.trace(body, {"x": 3})
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (13, 3))
    (want,) = reference(function, x)
    made = compile_function(function, cache=False)
    np.testing.assert_allclose(made(x), want, rtol=1e-12)
    np.testing.assert_allclose([made(row) for row in x], want, rtol=1e-12)


def test_lanes_that_do_not_want_a_loop_do_not_notice_it():
    """Bit for bit what a state gets alone, whether its neighbours want the loop or not."""

    def body(x):
        end = sc.repeat(5, lambda c, g: np.array([sc.sin(c[0]) + g[0]], dtype=object), [x[0]], [x[1]], when=x[2] < 0.0)
        again = [x[1] * x[2] + sc.sqrt(1.0 + x[0] * x[0]), x[0] / x[1]]
        more = sc.repeat(1, lambda c, g: g, [0.0, 0.0], again, when=x[2] < 0.0)
        return np.array([*end, *more], dtype=object)

    function = sc.trace(body, {"x": 3})
    plan = make_plan(function, True)
    assert all(s.gate is not None for s in plan.stages if isinstance(s, Repeat))
    left_out = [v for s in plan.stages if isinstance(s, Segment) and s.gate is not None for v in s.values]
    assert {plan.operations[v][0] for v in left_out} >= {"sqrt", "div"}
    made = compile_function(function, cache=False)
    x = np.random.default_rng(0).uniform(-1, 1, (41, 3))
    together, alone = made(x), np.array([made(row) for row in x])
    np.testing.assert_array_equal(together, alone)
    idle = x[:, 2] >= 0.0
    np.testing.assert_array_equal(together[idle], np.stack([x[idle, 0], 0 * x[idle, 0], 0 * x[idle, 0]], axis=1))
    np.testing.assert_allclose(together, reference(function, x)[0], rtol=1e-14, atol=1e-15)


def test_every_lane_ends_its_loop_when_it_has_had_enough():
    """Square roots by Newton's method, to 1e-12: far guesses take more rounds, in company as alone."""

    def better(c, g):
        return np.array([0.5 * (c[0] + g[0] / c[0]), c[1] + 1.0, g[0]], dtype=object)

    def good(c):
        return sc.abs(c[0] * c[0] - c[2]) < 1e-12 * c[2]

    goal = sc.trace(lambda x: sc.repeat(60, better, [x[0], 0.0, x[0]], [x[0]], until=good, usual=6), {"x": 1})
    assert goal.operations["total"] < 6 * 20
    made = compile_function(goal, cache=False)
    x = 10.0 ** np.random.default_rng(0).uniform(-3, 6, (23, 1))
    together, alone = made(x), np.array([made(row) for row in x])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(together[:, 0], np.sqrt(x[:, 0]), rtol=1e-12)
    assert len(set(together[:, 1])) > 3 and np.max(together[:, 1]) < 30
    np.testing.assert_allclose(together, reference(goal, x)[0], rtol=1e-14)


def test_a_value_fed_to_a_loop_is_still_right_after_it():
    """The loop overwrites the slot its carry starts in."""

    def body(x):
        start = x[0] * x[1]
        (end,) = sc.repeat(3, lambda c, g: np.array([2.0 * c[0]], dtype=object), [start])
        return np.array([start, end, start + end], dtype=object)

    made = compile_function(sc.trace(body, {"x": 2}), cache=False)
    np.testing.assert_array_equal(made([3.0, 5.0]), [15, 120, 135])


def test_angles_are_grouped_by_what_they_wait_for():
    def body(x):
        once = np.array([sc.sin(a) + sc.cos(a) for a in x], dtype=object)
        return np.array([sc.cos(a) for a in once], dtype=object)

    plan = make_plan(sc.trace(body, {"x": 5}), True)
    assert [stage.count for stage in plan.stages if isinstance(stage, Angles)] == [5, 5]
    assert all(isinstance(stage, Segment | Angles) for stage in plan.stages)


def seconds_per_operation(length):
    function = chain(length)
    start = time.process_time()
    compile_function(function, cache=False).compile()
    return (time.process_time() - start) / function.operations["total"]


def test_compile_time_is_linear_in_operations():
    few = min(seconds_per_operation(300) for _ in range(3))
    many = min(seconds_per_operation(3000) for _ in range(2))
    assert many < 1.5 * few


@pytest.mark.slow
def test_compile_time_is_linear_to_100_000_operations():
    few = min(seconds_per_operation(300) for _ in range(5))
    many = seconds_per_operation(14_000)
    assert many < 1.5 * few
