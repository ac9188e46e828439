"""How long values wait in slots, and which values can share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kinloop.compiler.plan.patterns import Laps
from kinloop.compiler.plan.stage_types import Operation, Segment, Stage

Moment = tuple[int, int]
"""The number of a stage, and of a lap in it."""


def last_uses(stages: Sequence[Stage | Laps], operations: Mapping[int, Operation]) -> dict[int, int]:
    """For every value that is used outside the piece of code that makes it, the last stage that uses it."""
    born: dict[int, int] = {}
    last: dict[int, int] = {}
    room = 0
    for t, stage in enumerate(stages):
        for values in _rooms(stage):
            room += 1
            for v in values:
                born[v] = room
                for x in operations[v][1]:
                    if type(x) is int and x in born and born[x] != room:
                        last[x] = t
    return last


def last_moments(stages: Sequence[Stage | Laps], operations: Mapping[int, Operation]) -> dict[int, Moment]:
    """When each value is used for the last time, or made if it is not used."""
    ends: dict[int, Moment] = {}
    for t, stage in enumerate(stages):
        rows = stage.rows if isinstance(stage, Laps) else [stage.values] if isinstance(stage, Segment) else []
        for n, values in enumerate(rows):
            moment = (t, n)
            for v in values:
                ends[v] = moment
                for x in operations[v][1]:
                    if isinstance(x, int):
                        ends[x] = moment
        if isinstance(stage, Segment):
            ends |= {x: (t, 0) for x, _ in stage.copies if isinstance(x, int)}
    return ends


def outliving(stages: Sequence[Stage | Laps], operations: Mapping[int, Operation]) -> set[int]:
    """The values of laps that something else than their own lap and the next one of the same series uses."""
    lap: dict[int, int] = {}
    number = 0
    for stage in stages:
        if isinstance(stage, Laps):
            number += 2  # so that no lap is the next one of another series
            for row in stage.rows:
                number += 1
                lap |= dict.fromkeys(row, number)
    kept = {x for stage in stages if isinstance(stage, Segment) for x, _ in stage.copies if isinstance(x, int)}
    for v, (_, args) in operations.items():
        own = lap.get(v, 0)
        for x in args:
            if isinstance(x, int) and own - lap.get(x, own) not in (0, 1):
                kept.add(x)
    return kept


def share_slots(
    stages: Sequence[Stage | Laps],
    last: Mapping[int, int],
    settled: Mapping[int, int],
    waiting: Mapping[int, tuple[int, ...]],
    reserve: Callable[[int], int],
    heirs: Mapping[int, int] | None = None,
) -> dict[int, int]:
    """The slot where each value in `last` waits; a slot is free again after the last use.

    `heirs` take over the slot of the value named there, if that was used for the last time before. Values in
    `settled` wait in the slots named there, values of a row in `waiting` in slots that follow each other, from the
    first of them to the last; `reserve` makes new slots.
    """
    home: dict[int, int] = {}
    free: dict[int, list[int]] = {}
    dying: dict[int, list[tuple[int, int]]] = {}
    heirs = heirs or {}
    for t, stage in enumerate(stages):
        for values in _rooms(stage):
            for v in values:
                if v in settled:
                    home[v] = settled[v]
                elif v in heirs and v in last and (1, home.get(heirs[v], -1)) in dying.get(t, ()):
                    home[v] = home[heirs[v]]
                    dying[t].remove((1, home[v]))
                    dying.setdefault(last[v], []).append((1, home[v]))
                elif v in last and v not in home:
                    row = waiting.get(v, (v,))
                    slots = free.get(len(row))
                    start = slots.pop() if slots else reserve(len(row))
                    own = [(x, start + i) for i, x in enumerate(row) if x in last and waiting.get(x, row) == row]
                    home |= {x: slot for x, slot in own if x not in settled}
                    dying.setdefault(max(last[x] for x, _ in own), []).append((len(row), start))
        for size, start in dying.get(t, ()):
            free.setdefault(size, []).append(start)
    return home


def _rooms(stage: Stage | Laps) -> Sequence[tuple[int, ...]]:
    """The values of a stage, together where they can be used without waiting in slots."""
    if isinstance(stage, Laps):
        return stage.rooms()
    return [stage.values] if isinstance(stage, Segment) else []
