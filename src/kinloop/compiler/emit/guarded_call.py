"""The function behind a kernel's guarded builtin, as LLVM IR: @guarded(self, args, nargs, kwnames).

It computes one state in ready arrays where nothing is doubtful: no input is beyond its limit, another kernel, the
judge, finds nothing wrong with the first input, and all outputs are finite. Whatever else, further arguments that are
not None and keywords included, goes to another callable with the same arguments, which explains or does it all again.
`self` is a tuple of that callable and of an array of words (`kinloop.compiler.abi`).
"""

from __future__ import annotations

import functools

from kinloop.compiler.abi import (
    DATA,
    JUDGE,
    JUDGE_OUTPUTS,
    JUDGE_SCRATCH,
    JUDGE_TABLE,
    JUDGED,
    LIMITS,
    symbol,
)
from kinloop.compiler.emit.builtin_wrapper import PARAMETERS, BuiltinCall
from kinloop.compiler.emit.ir import Module, Value, Writer
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.emit.lane_arithmetic import LaneArithmetic, any_lane
from kinloop.compiler.emit.vector_type import Vector

_SUMS = 4  # side by side in @finite


def write_guarded(module: Module, layout: Layout, scratch: int, fma: bool) -> None:
    """@guarded and what only it calls; @call and all that it needs are there already."""
    module.declare("ptr", symbol("PyTuple_GetItem"), "ptr", "i64")
    module.declare_object(symbol("None"))
    _write_within(module, layout.block)
    _write_finite(module, layout.block, fma)
    with module.function("ptr", "guarded", *PARAMETERS, public=True) as w:
        call = _GuardedCall(w, layout, scratch)
        inputs = call.state()
        for k, (data, n) in enumerate(zip(inputs, layout.inputs, strict=True)):
            call.require_within(data, n, call.word(LIMITS + k, "double"))
        call.judge(inputs[0])
        call.take(inputs)
        outputs = call.new_outputs()
        call.run(outputs)
        finite = "true"
        for output, array in zip(outputs, layout.wanted, strict=True):
            own = w.call("i1", "finite", f"ptr {output.data}", f"i64 {array.size}")
            finite = w.integer("and", finite, own, "i1")
        call.require_clean(finite, outputs)
        call.finish(outputs)


class _GuardedCall(BuiltinCall):
    """A call whose outputs are always new."""

    def forms(self) -> tuple[str, str]:
        """All inputs, and behind them nothing but None."""
        w, n_in = self.writer, len(self.layout.inputs)
        self.require(w.compare("sge", "%nargs", n_in))
        with w.count(n_in, "%nargs") as more:
            given = w.load("ptr", w.offset("%args", more.index, "ptr"), 8)
            self.require(w.compare("eq", given, f"@{symbol('None')}", "ptr"))
        self.words = w.load("ptr", w.offset(self._item(1), DATA), 8)
        return "false", "true"

    def other(self) -> str:
        return self._item(0)

    def _item(self, k: int) -> str:
        return self.writer.call("ptr", symbol("PyTuple_GetItem"), "ptr %self", f"i64 {k}")

    def word(self, place: int, kind: str) -> str:
        """One of the words."""
        return self.writer.load(kind, self.writer.offset(self.words, place, "i64"), 8)

    def require_within(self, data: str, n: Value, limit: str) -> None:
        """Take the slow way unless `n` numbers are no larger than a limit."""
        self.require(self.writer.call("i1", "within", f"ptr {data}", f"i64 {n}", f"double {limit}"))

    def judge(self, data: str) -> None:
        """Have the judge, if there is one, look at the first input: what it says counts as wrong above 1."""
        w, judge = self.writer, self.word(JUDGE, "ptr")
        with w.when(w.compare("ne", judge, "null", "ptr")):
            table = w.offset(self.words, JUDGE_TABLE, "i64")
            w.store("ptr", data, table, 8)
            w.new(f"call i64 {judge}(i64 0, i64 1, ptr {table}, ptr {self.word(JUDGE_SCRATCH, 'ptr')})")
            self.require_within(self.word(JUDGE_OUTPUTS, "ptr"), self.word(JUDGED, "i64"), "1.0")


def _write_within(module: Module, block: Vector) -> None:
    """@within(numbers, count, limit): whether no number is nan or larger than a limit, up to its sign."""
    W, T, R = block.width, block.type, block.real
    with module.function("i1", "within", "ptr %numbers", "i64 %n", f"{R} %limit") as w:
        first = w.new(f"insertelement {T} poison, {R} %limit, i32 0")
        limits = w.new(f"shufflevector {T} {first}, {T} poison, <{W} x i32> zeroinitializer")
        whole = w.integer("and", "%n", -W)
        with w.count(0, whole, W, [(block.bits, "zeroinitializer")]) as blocks:
            beyond = _beyond(w, block, blocks.index, limits)
            blocks.following = [w.integer("or", blocks.carried[0], beyond, block.bits)]
        some = any_lane(w, block, w.new(f"icmp ne {block.bits} {blocks.results[0]}, zeroinitializer"))
        one = block.one_lane()
        with w.count(whole, "%n", carry=[(one.bits, w.new(f"sext i1 {some} to {one.bits}"))]) as single:
            beyond = _beyond(w, one, single.index, "%limit")
            single.following = [w.integer("or", single.carried[0], beyond, one.bits)]
        w.ret("i1", w.compare("eq", single.results[0], 0, one.bits))


def _beyond(w: Writer, vector: Vector, index: str, limit: str) -> str:
    """All bits set in lanes where one of %numbers is nan or beyond the limit."""
    T = vector.type
    x = w.load(T, w.offset("%numbers", index, vector.real), vector.real_size)
    size = w.call(T, f"llvm.fabs.{vector.suffix}", f"{T} {x}")
    return w.new(f"sext {vector.truth} {w.new(f'fcmp ugt {T} {size}, {limit}')} to {vector.bits}")


def _write_finite(module: Module, block: Vector, fma: bool) -> None:
    """@finite(numbers, count): whether all numbers are. Sums of 0 x stay 0 then; several of them wait less for each."""
    with module.function("i1", "finite", "ptr %numbers", "i64 %n") as w:
        whole = w.integer("and", "%n", -_SUMS * block.width)
        with w.count(0, whole, _SUMS * block.width, [(block.type, block.const(0.0))] * _SUMS) as blocks:
            at = [w.integer("add", blocks.index, block.width * k) for k in range(_SUMS)]
            blocks.following = [_add_nothing(w, block, x, k, fma) for x, k in zip(blocks.carried, at, strict=True)]
        total = functools.reduce(LaneArithmetic(w, block, fma).add, map(str, blocks.results))
        some = any_lane(w, block, w.new(f"fcmp uno {block.type} {total}, zeroinitializer"))
        one = block.one_lane()
        with w.count(whole, "%n", carry=[("i1", some)]) as single:
            x = _add_nothing(w, one, one.const(0.0), single.index, fma)
            bad = w.new(f"fcmp uno {one.type} {x}, 0.0")
            single.following = [w.integer("or", single.carried[0], bad, "i1")]
        w.ret("i1", w.integer("xor", single.results[0], "true", "i1"))


def _add_nothing(w: Writer, vector: Vector, total: str, index: str, fma: bool) -> str:
    """A sum and 0 times a number: nan if that is not finite."""
    x = w.load(vector.type, w.offset("%numbers", index, vector.real), vector.real_size)
    return LaneArithmetic(w, vector, fma).fma(x, vector.const(0.0), total)
