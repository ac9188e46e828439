"""The sizes a kernel is made for, and where its arrays lie in the scratch array."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from kinloop.compiler.abi import CACHE_LINE, symbol
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.plan.stage_types import Plan


class Array(NamedTuple):
    """An input or output: its place among all arrays, numbers per state, first slot in the scratch array."""

    place: int
    size: int
    slot: int


IN_PLACE = 8
"""Outputs of one state, up to so many arrays, are written where they belong; each is an argument of every stage."""


@dataclass(frozen=True)
class Layout:
    """Sizes of inputs and shapes of outputs in order, dtype, lanes W, numbers that fill a vector register.

    `together` says that the outputs have to lie one after the other: laps of a series stride over them; `straight`
    that rows of outputs are written from registers, not through a buffer. `common` is the ending of the names of
    functions that all kernels have in common, in a module of their own; without one they are written beside the others.
    """

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...]
    dtype: str
    lanes: int
    block_width: int
    together: bool = False
    straight: bool = False
    common: str = ""

    def function(self, name: str) -> str:
        """The name of a function that all kernels have in common."""
        return symbol(f"{name}_{self.common}") if self.common else name

    @property
    def vector(self) -> Vector:
        """What a slot holds: one value of W states."""
        return Vector(self.lanes, "double" if self.dtype == "float64" else "float")

    @property
    def block(self) -> Vector:
        """As many numbers of one state as fit into a vector register."""
        return Vector(self.block_width, self.vector.real)

    @property
    def register(self) -> Vector:
        """What a vector register takes: one value of W states, or a block of one state."""
        return self.vector if self.lanes > 1 else self.block

    @property
    def arrays(self) -> list[Array]:
        """Every input, then every output."""
        out, slot = [], 0
        for k, n in enumerate((*self.inputs, *[math.prod(shape) for shape in self.outputs])):
            out.append(Array(k, n, slot))
            slot += n
        return out

    @property
    def in_place(self) -> bool:
        """Whether stages can write outputs to the arrays of a user, and not only to their slots."""
        return self.lanes == 1 and 0 < len(self.outputs) <= (1 if self.together else IN_PLACE)

    @property
    def parts(self) -> tuple[int, ...]:
        """The numbers of the plan's outputs at which its parts begin, each a pointer that stages are given."""
        if not self.in_place:
            return (0,)
        return tuple(self.output(array) for array in self.wanted)

    def output(self, array: Array) -> int:
        """The number, among those of all outputs, of the first number of an output."""
        return array.slot - sum(self.inputs)

    @property
    def given(self) -> list[Array]:
        return self.arrays[: len(self.inputs)]

    @property
    def wanted(self) -> list[Array]:
        return self.arrays[len(self.inputs) :]


def scratch_bytes(plan: Plan, vector: Vector) -> int:
    """The size of the scratch array, in whole cache lines, with one behind the slots for `rows_ahead`."""
    return -(-plan.slots * vector.size // CACHE_LINE) * CACHE_LINE + CACHE_LINE
