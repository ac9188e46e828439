"""A whole kernel as LLVM IR: stages, rows in and out, the batch loop, and for one state the CPython builtin."""

from __future__ import annotations

from kinloop.compiler.builtin import builtin_function
from kinloop.compiler.groups import batch_functions
from kinloop.compiler.host import LIBM, Target
from kinloop.compiler.ir import Vector, declare_intrinsics
from kinloop.compiler.layout import Layout, group_bytes
from kinloop.compiler.plan import Plan
from kinloop.compiler.stages import run_function, stage_functions


def module_text(plan: Plan, layout: Layout, target: Target, with_builtin: bool) -> str:
    """LLVM IR of a kernel. Names of inputs and outputs do not appear in it."""
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
    if with_builtin:
        lines += builtin_function(layout, block, size)
    lines += ["attributes #0 = { nounwind }", '!0 = !{!"branch_weights", i32 1, i32 2000}', ""]
    return "\n".join(lines)
