"""A whole kernel as the text of an LLVM module: stages, rows in and out, the loops over rows, the builtin."""

from __future__ import annotations

from kinloop.compiler.abi import LIBM, symbol
from kinloop.compiler.emit.batch_loop import write_batch
from kinloop.compiler.emit.builtin_wrapper import write_builtin
from kinloop.compiler.emit.ir import Module
from kinloop.compiler.emit.iteration_loop import write_iterate
from kinloop.compiler.emit.kernel_layout import Layout, scratch_bytes
from kinloop.compiler.emit.lane_arithmetic import declare_intrinsics
from kinloop.compiler.emit.lane_transfer import write_transfers
from kinloop.compiler.emit.row_segment import row_vectors
from kinloop.compiler.emit.stages import write_stages
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.plan.stage_types import Plan


def module_text(plan: Plan, layout: Layout, fma: bool, rows: int) -> str:
    """LLVM IR of a kernel, with a builtin for up to `rows` rows (0: no builtin).

    Names of inputs and outputs do not appear in it.
    """
    module, vector, block = Module(), layout.vector, layout.block
    for kind in dict.fromkeys(
        [vector, vector.as_double(), block, *row_vectors(block), block.as_double(), Vector(1, "double")]
    ):
        declare_intrinsics(module, kind)
    for name in LIBM:
        module.declare("double", symbol(name), *(["double"] * (2 if name == "atan2" else 1)))
    write_stages(module, plan, layout, fma)
    write_transfers(module, layout)
    write_batch(module, layout)
    write_iterate(module, layout)
    if rows:
        write_builtin(module, layout, scratch_bytes(plan, vector), rows)
    return module.text()
