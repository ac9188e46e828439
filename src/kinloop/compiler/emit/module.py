"""A whole kernel as LLVM IR: stages, rows in and out, the batch loop, and the CPython builtin."""

from __future__ import annotations

from kinloop.compiler.emit.batch_loop import batch_functions
from kinloop.compiler.emit.ir import Vector, declare_intrinsics
from kinloop.compiler.emit.iterate import iterate_functions
from kinloop.compiler.emit.layout import Layout, group_bytes
from kinloop.compiler.emit.stages import run_function, stage_functions
from kinloop.compiler.emit.wrapper import one_state, small_batch
from kinloop.compiler.plan import Plan
from kinloop.compiler.run.host import LIBM, Target


def module_text(plan: Plan, layout: Layout, target: Target, rows: int) -> str:
    """LLVM IR of a kernel, with a builtin for up to `rows` rows. Names of inputs and outputs do not appear in it."""
    vector = layout.vector
    block = Vector(target.lanes(layout.dtype), vector.real)
    stages, names = stage_functions(plan, vector, block, target.fma)
    types = dict.fromkeys([vector, vector.as_double(), block, block.as_double()])
    size = group_bytes(plan, vector)
    lines = [line for t in types for line in declare_intrinsics(t)]
    lines += [f"declare double @kinloop_{f}({'double, double' if f == 'atan2' else 'double'})" for f in LIBM]
    lines += stages
    lines += run_function(names, layout.groups, size)
    lines += batch_functions(layout, block, size)
    lines += iterate_functions(layout, block)
    if rows:
        lines += (
            one_state(layout, block, size) if layout.lanes == 1 else small_batch(layout, size * layout.groups, rows)
        )
    lines += ["attributes #0 = { nounwind }", '!0 = !{!"branch_weights", i32 1, i32 2000}', ""]
    return "\n".join(lines)
