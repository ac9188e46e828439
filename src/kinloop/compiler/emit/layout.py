"""The sizes a kernel is made for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kinloop.compiler.emit.ir import Vector
from kinloop.compiler.plan import Plan


@dataclass(frozen=True)
class Layout:
    """Sizes of inputs and shapes of outputs in order, dtype, lanes W, groups of lanes per stage."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...]
    dtype: str
    lanes: int
    groups: int = 1

    @property
    def vector(self) -> Vector:
        return Vector(self.lanes, "double" if self.dtype == "float64" else "float")

    @property
    def arrays(self) -> list[tuple[int, int, int]]:
        """(position in the table, numbers per row, first slot) of every input, then of every output."""
        out, slot = [], 0
        for k, n in enumerate((*self.inputs, *[math.prod(shape) for shape in self.outputs])):
            out.append((k, n, slot))
            slot += n
        return out

    @property
    def given(self) -> list[tuple[int, int, int]]:
        return self.arrays[: len(self.inputs)]

    @property
    def wanted(self) -> list[tuple[int, int, int]]:
        return self.arrays[len(self.inputs) :]


def group_bytes(plan: Plan, vector: Vector) -> int:
    """Scratch of one group of lanes, in whole cache lines."""
    return max(-(-plan.slots * vector.size // 64) * 64, 64)
