"""Rows of tables that a loop reads and leaves, used where they lie: its body's segments get pointers to them.

A row that is copied before a round and after it costs more than most bodies do with it. Where a body's segments alone
look into the slots of a row, they look into the table instead. Other stages (loops in loops, indexed reads, series)
count from the beginning of the body's own slots: rows that they look into are copied.
"""

from __future__ import annotations

from typing import NamedTuple

from kinloop.compiler.plan.in_place import slots_read
from kinloop.compiler.plan.stage_types import Plan, Repeat, Segment, Series


class Beside(NamedTuple):
    """Slots of a body that lie elsewhere, behind a pointer to the first of them."""

    pointer: str
    slots: range


def rows_beside(stage: Repeat) -> tuple[Beside, ...]:
    """The rows of a loop's tables, and of what it leaves, that its body can use where they lie."""
    body, spans = stage.body, list[Beside]()
    if any(isinstance(s, Series) or (isinstance(s, Segment) and s.rows) for s in body.stages):
        return ()
    first = body.n_in - sum(width for _, width in stage.tables)
    for k, (_, width) in enumerate(stage.tables):
        spans.append(Beside(f"%row{k}", range(first, first + width)))
        first += width
    spans.append(Beside("%left", range(body.n_in + stage.carried, body.n_in + stage.carried + stage.left)))
    apart = _used_apart(body)
    return tuple(b for b in spans if b.slots and apart.isdisjoint(b.slots))


def _used_apart(plan: Plan) -> set[int]:
    """Slots, those of loops within not counted, that other stages than segments read or write."""
    found = {t.at + t.stride * k for t in plan.tables.values() if not t.constants for k in range(t.count)}
    return found.union(*(slots_read(stage) for stage in plan.stages))
