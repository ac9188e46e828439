"""Checks of one argument of a builtin, as LLVM IR that reads the fields of an ndarray."""

from __future__ import annotations

from collections.abc import Sequence

from kinloop.compiler.abi import (
    ALIGNED,
    C_CONTIGUOUS,
    DATA,
    DESCR,
    DIMENSIONS,
    FLAGS,
    NDIM,
    TYPE,
    WRITEABLE,
    symbol,
)
from kinloop.compiler.emit.ir import Value, Writer

PARAMETERS = ("ptr %self", "ptr %args", "i64 %nargs", "ptr %kwnames")  # of the C function of a builtin
INPUT = C_CONTIGUOUS | ALIGNED
OUTPUT = C_CONTIGUOUS | ALIGNED | WRITEABLE


class Argument:
    """Argument `k` of the builtin, which goes on at the label `slow` unless it is an array as expected."""

    def __init__(self, writer: Writer, k: Value, dtype: str, flags: int, slow: str, arguments: str = "%args") -> None:
        self.writer, self._slow = writer, slow
        self.object = writer.load("ptr", writer.offset(arguments, k, "ptr"), 8)
        is_array = writer.compare("eq", self._field(TYPE), f"@{symbol('ndarray')}", "ptr")
        self.require(is_array)
        self._flags, self._masked = flags, writer.integer("and", self._field(FLAGS, "i32"), flags, "i32")
        self.ndim = self._field(NDIM, "i32")
        self.dims = self._field(DIMENSIONS)
        self.data = self._field(DATA)
        self._descr, self._dtype = self._field(DESCR), f"@{symbol(dtype)}"

    def _field(self, offset: int, kind: str = "ptr") -> str:
        return self.writer.load(kind, self.writer.offset(self.object, offset), 4 if kind == "i32" else 8)

    def require(self, *conditions: str) -> None:
        """Leave unless all of these hold."""
        every = conditions[0]
        for condition in conditions[1:]:
            every = self.writer.integer("and", every, condition, "i1")
        self.writer.require(every, otherwise=self._slow)

    def right_kind(self) -> tuple[str, str]:
        """Conditions that the dtype and the layout in memory are the expected ones."""
        w = self.writer
        return w.compare("eq", self._descr, self._dtype, "ptr"), w.compare("eq", self._masked, self._flags, "i32")

    def size(self, axis: Value) -> str:
        """How long an axis is."""
        return self.writer.load("i64", self.writer.offset(self.dims, axis, "i64"), 8)

    def require_shape(self, sizes: Sequence[Value]) -> None:
        """Leave unless the dtype is right and the axes have exactly these sizes."""
        self.require(*self.right_kind(), self.writer.compare("eq", self.ndim, len(sizes), "i32"))
        if sizes:
            found = [self.size(axis) for axis in range(len(sizes))]
            self.require(*[self.writer.compare("eq", x, n) for x, n in zip(found, sizes, strict=True)])

    def require_one(self, sizes: Sequence[Value]) -> str:
        """Leave unless the axes have these sizes, or one of length 1 stands before them; whether it does."""
        w = self.writer
        before = w.integer("sub", self.ndim, len(sizes), "i32")
        self.require(*self.right_kind(), w.compare("ule", before, 1, "i32"))
        shift, there = w.new(f"zext i32 {before} to i64"), w.compare("eq", before, 1, "i32")
        fits = [w.compare("eq", self.size(w.integer("add", shift, axis)), n) for axis, n in enumerate(sizes)]
        if sizes:
            alone = w.compare("eq", self.size(0), 1)
            fits.append(w.integer("or", alone, w.compare("eq", before, 0, "i32"), "i1"))
            self.require(*fits)
        return there
