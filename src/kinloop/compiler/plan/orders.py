"""Other orders of the same operations, in which every operand still comes before its use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kinloop.compiler.plan.stage_types import Operation

Row = tuple[int, ...]
"""Values that are made together; a single value is a row of one."""


def late(units: Sequence[Row], operations: Mapping[int, Operation]) -> list[Row]:
    """The same operations, each right before its first use if nothing then has to wait longer for it.

    Algorithms go over all bodies time and again; what one pass computes for a later one waits in between. Rows stay.
    """
    count, values = len(units), 1 + max((max(unit) for unit in units), default=-1)  # operands come before their use
    place, first, last = [-1] * values, [count] * values, [-1] * values
    for i, unit in enumerate(units):
        for v in unit:
            place[v] = i
    for unit in reversed(units):
        v = unit[0]
        here, use = place[v], first[v]
        if len(unit) == 1:
            given = [x for x in operations[v][1] if type(x) is int and place[x] >= 0]
            if here < use < count and all(last[x] >= use for x in given):
                here = place[v] = use
        else:
            given = [x for v in unit for x in operations[v][1] if type(x) is int and place[x] >= 0]
        for x in given:
            if here < first[x]:
                first[x] = here
            if here > last[x]:
                last[x] = here
    return sorted(units, key=lambda unit: (place[unit[0]], unit[0]))


def after_operands(order: Sequence[int], operations: Mapping[int, Operation]) -> list[int]:
    """`order`, but values that come before one of their operands right after it."""
    inside, done = set(order), dict[int, None]()
    for v in order:
        stack = [v]
        while stack:
            needed = [x for x in operations[stack[-1]][1] if isinstance(x, int) and x in inside and x not in done]
            if needed:
                stack += needed
            else:
                done[stack.pop()] = None
    return list(done)
