"""Products joined with the sum that uses them, so that both round once (fused multiply-add).

The choice is made here, once, and not by LLVM's backend: code for one state and code for W lanes then do
the same arithmetic and give bitwise equal results (docs/decisions/explicit-fma.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

Operation = tuple[str, tuple[Any, ...]]


def fuse_products(operations: dict[int, Operation], kept: Iterable[Any]) -> dict[int, Operation]:
    """The same operations with every product that only one sum uses moved into that sum.

    `fma(a, b, c)` is a b + c, `fms` is a b - c and `fnma` is c - a b. Values in `kept` stay as they are.
    """
    uses = Counter(x for x in kept if isinstance(x, int))
    for _, args in operations.values():
        uses.update(x for x in args if isinstance(x, int))

    def product(x: Any) -> tuple[Any, ...] | None:
        if isinstance(x, int) and uses[x] == 1 and x in operations and operations[x][0] == "mul":
            return operations[x][1]
        return None

    out = dict(operations)
    for k, (op, args) in operations.items():
        if op not in ("add", "sub"):
            continue
        a, b = args
        # The later product: its factors are more likely to be at hand still.
        factors = product(b)
        if factors is not None:
            out[k] = ("fma" if op == "add" else "fnma", (*factors, a))
            del out[b]
        elif (factors := product(a)) is not None:
            out[k] = ("fma" if op == "add" else "fms", (*factors, b))
            del out[a]
    return out
