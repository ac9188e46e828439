"""The function behind a kernel's builtin, as LLVM IR: @call(self, args, nargs, kwnames).

For one lane it takes a state in ready arrays, or a row (1, n); for W lanes it takes rows, as long as one thread is
enough for them or `threads=1` asks for one. It checks type, dtype, shape and layout of every argument, and makes the
outputs if none are given, behind the inputs or by `out=`. What it does not expect, numbers that are not finite
included, goes to `self` with the same arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kinloop.compiler.abi import CACHE_LINE, DATA, TYPE_NUMBER, symbol
from kinloop.compiler.emit.argument_checks import INPUT, OUTPUT, PARAMETERS, Argument
from kinloop.compiler.emit.array_table import ENTRY, write_entry
from kinloop.compiler.emit.call_keywords import declare_keywords, read_keywords
from kinloop.compiler.emit.ir import LIKELY, Module, Value, Writer
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.emit.lane_arithmetic import lane_bits
from kinloop.compiler.emit.lane_transfer import alarmed
from kinloop.compiler.emit.stages import run_stages

_ANY = (1 << 63) - 1  # rows
_STACK_LIMIT = 1 << 16  # bytes of scratch kept on the stack of one call


def write_builtin(module: Module, layout: Layout, scratch: int, most: int) -> None:
    """@call on one state, or on at most `most` rows; `scratch` is the size of the scratch array in bytes."""
    _declare(module, layout.dtype)
    with module.function("ptr", "call", *PARAMETERS, public=True) as w:
        call = _Call(w, layout, scratch)
        if layout.lanes == 1:
            _write_one_state(call)
        else:
            _write_small_batch(call, most)


def _declare(module: Module, dtype: str) -> None:
    for name in ("ndarray", dtype):
        module.declare_object(symbol(name))
    module.declare("ptr", symbol("PyObject_Vectorcall"), "ptr", "ptr", "i64", "ptr")
    module.declare("ptr", symbol("PyArray_New"), "ptr", "i32", "ptr", "i32", "ptr", "ptr", "i32", "i32", "ptr")
    module.declare("ptr", symbol("PyTuple_Pack"), "i64", "...")
    module.declare("void", symbol("Py_IncRef"), "ptr")
    module.declare("void", symbol("Py_DecRef"), "ptr")
    module.declare("ptr", symbol("PyMem_RawMalloc"), "i64")
    module.declare("void", symbol("PyMem_RawFree"), "ptr")
    module.declare("ptr", symbol("PyEval_SaveThread"))
    module.declare("void", symbol("PyEval_RestoreThread"), "ptr")
    declare_keywords(module)


class _Input(NamedTuple):
    """Where the numbers of an input begin, and its row stride."""

    data: str
    stride: Value


class _Output(NamedTuple):
    """An output array, and where its numbers begin."""

    array: str
    data: str


class _Call:
    """What both forms of @call share: memory, output arrays, the end and the slow way."""

    def __init__(self, writer: Writer, layout: Layout, scratch: int) -> None:
        self.writer, self.layout = writer, layout
        self.slow = writer.label("slow")
        self._memory = ""  # what has to be freed
        n_in, n_out = len(layout.inputs), len(layout.outputs)
        self.scratch = self._heap(scratch) if scratch > _STACK_LIMIT else self._stack(scratch)
        self.table = writer.new(f"alloca [{ENTRY * (n_in + n_out)} x i8], align 8")
        axes = 1 + max([len(shape) for shape in layout.outputs], default=0)
        self._shape = writer.new(f"alloca [{axes} x i64], align 8")
        place = writer.new(f"alloca [{n_in + n_out} x ptr], align 8")
        self.given = read_keywords(writer, place, n_in, n_out, self.slow)
        self._full = writer.compare("eq", self.given.total, n_in + n_out)
        self._short = writer.compare("eq", self.given.total, n_in)
        usual = writer.integer("or", self._full, self._short, "i1")
        if self._memory:
            usual = writer.integer("and", usual, writer.compare("ne", self._memory, "null", "ptr"), "i1")
        writer.require(usual, otherwise=self.slow)

    def _stack(self, size: int) -> str:
        return self.writer.new(f"alloca [{size} x i8], align {CACHE_LINE}")

    def _heap(self, size: int) -> str:
        """Memory that begins on a cache line."""
        w = self.writer
        self._memory = w.call("ptr", symbol("PyMem_RawMalloc"), f"i64 {size + CACHE_LINE}")
        number = w.integer("add", w.new(f"ptrtoint ptr {self._memory} to i64"), CACHE_LINE - 1)
        return w.new(f"inttoptr i64 {w.integer('and', number, -CACHE_LINE)} to ptr")

    def _free(self) -> None:
        if self._memory:
            self.writer.call("void", symbol("PyMem_RawFree"), f"ptr {self._memory}")

    def argument(self, k: int, flags: int) -> Argument:
        return Argument(self.writer, k, self.layout.dtype, flags, self.slow, self.given.arguments)

    def outputs(self, rows: Sequence[Value], inputs: Sequence[_Input], in_a_row: str = "false") -> list[_Output]:
        """The output arrays, given or new; `rows` is their first axis, if they have one for rows.

        One state may come as a row, `in_a_row`: so do its outputs then.
        """
        w = self.writer
        given, new, ready = w.label("given"), w.label("new"), w.label("ready")
        w.branch(self._full, given, new)
        w.block(given)
        checked = [self._given_output(k, rows, inputs, in_a_row) for k in range(len(self.layout.outputs))]
        after_given = w.here
        w.jump(ready)
        w.block(new)
        made: list[_Output] = []
        for k in range(len(self.layout.outputs)):
            made.append(self._new_output(k, rows, made, in_a_row))
        after_new = w.here
        w.jump(ready)
        w.block(ready)
        return [
            _Output(w.phi("ptr", (a.array, after_given), (b.array, after_new)),
                    w.phi("ptr", (a.data, after_given), (b.data, after_new)))
            for a, b in zip(checked, made, strict=True)
        ]  # fmt: skip

    def _given_output(self, k: int, rows: Sequence[Value], inputs: Sequence[_Input], in_a_row: str) -> _Output:
        """Output `k` among the arguments, as expected and apart from the inputs."""
        argument = self.argument(len(self.layout.inputs) + k, OUTPUT)
        if rows:
            argument.require_shape([*rows, *self.layout.outputs[k]])
        else:
            argument.require(self.writer.compare("eq", argument.require_one(self.layout.outputs[k]), in_a_row, "i1"))
        for count in rows:
            self._require_apart(argument.data, k, count, inputs)
        return _Output(argument.object, argument.data)

    def _require_apart(self, data: str, k: int, rows: Value, inputs: Sequence[_Input]) -> None:
        """Leave if output `k` shares memory with an input: rows are written while others are still read."""
        w, size = self.writer, self.layout.vector.real_size
        end = w.offset(data, w.integer("mul", rows, size * self.layout.wanted[k].size))
        for x, n in zip(inputs, self.layout.inputs, strict=True):
            length = w.select(w.compare("eq", x.stride, 0), "i64", size * n, w.integer("mul", rows, x.stride))
            left = w.compare("ule", end, x.data, "ptr")
            right = w.compare("ule", w.offset(x.data, length), data, "ptr")
            w.require(w.integer("or", left, right, "i1"), otherwise=self.slow)

    def _new_output(self, k: int, rows: Sequence[Value], before: Sequence[_Output], in_a_row: str) -> _Output:
        """A new array for output `k`; without memory for it, those before go and NumPy's error is passed on."""
        w, sizes = self.writer, [*(rows or [1]), *self.layout.outputs[k]]
        for axis, n in enumerate(sizes):
            w.store("i64", n, w.offset(self._shape, axis, "i64"), 8)
        axes: Value = len(sizes)
        shape = self._shape
        if not rows:
            axes = w.select(in_a_row, "i32", len(sizes), len(sizes) - 1)
            shape = w.select(in_a_row, "ptr", shape, w.offset(shape, 1, "i64"))
        kind = (f"ptr @{symbol('ndarray')}", f"i32 {axes}", f"ptr {shape}")
        rest = (f"i32 {TYPE_NUMBER[self.layout.dtype]}", "ptr null", "ptr null", "i32 0", "i32 0", "ptr null")
        array = w.call("ptr", symbol("PyArray_New"), *kind, *rest)
        with w.unless(w.compare("ne", array, "null", "ptr")):
            self._drop(before)
            self._free()
            w.ret("ptr", "null")
        return _Output(array, w.load("ptr", w.offset(array, DATA), 8))

    def _drop(self, outputs: Sequence[_Output]) -> None:
        for output in outputs:
            self.writer.call("void", symbol("Py_DecRef"), f"ptr {output.array}")

    def finish(self, outputs: Sequence[_Output]) -> None:
        """Return the output array, or a tuple of them (a new array has its one reference already); the slow way."""
        w = self.writer
        if len(outputs) == 1:
            result = outputs[0].array
            self._free()
            with w.when(self._full):
                w.call("void", symbol("Py_IncRef"), f"ptr {result}")
        else:
            arrays = [f"ptr {x.array}" for x in outputs]
            result = w.call("ptr (i64, ...)", symbol("PyTuple_Pack"), f"i64 {len(arrays)}", *arrays)
            self._free()
            with w.when(self._short):
                self._drop(outputs)
        w.ret("ptr", result)
        w.block(self.slow)
        self._free()
        w.ret("ptr", w.call("ptr", symbol("PyObject_Vectorcall"), *PARAMETERS))

    def require_clean(self, clean: str, outputs: Sequence[_Output]) -> None:
        """Take the slow way, without new outputs, unless all numbers were finite."""
        w = self.writer
        good, spoilt = w.label("good"), w.label("spoilt")
        w.branch(clean, good, spoilt, LIKELY)
        w.block(spoilt)
        with w.when(self._short):
            self._drop(outputs)
        w.jump(self.slow)
        w.block(good)


