"""The function behind guarded builtins, as the text of an LLVM module: @guarded(self, args, nargs, kwnames).

One function serves all kernels. It computes one state in ready arrays where nothing is doubtful: no input is beyond its
limit, another kernel, the judge, finds nothing wrong with the first input, and all outputs are finite. Whatever else,
keywords and further arguments that are not None included, goes to another callable with the same arguments, which
explains or does it all again. `self` is a tuple of that callable and of an array of words (`kinloop.compiler.abi`).
"""

from __future__ import annotations

import functools

from kinloop.compiler.abi import DATA, INPUT_WORDS, OUTPUT_WORDS, TYPE_NUMBER, Word, symbol
from kinloop.compiler.emit.argument_checks import INPUT, PARAMETERS, Argument
from kinloop.compiler.emit.array_table import ENTRY
from kinloop.compiler.emit.ir import LIKELY, Module, Value, Writer
from kinloop.compiler.emit.lane_arithmetic import LaneArithmetic, any_lane, declare_intrinsics
from kinloop.compiler.emit.vector_type import Vector

_DTYPE = "float64"
_SUMS = 8  # side by side in @finite: as many additions as a processor has under way


def guard_text(width: int, fma: bool) -> str:
    """LLVM IR of @guarded, for vector registers of `width` numbers."""
    module, block = Module(), Vector(width, "double")
    for kind in (block, block.one_lane()):
        declare_intrinsics(module, kind)
    for name in ("ndarray", "None", _DTYPE):
        module.declare_object(symbol(name))
    module.declare("ptr", symbol("PyObject_Vectorcall"), "ptr", "ptr", "i64", "ptr")
    module.declare("ptr", symbol("PyArray_New"), "ptr", "i32", "ptr", "i32", "ptr", "ptr", "i32", "i32", "ptr")
    module.declare("ptr", symbol("PyTuple_New"), "i64")
    module.declare("ptr", symbol("PyTuple_GetItem"), "ptr", "i64")
    module.declare("i32", symbol("PyTuple_SetItem"), "ptr", "i64", "ptr")
    module.declare("void", symbol("Py_DecRef"), "ptr")
    _write_within(module, block)
    _write_finite(module, block, fma)
    with module.function("ptr", "guarded", *PARAMETERS, public=True) as w:
        _GuardedCall(w).write()
    return module.text()


