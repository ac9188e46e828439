"""What a loop carries, written where its next round reads it: only what is still needed there is copied later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kinloop.compiler.plan.stage_types import Angles, Choose, Move, Operand, Plan, Repeat, Segment, Series, Stage

_BEHIND = 1 << 30  # behind all operations of a segment

Time = tuple[int, int]
"""A stage, and a place in it."""


def written_in_place(plan: Plan, outputs: Sequence[Operand], carried: int, one: bool) -> Plan:
    """The plan of a loop's body, its first outputs written to the slots of its first inputs where nobody minds.

    That is where the input is not read after its output is there. In code for `one` state the usual value of a choice
    is stored before others are computed: those are left alone.
    """
    if any(isinstance(stage, Series) or (isinstance(stage, Segment) and stage.rows) for stage in plan.stages):
        return plan
    last, made, copied = _last_reads(plan, range(carried)), _made(plan), _copied(plan)
    moved: dict[int, int] = {}
    same: set[int] = set()
    for k, v in enumerate(outputs[:carried]):
        slot = plan.n_in + k
        if isinstance(v, int) and plan.home.get(v) == k:
            same.add(k)
        elif isinstance(v, int) and slot in plan.stores.get(v, ()):
            if last.get(k, (-1, 0)) <= made[v] and not (one and v in plan.usual):
                moved[slot] = k
        elif slot in copied and last.get(k, (-1, 0)) < copied[slot]:
            moved[slot] = k
    stores = {v: tuple(moved.get(s, s) for s in slots) for v, slots in plan.stores.items()}
    home = {v: moved.get(s, s) for v, s in plan.home.items()}
    own = {plan.n_in + k for k in same}
    stages = tuple(
        replace(stage, copies=tuple((x, moved.get(s, s)) for x, s in stage.copies if s not in own))
        if isinstance(stage, Segment) else stage
        for stage in plan.stages
    )  # fmt: skip
    return replace(plan, stages=stages, stores=stores, home=home, in_place=frozenset((*moved.values(), *same)))


def leaves_its_rows(plan: Plan, first: int, carried: int, left: int) -> bool:
    """Whether what the rounds of a loop leave can be written over the rows of one of its tables.

    The row of a round is the inputs from `first` on of its body's plan; they must not be read after they are
    written over.
    """
    last, made = _last_reads(plan, range(first, first + left)), _made(plan)
    writer = {slot: v for v, slots in plan.stores.items() for slot in slots}
    for k in range(left):
        v = writer.get(plan.n_in + carried + k)
        if v not in made or v in plan.usual or last.get(first + k, (-1, 0)) > made[v]:
            return False
    return not any(isinstance(stage, Series) or (isinstance(stage, Segment) and stage.rows) for stage in plan.stages)


def slots_read(stage: Stage) -> Iterator[int]:
    """Slots of a plan that a stage other than a segment reads, or for a loop also leaves."""
    if isinstance(stage, Choose):
        yield from (stage.at + stage.stride * k for k in range(stage.count))
    elif isinstance(stage, Angles):
        yield from range(stage.at, stage.at + stage.count)
    elif isinstance(stage, Move):
        yield from (at + k for at in (stage.source, stage.target) for k in range(stage.count))
    elif isinstance(stage, Repeat):
        yield from (at + k for at, width in stage.tables for k in range(width * stage.rounds))
        yield from range(stage.leaves, stage.leaves + stage.left * stage.rounds)
        yield from (stage.base + slot for slot in slots_beyond(stage.body) if slot < 0)


def slots_beyond(plan: Plan) -> set[int]:
    """Slots that a plan reads, counted from its first one, those of loops within not counted."""
    found = {t.at + t.stride * k for t in plan.tables.values() if not t.constants for k in range(t.count)}
    return found.union(plan.home.values(), *(slots_read(stage) for stage in plan.stages))


def _last_reads(plan: Plan, inputs: range) -> dict[int, Time]:
    """When the slots of some inputs are read last."""
    slot_of = {x: slot for x, slot in plan.home.items() if slot in inputs and x not in plan.operations}
    found: dict[int, Time] = {}
    for t, stage in enumerate(plan.stages):
        if isinstance(stage, Segment):
            for place, v in enumerate(stage.values):
                found |= {slot_of[x]: (t, place) for x in plan.operations[v][1] if isinstance(x, int) and x in slot_of}
            found |= {slot_of[x]: (t, _BEHIND) for x, _ in stage.copies if isinstance(x, int) and x in slot_of}
        else:
            found |= {slot: (t, _BEHIND) for slot in slots_read(stage) if slot in inputs}
    tables = {t.at + t.stride * k for t in plan.tables.values() if not t.constants for k in range(t.count)}
    return found | {slot: (len(plan.stages), 0) for slot in tables if slot in inputs}


def _made(plan: Plan) -> dict[int, Time]:
    """When values of segments are computed."""
    stages = [(t, stage) for t, stage in enumerate(plan.stages) if isinstance(stage, Segment)]
    return {v: (t, place) for t, stage in stages for place, v in enumerate(stage.values)}


def _copied(plan: Plan) -> dict[int, Time]:
    """When slots are copied to."""
    stages = [(t, stage) for t, stage in enumerate(plan.stages) if isinstance(stage, Segment)]
    return {slot: (t, _BEHIND) for t, stage in stages for _, slot in stage.copies}