def _write_one_state(call: _Call) -> None:
    """Inputs to slots by @take, @run; outputs are written in place, or if they are many come from slots by @give."""
    w, layout, register = call.writer, call.layout, call.layout.register
    inputs, in_a_row = [], "false"
    for k, n in enumerate(layout.inputs):
        argument = call.argument(k, INPUT)
        in_a_row = w.integer("or", in_a_row, argument.require_one([n]), "i1")
        inputs.append(argument.data)
    alarm = "zeroinitializer"
    for array, data in zip(layout.given, inputs, strict=True):
        slots = w.offset(call.scratch, array.slot, register.real)
        given = (f"ptr {data}", f"i64 {array.size}", f"ptr {slots}", f"{register.bits} {alarm}")
        alarm = w.call(register.bits, layout.function("take"), *given)
    bad = lane_bits(w, register, alarmed(w, register, alarm))
    w.require(w.compare("eq", bad, 0, f"i{register.width}"), otherwise=call.slow)
    outputs = call.outputs([], [], in_a_row)
    if layout.in_place:
        run_stages(w, layout, call.scratch, [output.data for output in outputs])
    else:
        run_stages(w, layout, call.scratch)
        for array, output in zip(layout.wanted, outputs, strict=True):
            slots = w.offset(call.scratch, array.slot, register.real)
            given = (f"ptr {output.data}", f"i64 {array.size}", f"ptr {slots}")
            w.call("void", layout.function("give"), *given)
    call.finish(outputs)


