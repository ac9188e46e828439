"""A whole kernel as the text of an LLVM module: stages, rows in and out, the loops over rows, the builtin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kinloop.compiler.abi import CACHE_LINE, LIBM, symbol
from kinloop.compiler.emit.array_table import ENTRY, write_entry
from kinloop.compiler.emit.batch_loop import write_batch
from kinloop.compiler.emit.builtin_wrapper import write_builtin
from kinloop.compiler.emit.common_functions import declare_common
from kinloop.compiler.emit.ir import Module
from kinloop.compiler.emit.iteration_loop import write_iterate
from kinloop.compiler.emit.kernel_layout import Layout, scratch_bytes
from kinloop.compiler.emit.lane_arithmetic import declare_intrinsics
from kinloop.compiler.emit.lane_transfer import write_fill, write_transfers
from kinloop.compiler.emit.row_segment import row_vectors
from kinloop.compiler.emit.rows_ahead import Ahead, declare_fetch, rows_ahead
from kinloop.compiler.emit.sincos import write_angles
from kinloop.compiler.emit.some_lanes import declare_masked
from kinloop.compiler.emit.stages import write_stages
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.plan.stage_types import Plan


def module_text(plan: Plan, layout: Layout, rows: int, send: Callable[[str], None]) -> str:
    """LLVM IR of a kernel, with a builtin for up to `rows` rows (0: no builtin), which needs that of `common_text`.

    Modules that it uses are handed to `send` as soon as they are written. Names of inputs and outputs do not appear.
    """
    module = _module(layout, send)
    declare_common(module, layout)
    ahead = _write_computing(module, plan, layout)
    write_batch(module, layout, ahead)
    write_iterate(module, layout)
    if rows:
        write_builtin(module, layout, scratch_bytes(plan, layout.vector), rows)
    return module.text()


def library_text(plan: Plan, layout: Layout, fma: bool, function: str) -> str:
    """LLVM IR of one C function, void function(inputs..., outputs...), that needs nothing but libm."""
    module = _module(layout)
    write_fill(module, layout)
    write_angles(module, layout, fma)
    write_transfers(module, layout)
    ahead = _write_computing(module, plan, layout)
    write_batch(module, layout, ahead, public=False)
    pointers = [f"ptr %x{array.place}" for array in layout.arrays]
    with module.function("void", function, *pointers, public=True) as w:
        table = w.new(f"alloca [{max(ENTRY * len(pointers), 1)} x i8], align 8")
        scratch = w.new(f"alloca [{scratch_bytes(plan, layout.vector)} x i8], align {CACHE_LINE}")
        for array in layout.arrays:
            write_entry(w, table, array.place, f"%x{array.place}", 0)
        w.call("i64", "batch", "i64 0", "i64 1", f"ptr {table}", f"ptr {scratch}")
        w.ret()
    text = module.text()
    for name in LIBM:
        text = text.replace(f"@{symbol(name)}(", f"@{name}(")
    return text


def common_text(layout: Layout, fma: bool) -> str:
    """LLVM IR of what all kernels with a `common` ending call; the layout is that of any for W states."""
    module = _module(layout)
    write_fill(module, layout)
    write_angles(module, layout, fma)
    write_transfers(module, layout)
    write_transfers(module, replace(layout, lanes=1))
    return module.text()


def _module(layout: Layout, send: Callable[[str], None] | None = None) -> Module:
    """A module with the declarations of what lies outside of all modules."""
    module, vector, block = Module(send), layout.vector, layout.block
    for kind in dict.fromkeys(
        [vector, vector.as_double(), block, *row_vectors(block), block.as_double(), Vector(1, "double")]
    ):
        declare_intrinsics(module, kind)
        declare_masked(module, kind)
    for name in LIBM:
        module.declare("double", symbol(name), *(["double"] * (2 if name == "atan2" else 1)))
    declare_fetch(module)
    return module


def _write_computing(module: Module, plan: Plan, layout: Layout) -> Ahead | None:
    """All stages of a kernel; what their laps fetch ahead."""
    ahead = rows_ahead(plan, layout)
    write_stages(module, plan, layout, ahead)
    return ahead
