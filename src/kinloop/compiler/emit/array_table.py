"""The table of arrays that a call hands to machine code, and the rows it leads to, as LLVM IR.

The table holds two words for each input, then for each output: the address of its first row, and the bytes
from one row to the next (0 for an input of one row that all states share).
"""

from __future__ import annotations

from kinloop.compiler.emit.ir import Value, Writer
from kinloop.compiler.emit.kernel_layout import Array, Layout

ENTRY = 16  # bytes
_STRIDE = 8  # where the stride lies in an entry


def entry(w: Writer, array: Array) -> tuple[str, str]:
    """The address of an array's first row and its row stride."""
    return read_entry(w, "%table", array.place)


def read_entry(w: Writer, table: str, place: int) -> tuple[str, str]:
    """The address and the stride in an entry."""
    base = w.load("ptr", w.offset(table, ENTRY * place), 8)
    return base, w.load("i64", w.offset(table, ENTRY * place + _STRIDE), 8)


def write_entry(w: Writer, table: str, place: int, base: str, stride: Value) -> None:
    """Fill in the entry of an array."""
    w.store("ptr", base, w.offset(table, ENTRY * place), 8)
    w.store("i64", stride, w.offset(table, ENTRY * place + _STRIDE), 8)


def read_rows(w: Writer, layout: Layout, array: Array, base: str, stride: str, alarm: str) -> str:
    """W rows of an input, from %row and not beyond %last, into their slots of %scratch; the alarm after it."""
    I, count = layout.register.bits, f"i64 {array.size}"
    slots = w.offset("%scratch", array.slot, layout.vector.type)
    if layout.lanes > 1:
        rows = (f"ptr {base}", f"i64 {stride}", count, "i64 %row", "i64 %last")
        return w.call(I, layout.function("gather"), *rows, f"ptr {slots}", f"{I} {alarm}")
    row = w.offset(base, w.integer("mul", "%row", stride))
    return w.call(I, layout.function("take"), f"ptr {row}", count, f"ptr {slots}", f"{I} {alarm}")


def write_rows(w: Writer, layout: Layout, array: Array, base: str, stride: str) -> None:
    """The first %rows lanes of an output, from its slots of %scratch to the rows from %row on."""
    count = f"i64 {array.size}"
    if layout.lanes > 1:
        first = layout.output(array)
        tables = w.offset("@output_places", first, "i32"), w.offset("@output_same", first)
        slots = (*(f"ptr {table}" for table in tables), "ptr %scratch")
        given = (f"ptr {base}", f"i64 {stride}", count, "i64 %row", "i64 %rows")
        w.call("void", layout.function("scatter"), *given, *slots)
    else:
        source = w.offset("%scratch", array.slot, layout.vector.type)
        row = w.offset(base, w.integer("mul", "%row", stride))
        w.call("void", layout.function("give"), f"ptr {row}", count, f"ptr {source}")
