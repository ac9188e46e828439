"""The functions behind guarded builtins, as the text of an LLVM module.

They serve all kernels. @guarded(self, args, nargs, kwnames) is the C function of a builtin for one state, or for rows,
in ready arrays; @rows(start, stop, words, table, memory) computes what it found ready, where nothing is doubtful: no
input is beyond its limit, another kernel, the judge, finds nothing wrong with the first input, and outputs are finite
and within theirs. Whatever else, keywords and further arguments included, goes to another callable with the same
arguments, which explains or does it all again; rows that are worth several threads go to a third, which
calls @rows. `self` is a tuple of these two callables, of an array of words (`kinloop.compiler.abi`) and of a list of
spare arrays (`spare_arrays`).
"""

from __future__ import annotations

from kinloop.compiler.abi import (
    BLOCK,
    DATA,
    INPUT_WORDS,
    OTHER,
    OUTPUT_WORDS,
    SPARE,
    THREADED,
    TYPE_NUMBER,
    WORDS,
    Word,
    symbol,
)
from kinloop.compiler.emit.argument_checks import INPUT, PARAMETERS, Argument
from kinloop.compiler.emit.array_table import ENTRY
from kinloop.compiler.emit.ir import LIKELY, Module, Value, Writer
from kinloop.compiler.emit.lane_arithmetic import declare_intrinsics
from kinloop.compiler.emit.number_checks import write_finite, write_within
from kinloop.compiler.emit.spare_arrays import write_spares
from kinloop.compiler.emit.vector_type import Vector

_DTYPE, _SIZE = "float64", 8
SMALL = 8192
"""Numbers of an output up to which arrays of it are kept to serve again, for one state: two of each stay in memory."""
KEPT_ROWS = (1 << 14, 1 << 18)
"""The least and the most numbers of an output for rows of which arrays are kept: memory of less is at hand, and new
pages for more take as long as the results; two of more would be much memory."""
_ROWS = ("i64 %start", "i64 %stop", "ptr %words", "ptr %table", "ptr %memory")  # of @rows


def guard_text(width: int, fma: bool) -> str:
    """LLVM IR of @guarded and @rows, for vector registers of `width` numbers."""
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
    module.declare("void", symbol("Py_IncRef"), "ptr")
    module.declare("void", symbol("Py_DecRef"), "ptr")
    write_within(module, block)
    write_finite(module, block, fma)
    write_spares(module, _DTYPE)
    with module.function("i64", "rows", *_ROWS, public=True) as w:
        _GuardedRows(w, "%words").write()
    with module.function("ptr", "guarded", *PARAMETERS, public=True) as w:
        _GuardedCall(w, "").write()
    return module.text()


class _Words:
    """Reads the words of a builtin."""

    def __init__(self, writer: Writer, words: str) -> None:
        self.writer, self.words = writer, words

    def word(self, place: Value, kind: str = "i64") -> str:
        return self.writer.load(kind, self.writer.offset(self.words, place, "i64"), 8)

    def of_input(self, k: str, which: int, kind: str = "i64") -> str:
        """A word of input `k`."""
        w = self.writer
        return self.word(w.integer("add", w.integer("mul", k, INPUT_WORDS), Word.LISTS + which), kind)

    def of_output(self, n_in: str, k: str, which: int, kind: str = "i64") -> str:
        """A word of output `k` behind so many inputs."""
        w = self.writer
        first = w.integer("add", w.integer("mul", n_in, INPUT_WORDS), Word.LISTS + which)
        return self.word(w.integer("add", first, w.integer("mul", k, OUTPUT_WORDS)), kind)


