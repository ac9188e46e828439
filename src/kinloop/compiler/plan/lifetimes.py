"""How long values wait in slots, and which values can share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kinloop.compiler.plan.stage_types import Operation, Segment, Stage


def last_uses(stages: Sequence[Stage], operations: Mapping[int, Operation]) -> dict[int, int]:
    """For every value that a later segment than its own uses, the last stage that does."""
    born: dict[int, int] = {}
    last: dict[int, int] = {}
    for t, values in enumerate(_values(stages)):
        for v in values:
            born[v] = t
            for x in operations[v][1]:
                if isinstance(x, int) and born.get(x, t) != t:
                    last[x] = t
    return last


def share_slots(
    stages: Sequence[Stage], last: Mapping[int, int], settled: Mapping[int, int], reserve: Callable[[], int]
) -> dict[int, int]:
    """The slot where each value in `last` waits; a slot is free again after the last use.

    Values in `settled` wait in the slots named there; `reserve` makes a new slot.
    """
    dying: dict[int, list[int]] = {}
    for v, t in last.items():
        dying.setdefault(t, []).append(v)
    home: dict[int, int] = {}
    free: list[int] = []
    for t, values in enumerate(_values(stages)):
        for v in values:
            if v in settled:
                home[v] = settled[v]
            elif v in last:
                home[v] = free.pop() if free else reserve()
        free.extend(home[v] for v in dying.get(t, ()) if v not in settled)
    return home


def _values(stages: Sequence[Stage]) -> list[tuple[int, ...]]:
    return [stage.values if isinstance(stage, Segment) else () for stage in stages]