def _write_small_batch(call: _Call, most: int) -> None:
    """Rows by @batch, with inputs of one row for all of them; with `threads=1` any number, without the lock."""
    w, layout = call.writer, call.layout
    inputs: list[_Input] = []
    rows: Value = -1
    for k in range(len(layout.inputs)):
        found, rows = _input_rows(call, k, rows)
        inputs.append(found)
    limit = w.select(call.given.one_thread, "i64", _ANY, most)
    few = w.compare("ule", rows, limit)  # unsigned: -1, no input has rows, is not few
    w.require(w.integer("and", few, w.compare("ne", rows, 0), "i1"), otherwise=call.slow)
    outputs = call.outputs([rows], inputs)
    for k, x in enumerate(inputs):
        write_entry(w, call.table, k, x.data, x.stride)
    for array, output in zip(layout.wanted, outputs, strict=True):
        write_entry(w, call.table, array.place, output.data, array.size * layout.vector.real_size)
    with w.when(call.given.one_thread) as alone:
        state = w.call("ptr", symbol("PyEval_SaveThread"))
    kept = alone.merge("ptr", state, "null")
    bad = w.call("i64", "batch", "i64 0", f"i64 {rows}", f"ptr {call.table}", f"ptr {call.scratch}")
    with w.when(call.given.one_thread):
        w.call("void", symbol("PyEval_RestoreThread"), f"ptr {kept}")
    call.require_clean(w.compare("slt", bad, 0), outputs)
    call.finish(outputs)


def _input_rows(call: _Call, k: int, before: Value) -> tuple[_Input, str]:
    """Check an input (rows, n) or (n,); with it, the rows of all inputs so far (-1: none has any)."""
    w, n = call.writer, call.layout.inputs[k]
    argument = call.argument(k, INPUT)
    axes = w.integer("sub", argument.ndim, 1, "i32")  # before the last
    argument.require(*argument.right_kind(), w.compare("ule", axes, 1, "i32"))
    last, first = argument.size(w.new(f"zext i32 {axes} to i64")), argument.size(0)
    flat = w.compare("eq", axes, 0, "i32")
    stride = w.select(flat, "i64", 0, n * call.layout.vector.real_size)
    own = w.select(flat, "i64", before, first)
    rows = w.select(w.compare("eq", before, -1), "i64", own, before)
    argument.require(w.compare("eq", last, n), w.compare("eq", own, rows))
    return _Input(argument.data, stride), rows
