"""Arrays that a guarded builtin handed over and that nobody has any more, as LLVM IR: they serve again.

Making an array costs NumPy as long as a small kernel computes. A builtin keeps the last arrays of every output in a
list of its own. One to which the list has the only reference, of which there is no view and no weak reference, and
which is as it was made, cannot be told from a new one: it is handed over again.
"""

from __future__ import annotations

from kinloop.compiler.abi import (
    ALIGNED,
    BASE,
    C_CONTIGUOUS,
    DESCR,
    DIMENSIONS,
    FLAGS,
    NDIM,
    OWNDATA,
    REFERENCES,
    SPARES,
    WEAK,
    WRITEABLE,
    symbol,
)
from kinloop.compiler.emit.ir import Module, Writer

AS_MADE = C_CONTIGUOUS | OWNDATA | ALIGNED | WRITEABLE
_SHAPED = ("i32 %axes", "ptr %shape")


def write_spares(module: Module, dtype: str) -> None:
    """@spare(list, k, axes, shape): a spare array of output k with a reference of its own, or null; @keep(list, k,
    array): keep it as the newest of output k, instead of the oldest."""
    module.declare("ptr", symbol("PyList_GetItem"), "ptr", "i64")
    module.declare("i32", symbol("PyList_SetItem"), "ptr", "i64", "ptr")
    with module.function("i1", "as_made", "ptr %array", *_SHAPED) as w:
        _write_as_made(w, dtype)
    with module.function("ptr", "spare", "ptr %list", "i64 %k", *_SHAPED) as w:
        first = w.integer("mul", "%k", SPARES)
        for j in range(SPARES):
            array = w.call("ptr", symbol("PyList_GetItem"), "ptr %list", f"i64 {w.integer('add', first, j)}")
            alone = w.compare("eq", w.load("i32", w.offset(array, REFERENCES), 8), 1, "i32")
            with w.when(alone):
                good, other = w.label("good"), w.label("other")
                w.branch(w.call("i1", "as_made", f"ptr {array}", *_SHAPED), good, other)
                w.block(good)
                w.call("void", symbol("Py_IncRef"), f"ptr {array}")
                w.ret("ptr", array)
                w.block(other)
        w.ret("ptr", "null")
    with module.function("void", "keep", "ptr %list", "i64 %k", "ptr %array") as w:
        first = w.integer("mul", "%k", SPARES)
        places = [w.integer("add", first, j) for j in range(SPARES)]
        moved = [w.call("ptr", symbol("PyList_GetItem"), "ptr %list", f"i64 {p}") for p in places[1:]]
        for place, array in zip(places, [*moved, "%array"], strict=True):
            w.call("void", symbol("Py_IncRef"), f"ptr {array}")
            w.call("i32", symbol("PyList_SetItem"), "ptr %list", f"i64 {place}", f"ptr {array}")
        w.ret()


def _write_as_made(w: Writer, dtype: str) -> None:
    """Whether an array has the data, dtype, layout and shape with which it was made, and no weak references."""
    no = w.label("no")

    def field(offset: int, kind: str = "ptr") -> str:
        return w.load(kind, w.offset("%array", offset), 4 if kind == "i32" else 8)

    own = w.compare("eq", field(BASE), "null", "ptr"), w.compare("eq", field(WEAK), "null", "ptr")
    flags = w.compare("eq", w.integer("and", field(FLAGS, "i32"), AS_MADE, "i32"), AS_MADE, "i32")
    kind = w.compare("eq", field(DESCR), f"@{symbol(dtype)}", "ptr")
    for condition in (*own, flags, kind, w.compare("eq", field(NDIM, "i32"), "%axes", "i32")):
        w.require(condition, otherwise=no)
    dims, axes = field(DIMENSIONS), w.new("zext i32 %axes to i64")
    with w.count(0, axes) as axis:
        found, wanted = (w.load("i64", w.offset(x, axis.index, "i64"), 8) for x in (dims, "%shape"))
        w.require(w.compare("eq", found, wanted), otherwise=no)
    w.ret("i1", "true")
    w.block(no)
    w.ret("i1", "false")
