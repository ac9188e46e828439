"""The writer of IR: what its branches and loops compute, compiled and run."""

from __future__ import annotations

import ctypes

import pytest

from kinloop.compiler.abi import symbol
from kinloop.compiler.emit.ir import ANYWHERE, LIKELY, UNLIKELY, Module
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.run.compilation import compile_text
from kinloop.compiler.run.host import host
from kinloop.compiler.run.library import Library


@pytest.fixture
def compiled():
    """Compile a module and hand out its functions of integers, @f; their libraries live as long as the test."""
    libraries = []

    def compile_module(module, count):
        libraries.append(Library([compile_text(module.text(), host())], host()))
        return libraries[-1].function("f", *[ctypes.c_int64] * (1 + count))

    return compile_module


@pytest.mark.parametrize("at_least_once", [False, True])
@pytest.mark.parametrize("step", [1, 3])
def test_a_counted_loop_hands_its_values_on(compiled, at_least_once, step):
    module = Module()
    with module.function("i64", "f", "i64 %start", "i64 %stop", public=True) as w:
        carry = [("i64", 0), ("i64", 1)]
        with w.count("%start", "%stop", step, carry, at_least_once) as loop:
            total, product = loop.carried
            loop.following = [w.integer("add", total, loop.index), w.integer("mul", product, 2)]
        w.ret("i64", w.integer("add", w.integer("mul", loop.results[0], 1000), loop.results[1]))
    f = compiled(module, 2)
    for start, stop in ((0, 1), (0, 7), (3, 8), (2, 2), (0, 0)):
        if start < stop or not at_least_once:
            indices = range(start, stop, step)
            assert f(start, stop) == 1000 * sum(indices) + 2 ** len(indices)


def test_a_loop_with_known_ends_needs_no_test_before_it(compiled):
    module = Module()
    with module.function("i64", "f", public=True) as w:
        with w.count(0, 5, carry=[("i64", 0)]) as loop:
            loop.following = [w.integer("add", loop.carried[0], loop.index)]
        w.ret("i64", loop.results[0])
    assert module.text().count("icmp") == 1
    assert compiled(module, 0)() == 10


def test_a_loop_of_no_rounds_gives_what_it_began_with(compiled):
    module = Module()
    with module.function("i64", "f", "i64 %x", public=True) as w:
        with w.count(0, 0, carry=[("i64", "%x")]) as loop:
            loop.following = [7]
        w.ret("i64", loop.results[0])
    assert compiled(module, 1)(42) == 42


def test_loops_nest_and_may_be_left_early(compiled):
    """How often the sum of indices (i, j), j <= i, can grow before it passes a limit."""
    module = Module()
    with module.function("i64", "f", "i64 %n", "i64 %limit", public=True) as w:
        with w.count(0, "%n", carry=[("i64", 0), ("i64", 0)]) as outer:
            outer.leave_unless(w.compare("sle", outer.carried[0], "%limit"))
            stop = w.integer("add", outer.index, 1)
            with w.count(0, stop, carry=[("i64", outer.carried[0])], at_least_once=True) as inner:
                inner.following = [w.integer("add", inner.carried[0], inner.index)]
            outer.following = [*inner.results, w.integer("add", outer.carried[1], 1)]
        w.ret("i64", w.integer("add", w.integer("mul", outer.results[0], 1000), outer.results[1]))
    f = compiled(module, 2)
    for n, limit in ((0, 5), (4, 100), (9, 5), (9, -1)):
        total = rounds = 0
        for i in range(n):
            if total > limit:
                break
            total, rounds = total + sum(range(i + 1)), rounds + 1
        assert f(n, limit) == 1000 * total + rounds