class _GuardedRows(_Words):
    """Writes @rows, piece by piece: -1 if nothing was doubtful, else a row at or before the first that is."""

    def write(self) -> None:
        w, self.doubtful = self.writer, self.writer.label("doubtful")
        self.judge_table = w.new(f"alloca [{2 * ENTRY} x i8], align 8")
        self.n_in, self.n_out, shown = self.word(Word.INPUTS), self.word(Word.OUTPUTS), self.word(Word.SHOWN)
        with w.count("%start", "%stop", BLOCK, at_least_once=True) as block:
            left = w.integer("sub", "%stop", block.index)
            self.count = w.select(w.compare("ult", left, BLOCK), "i64", left, BLOCK)
            self.first, self.end = block.index, w.integer("add", block.index, self.count)
            with w.count(0, self.n_in) as k:
                data, stride = self._entry(k.index)
                size, limit = self.of_input(k.index, 0), self.of_input(k.index, 1, "double")
                shared = w.compare("eq", stride, 0)
                self._require_within(data, w.select(shared, "i64", size, w.integer("mul", size, self.count)), limit)
            self._judge()
            kernel = self.word(Word.KERNEL, "ptr")
            with w.when(w.compare("ne", kernel, "null", "ptr")):
                self._run(kernel, "%table", "%memory")
            with w.count(0, shown) as k:
                data, numbers = self._output(k.index)
                self._require(w.call("i1", "finite", f"ptr {data}", f"i64 {numbers}"))
            with w.count(shown, self.n_out) as k:
                data, numbers = self._output(k.index)
                self._require_within(data, numbers, self.of_output(self.n_in, k.index, 1, "double"))
        w.ret("i64", -1)
        w.block(self.doubtful)
        w.ret("i64", block.index)

    def _require(self, condition: str) -> None:
        self.writer.require(condition, otherwise=self.doubtful)

    def _require_within(self, data: str, n: Value, limit: str) -> None:
        """`n` numbers are no larger than a limit."""
        self._require(self.writer.call("i1", "within", f"ptr {data}", f"i64 {n}", f"double {limit}"))

    def _entry(self, place: str) -> tuple[str, str]:
        """Where the rows of this block begin in an array of the table, and its row stride."""
        w = self.writer
        entry = w.offset("%table", w.integer("mul", place, ENTRY))
        stride = w.load("i64", w.offset(entry, ENTRY // 2), 8)
        return w.offset(w.load("ptr", entry, 8), w.integer("mul", self.first, stride)), stride

    def _output(self, k: str) -> tuple[str, str]:
        """Where output `k` of this block begins, and how many numbers it has."""
        w = self.writer
        data, _ = self._entry(w.integer("add", k, self.n_in))
        return data, w.integer("mul", self.of_output(self.n_in, k, 0), self.count)

    def _run(self, code: str, table: str, scratch: str) -> None:
        rows = f"i64 {self.first}, i64 {self.end}"
        self.writer.new(f"call i64 {code}({rows}, ptr {table}, ptr {scratch})")

    def _judge(self) -> None:
        """Have the judge, if there is one, look at the first input: what it says counts as wrong above 1."""
        w, judge = self.writer, self.word(Word.JUDGE, "ptr")
        with w.when(w.compare("ne", judge, "null", "ptr")):
            found, stride = w.offset("%memory", self.word(Word.JUDGE_OUTPUT)), self.word(Word.JUDGE_STRIDE)
            before = w.integer("sub", 0, w.integer("mul", self.first, stride))
            for place, kind in ((0, "ptr"), (ENTRY // 2, "i64")):
                w.store(kind, w.load(kind, w.offset("%table", place), 8), w.offset(self.judge_table, place), 8)
            w.store("ptr", w.offset(found, before), w.offset(self.judge_table, ENTRY), 8)
            w.store("i64", stride, w.offset(self.judge_table, ENTRY + ENTRY // 2), 8)
            self._run(judge, self.judge_table, w.offset("%memory", self.word(Word.JUDGE_SCRATCH)))
            judged = self.word(Word.JUDGED)
            with w.count(0, self.count) as row:
                self._require_within(w.offset(found, w.integer("mul", row.index, stride)), judged, "1.0")


class _GuardedCall(_Words):
    """Writes @guarded, piece by piece."""

    def write(self) -> None:
        w, self.slow = self.writer, self.writer.label("slow")
        self._require(w.compare("eq", "%kwnames", "null", "ptr"))
        self.words = w.load("ptr", w.offset(self._item(WORDS), DATA), 8)
        self.n_in, self.n_out, self.shown = self.word(Word.INPUTS), self.word(Word.OUTPUTS), self.word(Word.SHOWN)
        self._require(w.compare("eq", "%nargs", self.n_in))
        arrays = w.integer("add", self.n_in, self.n_out)
        self.table = w.new(f"alloca i8, i64 {w.integer('mul', arrays, ENTRY)}, align 8")
        self.made = w.new(f"alloca ptr, i64 {self.n_out}, align 8")
        self._inputs()
        self._require_few()
        self.spares = self._item(SPARE)
        self._outputs()
        rows = (f"i64 {self.count}", f"ptr {self.words}", f"ptr {self.table}", f"ptr {self.word(Word.MEMORY, 'ptr')}")
        self._require_clean(w.compare("slt", w.call("i64", "rows", "i64 0", *rows), 0))
        self._finish()
        w.block(self.slow)
        self._hand_over(OTHER)

    def _require(self, condition: str) -> None:
        """Take the slow way unless the condition holds."""
        self.writer.require(condition, otherwise=self.slow)

    def _item(self, k: int) -> str:
        return self.writer.call("ptr", symbol("PyTuple_GetItem"), "ptr %self", f"i64 {k}")

    def _hand_over(self, k: int) -> None:
        """Return what a callable of `self` returns."""
        called = (f"ptr {self._item(k)}", *PARAMETERS[1:])
        self.writer.ret("ptr", self.writer.call("ptr", symbol("PyObject_Vectorcall"), *called))

    def _enter(self, place: str, data: str, stride: Value) -> None:
        """Fill in an array in the table."""
        w = self.writer
        entry = w.offset(self.table, w.integer("mul", place, ENTRY))
        w.store("ptr", data, entry, 8)
        w.store("i64", stride, w.offset(entry, ENTRY // 2), 8)

    def _inputs(self) -> None:
        """Every input is as expected, for one state or for as many rows as those before it; into the table."""
        w = self.writer
        with w.count(0, self.n_in, carry=[("i64", -1)]) as k:
            (before,) = k.carried
            argument = Argument(w, k.index, _DTYPE, INPUT, self.slow)
            size, axes, first, last = (self.of_input(k.index, which) for which in (0, 2, 3, 4))
            ndim = w.new(f"zext i32 {argument.ndim} to i64")
            lead = w.integer("sub", ndim, axes)
            argument.require(*argument.right_kind(), w.compare("ule", lead, 1))
            flat = w.compare("eq", lead, 0)
            own = w.select(flat, "i64", before, argument.size(0))
            rows = w.select(w.compare("eq", before, -1), "i64", own, before)
            final = argument.size(w.integer("sub", ndim, 1))
            fits = w.compare("eq", argument.size(lead), first), w.compare("eq", final, last)
            argument.require(*fits, w.compare("eq", own, rows))
            self._enter(k.index, argument.data, w.select(flat, "i64", 0, w.integer("mul", size, _SIZE)))
            k.following = [rows]
        self.rows = str(k.results[0])

    def _require_few(self) -> None:
        """One state where one is expected, else some rows; many go to threads."""
        w, most = self.writer, self.word(Word.MOST)
        self.flat = w.compare("eq", self.rows, -1)
        self.count = w.select(self.flat, "i64", 1, self.rows)
        as_expected = w.compare("eq", self.flat, w.compare("eq", most, 0), "i1")
        self._require(w.integer("and", as_expected, w.compare("ne", self.count, 0), "i1"))
        few = w.compare("ule", self.count, w.integer("or", most, w.new(f"zext i1 {self.flat} to i64")))
        with w.unless(few):
            self._hand_over(THREADED)

    def _outputs(self) -> None:
        """Arrays, into the table; without memory for one, those before go and NumPy's error is passed on.

        What one state does not hand over has its own place.
        """
        w = self.writer
        self.arrays = w.select(self.flat, "i64", self.shown, self.n_out)
        with w.count(self.arrays, self.n_out) as k:
            self._enter(w.integer("add", k.index, self.n_in), self.of_output(self.n_in, k.index, 3, "ptr"), 0)
        with w.count(0, self.arrays) as k:
            size, shape = self.of_output(self.n_in, k.index, 0), self.of_output(self.n_in, k.index, 3, "ptr")
            with w.when(w.integer("xor", self.flat, "true", "i1")):
                w.store("i64", self.rows, shape, 8)
            axes = w.new(f"trunc i64 {self.of_output(self.n_in, k.index, 2)} to i32")
            array = self._array(k.index, size, f"i32 {axes}", f"ptr {shape}")
            w.store("ptr", array, w.offset(self.made, k.index, "ptr"), 8)
            data = w.load("ptr", w.offset(array, DATA), 8)
            self._enter(w.integer("add", k.index, self.n_in), data, w.integer("mul", size, _SIZE))

    def _array(self, k: str, size: str, axes: str, shape: str) -> str:
        """An array for output `k`: a spare one if there is any, else a new one; kept if its size is worth it."""
        w = self.writer
        least, most = (w.select(self.flat, "i64", one, rows) for one, rows in zip((0, SMALL), KEPT_ROWS, strict=True))
        numbers = w.integer("mul", size, self.count)
        large, small = w.compare("uge", numbers, least), w.compare("ule", numbers, most)
        worth = w.integer("and", large, small, "i1")
        with w.when(worth) as kept:
            found = w.call("ptr", "spare", f"ptr {self.spares}", f"i64 {k}", axes, shape)
        spare = kept.merge("ptr", found, "null")
        with w.when(w.compare("eq", spare, "null", "ptr")) as none:
            rest = (f"i32 {TYPE_NUMBER[_DTYPE]}", "ptr null", "ptr null", "i32 0", "i32 0", "ptr null")
            array = w.call("ptr", symbol("PyArray_New"), f"ptr @{symbol('ndarray')}", axes, shape, *rest)
            with w.unless(w.compare("ne", array, "null", "ptr")):
                self._drop(0, k)
                w.ret("ptr", "null")
            with w.when(worth):
                w.call("void", "keep", f"ptr {self.spares}", f"i64 {k}", f"ptr {array}")
        return none.merge("ptr", array, spare)

    def _made(self, k: str) -> str:
        return self.writer.load("ptr", self.writer.offset(self.made, k, "ptr"), 8)

    def _drop(self, start: Value, stop: str) -> None:
        w = self.writer
        with w.count(start, stop) as k:
            w.call("void", symbol("Py_DecRef"), f"ptr {self._made(k.index)}")

    def _require_clean(self, clean: str) -> None:
        """Nothing was doubtful; else outputs go, and the slow way is taken."""
        w = self.writer
        good, spoilt = w.label("good"), w.label("spoilt")
        w.branch(clean, good, spoilt, LIKELY)
        w.block(spoilt)
        self._drop(0, self.arrays)
        w.jump(self.slow)
        w.block(good)

    def _finish(self) -> None:
        """Return the output array, a tuple of them, or None without any."""
        w = self.writer
        self._drop(self.shown, self.arrays)
        with w.unless(w.compare("ne", self.shown, 1)):
            w.ret("ptr", w.load("ptr", self.made, 8))
        with w.unless(w.compare("ne", self.shown, 0)):
            w.call("void", symbol("Py_IncRef"), f"ptr @{symbol('None')}")
            w.ret("ptr", f"@{symbol('None')}")
        result = w.call("ptr", symbol("PyTuple_New"), f"i64 {self.shown}")
        with w.unless(w.compare("ne", result, "null", "ptr")):
            self._drop(0, self.shown)
            w.ret("ptr", "null")
        with w.count(0, self.shown) as k:
            w.call("i32", symbol("PyTuple_SetItem"), f"ptr {result}", f"i64 {k.index}", f"ptr {self._made(k.index)}")
        w.ret("ptr", result)