class _GuardedCall:
    """Writes @guarded, piece by piece."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.slow = writer, writer.label("slow")

    def write(self) -> None:
        w = self.writer
        self._require(w.compare("eq", "%kwnames", "null", "ptr"))
        self.words = w.load("ptr", w.offset(self._item(1), DATA), 8)
        self.n_in, self.n_out = self._word(Word.INPUTS), self._word(Word.OUTPUTS)
        self._require_nothing_more()
        arrays = w.integer("add", self.n_in, self.n_out)
        self.table = w.new(f"alloca i8, i64 {w.integer('mul', arrays, ENTRY)}, align 8")
        self.made = w.new(f"alloca ptr, i64 {self.n_out}, align 8")
        self._inputs()
        self._judge()
        self._outputs()
        kernel, scratch = self._word(Word.KERNEL, "ptr"), self._word(Word.SCRATCH, "ptr")
        w.new(f"call i64 {kernel}(i64 0, i64 1, ptr {self.table}, ptr {scratch})")
        self._require_finite()
        self._finish()
        w.block(self.slow)
        other = f"ptr {self._item(0)}"
        w.ret("ptr", w.call("ptr", symbol("PyObject_Vectorcall"), other, *PARAMETERS[1:]))

    def _require(self, condition: str) -> None:
        """Take the slow way unless the condition holds."""
        self.writer.require(condition, otherwise=self.slow)

    def _item(self, k: int) -> str:
        return self.writer.call("ptr", symbol("PyTuple_GetItem"), "ptr %self", f"i64 {k}")

    def _word(self, place: Value, kind: str = "i64") -> str:
        return self.writer.load(kind, self.writer.offset(self.words, place, "i64"), 8)

    def _require_nothing_more(self) -> None:
        """All inputs are there, and behind them nothing but None."""
        w = self.writer
        self._require(w.compare("sge", "%nargs", self.n_in))
        with w.count(self.n_in, "%nargs") as more:
            given = w.load("ptr", w.offset("%args", more.index, "ptr"), 8)
            self._require(w.compare("eq", given, f"@{symbol('None')}", "ptr"))

    def _require_within(self, data: str, n: Value, limit: str) -> None:
        """`n` numbers are no larger than a limit."""
        self._require(self.writer.call("i1", "within", f"ptr {data}", f"i64 {n}", f"double {limit}"))

    def _enter(self, place: str, data: str) -> None:
        """Fill in an array of one row in the kernel's table."""
        w = self.writer
        entry = w.offset(self.table, w.integer("mul", place, ENTRY))
        w.store("ptr", data, entry, 8)
        w.store("i64", 0, w.offset(entry, ENTRY // 2), 8)

    def _inputs(self) -> None:
        """Every input is as expected; into the table."""
        w = self.writer
        with w.count(0, self.n_in) as k:
            argument = Argument(w, k.index, _DTYPE, INPUT, self.slow)
            place = w.integer("add", w.integer("mul", k.index, INPUT_WORDS), Word.LISTS)
            size, limit = self._word(place), self._word(w.integer("add", place, 1), "double")
            argument.require_shape([size])
            self._require_within(argument.data, size, limit)
            self._enter(k.index, argument.data)

    def _judge(self) -> None:
        """Have the judge, if there is one, look at the first input: what it says counts as wrong above 1."""
        w, judge = self.writer, self._word(Word.JUDGE, "ptr")
        with w.when(w.compare("ne", judge, "null", "ptr")):
            table = w.offset(self.words, Word.JUDGE_TABLE, "i64")
            w.store("ptr", w.load("ptr", self.table, 8), table, 8)
            scratch = self._word(Word.JUDGE_SCRATCH, "ptr")
            w.new(f"call i64 {judge}(i64 0, i64 1, ptr {table}, ptr {scratch})")
            self._require_within(self._word(Word.JUDGE_OUTPUT, "ptr"), self._word(Word.JUDGED), "1.0")

    def _output_word(self, k: str, which: int, kind: str = "i64") -> str:
        w = self.writer
        first = w.integer("add", w.integer("mul", self.n_in, INPUT_WORDS), Word.LISTS + which)
        return self._word(w.integer("add", first, w.integer("mul", k, OUTPUT_WORDS)), kind)

    def _outputs(self) -> None:
        """New arrays, into the table; without memory for one, those before go and NumPy's error is passed on."""
        w = self.writer
        with w.count(0, self.n_out) as k:
            axes = w.new(f"trunc i64 {self._output_word(k.index, 1)} to i32")
            kind = (f"ptr @{symbol('ndarray')}", f"i32 {axes}", f"ptr {self._output_word(k.index, 2, 'ptr')}")
            rest = (f"i32 {TYPE_NUMBER[_DTYPE]}", "ptr null", "ptr null", "i32 0", "i32 0", "ptr null")
            array = w.call("ptr", symbol("PyArray_New"), *kind, *rest)
            with w.unless(w.compare("ne", array, "null", "ptr")):
                self._drop(k.index)
                w.ret("ptr", "null")
            w.store("ptr", array, w.offset(self.made, k.index, "ptr"), 8)
            self._enter(w.integer("add", k.index, self.n_in), w.load("ptr", w.offset(array, DATA), 8))

    def _made(self, k: str) -> str:
        return self.writer.load("ptr", self.writer.offset(self.made, k, "ptr"), 8)

    def _drop(self, count: str) -> None:
        w = self.writer
        with w.count(0, count) as k:
            w.call("void", symbol("Py_DecRef"), f"ptr {self._made(k.index)}")

    def _require_finite(self) -> None:
        """All outputs are finite; else they go, and the slow way is taken."""
        w = self.writer
        with w.count(0, self.n_out, carry=[("i1", "true")]) as k:
            data = w.load("ptr", w.offset(self._made(k.index), DATA), 8)
            finite = w.call("i1", "finite", f"ptr {data}", f"i64 {self._output_word(k.index, 0)}")
            k.following = [w.integer("and", k.carried[0], finite, "i1")]
        good, spoilt = w.label("good"), w.label("spoilt")
        w.branch(str(k.results[0]), good, spoilt, LIKELY)
        w.block(spoilt)
        self._drop(self.n_out)
        w.jump(self.slow)
        w.block(good)

    def _finish(self) -> None:
        """Return the output array, or a tuple of them."""
        w = self.writer
        with w.unless(w.compare("ne", self.n_out, 1)):
            w.ret("ptr", w.load("ptr", self.made, 8))
        result = w.call("ptr", symbol("PyTuple_New"), f"i64 {self.n_out}")
        with w.unless(w.compare("ne", result, "null", "ptr")):
            self._drop(self.n_out)
            w.ret("ptr", "null")
        with w.count(0, self.n_out) as k:
            w.call("i32", symbol("PyTuple_SetItem"), f"ptr {result}", f"i64 {k.index}", f"ptr {self._made(k.index)}")
        w.ret("ptr", result)


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