def test_a_branch_merges_what_it_computed_with_what_was_there(compiled):
    module = Module()
    with module.function("i64", "f", "i64 %x", public=True) as w:
        with w.when(w.compare("slt", "%x", 0), UNLIKELY) as negative:
            inside = w.integer("sub", 0, "%x")
            with w.when(w.compare("sgt", inside, 100)) as large:
                w.integer("add", inside, 1)
            inside = large.merge("i64", 100, inside)
        w.ret("i64", negative.merge("i64", inside, "%x"))
    f = compiled(module, 1)
    assert [f(x) for x in (5, 0, -5, -500)] == [5, 0, 5, 100]


def test_requirements_leave_for_a_label_and_exceptions_leave_the_function(compiled):
    module = Module()
    with module.function("i64", "f", "i64 %x", public=True) as w:
        refused = w.label("refused")
        w.require(w.compare("ne", "%x", 1), otherwise=refused)
        with w.unless(w.compare("ne", "%x", 2)):
            w.ret("i64", -2)
        yes, no, end = w.label("yes"), w.label("no"), w.label("end")
        w.branch(w.compare("eq", "%x", 3), yes, no, LIKELY)
        w.block(yes)
        w.jump(end)
        w.block(no)
        w.require(w.compare("ne", "%x", 4), otherwise=refused)
        no = w.here
        w.jump(end)
        w.block(end)
        w.ret("i64", w.phi("i64", (30, yes), ("%x", no)))
        w.block(refused)
        w.ret("i64", -1)
    f = compiled(module, 1)
    assert [f(x) for x in (0, 1, 2, 3, 4, 5)] == [0, -1, -2, 30, -1, 5]


def test_memory_calls_and_selection(compiled):
    """@f fills an array by calls of an inner function and adds up its even places."""
    module = Module()
    with module.function("void", "square", "ptr %to", "i64 %x") as w:
        w.store("i64", w.integer("mul", "%x", "%x"), "%to", 8)
        w.ret()
    with module.function("i64", "f", "i64 %n", public=True) as w:
        array = w.new("alloca [64 x i64], align 8")
        with w.count(0, "%n") as fill:
            w.call("void", "square", f"ptr {w.offset(array, fill.index, 'i64')}", f"i64 {fill.index}")
        with w.count(0, "%n", carry=[("i64", 0)]) as add:
            x = w.load("i64", w.offset(array, w.integer("mul", add.index, 8)), 8)
            even = w.compare("eq", w.integer("and", add.index, 1), 0)
            add.following = [w.integer("add", add.carried[0], w.select(even, "i64", x, 0))]
        w.ret("i64", add.results[0])
    f = compiled(module, 1)
    assert [f(n) for n in (0, 1, 9)] == [0, 0, 4 + 16 + 36 + 64]


def test_a_table_of_numbers_is_written_once_under_two_names(compiled):
    numbers, others = (1.0, -25.0, 7.0), (30.0, 40.0, 50.0)
    module = Module()
    for name, entries in (("a", numbers), ("b", others), ("c", numbers)):
        module.numbers(name, "double", entries, Vector(8, "double").each)
    with module.function("i64", "f", "i64 %k", public=True) as w:
        first, second = (w.load("double", w.offset(f"@{name}", "%k", "double"), 8) for name in ("b", "c"))
        total = w.new(f"fadd double {first}, {second}")
        w.ret("i64", w.new(f"fptosi double {total} to i64"))
    assert module.text().count("constant [3 x double]") == 2
    f = compiled(module, 1)
    assert [f(k) for k in range(3)] == [31, 15, 57]


def test_a_module_may_call_nothing_but_functions_from_elsewhere(compiled):
    """Loading one ended the process where room for their addresses was not counted."""
    module = Module()
    module.declare("i64", symbol("yield"))
    module.declare("double", "llvm.fabs.f64", "double %x")
    with module.function("i64", "f", "i64 %n", public=True) as w:
        w.ret("i64", w.integer("mul", "%n", w.call("i64", symbol("yield"))))
    lines = [line for line in module.text().splitlines() if line.startswith("declare")]
    assert [line.endswith(ANYWHERE) for line in lines if "yield" in line or "fabs" in line].count(True) == 1
    assert compiled(module, 1)(7) == 0
