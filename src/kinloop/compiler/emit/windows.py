"""Windows onto the scratch array: pointers next to the slots that a piece of code uses most.

An instruction says where it reads or writes by a pointer and a distance, in one byte where that is short and in four
where it is not. Half the code of a segment are such instructions, and code that does not fit into what a core keeps
nearest runs as fast as it is fetched: docs/decisions/one-state.md. Instructions on registers of 512 bits count
distances in registers, so that their byte reaches 64 times as far; those on 128 and 256 bits reach too few slots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kinloop.compiler.emit.ir import Writer
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.plan.stage_types import Plan, Segment

REACH = 128
"""Bytes, or registers of WIDE bytes, before and behind a pointer that one byte of an instruction reaches."""
WIDE = 64

MOST, FEWEST = 8, 5
"""Windows in a segment, since a processor has few pointers; and how often one is used, to be worth its own code."""


def window_width(vector: Vector) -> int:
    """How many slots a window shows; 0 where windows are of no use."""
    if vector.size == WIDE:
        return 2 * REACH
    return 2 * REACH // vector.size if vector.width == 1 else 0


def used_slots(plan: Plan, segment: Segment) -> Counter[int]:
    """How often a segment reads or writes each slot."""
    here = set(segment.values)
    read = {x for v in segment.values for x in plan.operations[v][1] if isinstance(x, int)}
    read |= {x for x, _ in segment.copies if isinstance(x, int)}
    slots = Counter(plan.home[x] for x in read - here)
    slots.update(slot for v in segment.values for slot in plan.stores.get(v, ()))
    slots.update(slot for _, slot in segment.copies)
    return slots


def find_windows(slots: Mapping[int, int], width: int) -> list[int]:
    """The first slots of windows of `width` slots, those of most use first."""
    left = {slot: n for slot, n in sorted(slots.items()) if slot >= width // 2}  # others are near the beginning
    found: list[int] = []
    while left and len(found) < MOST:
        uses, first = _fullest(left, width)
        if uses < FEWEST:
            break
        found.append(first)
        left = {slot: n for slot, n in left.items() if not first <= slot < first + width}
    return found


def _fullest(left: Mapping[int, int], width: int) -> tuple[int, int]:
    """How often the slots of the window of most use are used, and where it begins; slots come in order."""
    slots, most, best, uses, end = list(left), 0, 0, 0, 0
    for first in slots:
        while end < len(slots) and slots[end] < first + width:
            uses += left[slots[end]]
            end += 1
        if uses > most:
            most, best = uses, first
        uses -= left[first]
    return most, best


class Windows:
    """The windows of a segment; slots that lie elsewhere, as the plan's outputs do for one state, have none."""

    def __init__(
        self, writer: Writer, plan: Plan, segment: Segment, vector: Vector, elsewhere: Sequence[range] = ()
    ) -> None:
        self._writer, self._size, self._width = writer, vector.size, window_width(vector)
        apart = range(plan.n_in, plan.n_in + plan.n_out) if vector.width == 1 else range(0)
        away = (apart, *elsewhere)
        slots = {slot: n for slot, n in used_slots(plan, segment).items() if not any(slot in x for x in away)}
        firsts = find_windows(slots, self._width) if self._width else []
        self._middles = [(first, self._pointer(first + self._width // 2)) for first in firsts]

    def _pointer(self, slot: int) -> str:
        """A pointer of which LLVM does not know that it comes from another: it would count from that one again."""
        w = self._writer
        return w.new(f'call ptr asm "", "=r,0"(ptr {w.offset("%scratch", slot * self._size)})')

    def address(self, slot: int) -> str | None:
        """The address of a slot that a window shows. No slot is reached in two ways, so that none is mistaken."""
        for first, middle in self._middles:
            if first <= slot < first + self._width:
                return self._writer.offset(middle, (slot - first - self._width // 2) * self._size)
        return None
