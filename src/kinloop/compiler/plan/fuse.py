"""Products joined with the sum that uses them, so that both round once (fused multiply-add).

The choice is made here, once, and not by LLVM's backend: code for one state and code for W lanes then do
the same arithmetic and give bitwise equal results (docs/decisions/explicit-fma.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from kinloop.compiler.plan.stage_types import Operand, Operation


def fuse_products(operations: dict[int, Operation], kept: Iterable[Operand]) -> dict[int, Operation]:
    """The same operations with every product that only one sum uses moved into that sum.

    `fma(a, b, c)` is a b + c, `fms` is a b - c and `fnma` is c - a b. Values in `kept` stay as they are.
    """
    uses = [0] * (max(operations, default=-1) + 1)
    for x in kept:
        if type(x) is int and x < len(uses):
            uses[x] += 1
    for _, args in operations.values():
        for x in args:
            if type(x) is int:
                uses[x] += 1

    def is_free_product(x: Operand) -> TypeGuard[int]:
        return type(x) is int and uses[x] == 1 and x in operations and operations[x][0] == "mul"

    out = dict(operations)
    for k, (op, args) in operations.items():
        if op != "add" and op != "sub":
            continue
        a, b = args
        # The later product: its factors are more likely to be at hand still.
        if is_free_product(b):
            out[k] = ("fma" if op == "add" else "fnma", (*operations[b][1], a))
            del out[b]
        elif is_free_product(a):
            out[k] = ("fma" if op == "add" else "fms", (*operations[a][1], b))
            del out[a]
    return out
