"""From a traced function to a plan: what is computed when, and which slot of the scratch array holds it.

Sines, cosines and loops are stages of their own; what they wait for, and what waits for them, goes to
segments before and after. Values that live across segments get slots of their own, reused when dead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kinloop.compiler.plan.draft import Draft, Places
from kinloop.compiler.plan.find_rows import Rows, find_rows
from kinloop.compiler.plan.find_series import Span
from kinloop.compiler.plan.fuse import fuse_products
from kinloop.compiler.plan.gates import BARRIERS
from kinloop.compiler.plan.in_place import leaves_its_rows, written_in_place
from kinloop.compiler.plan.orders import Row, late
from kinloop.compiler.plan.patterns import Laps
from kinloop.compiler.plan.rare_values import find_choices, together
from kinloop.compiler.plan.rolling import LARGE, roll
from kinloop.compiler.plan.stage_types import (
    Angles,
    Choose,
    LoopNode,
    Move,
    Operand,
    Plan,
    Repeat,
    Segment,
    Stage,
)
from kinloop.scalar import Function

SEGMENT = 300  # runs as fast as 1600, compiles 20 % faster; derivatives of robots run 5 % faster than with 400
SHARE = 0.5  # what a value of a row counts in a segment: rows are vector instructions, Talos' code runs 5 % faster
MOVE = 256  # copies of fewer slots are written one by one
ROWS = 1 / 3  # the part of a segment that rows have to be, to be written as such: it then has no windows
ANGLE_PAD = 16  # angles come in blocks of at most this many, so that one state can fill the vector unit


class _How(NamedTuple):
    """How long segments are, from how many operations on a plan is a large one, and whether it is for one state."""

    segment: int
    large: float
    one: bool


def make_plan(
    function: Function, fuse: bool, segment: int = SEGMENT, large: float = LARGE, *, one: bool = False
) -> Plan:
    """Plan for `function`; `fuse` joins products and sums into operations that round once.

    From `large` operations on, those that repeat themselves become series, and if it is for `one` state, those that do
    the same with neighbouring numbers become rows.
    """
    return _plan(function, fuse, _How(segment, large, one), {}, None)


def _plan(
    function: Function, fuse: bool, how: _How, known: dict[Any, Plan], shared: Places, sizes: tuple[Any, ...] = ()
) -> Plan:
    """The plan of a function; of a loop's body, what it shares with its surroundings lies in the slots `shared`.

    Loops with equal bodies and `sizes` have one plan.
    """
    key = id(function), shared, sizes
    if key not in known:
        draft = Draft.read(function, shared)
        draft.is_body = bool(sizes)
        own = how
        if any(op == "take" for op, _ in draft.operations.values()):
            own = how._replace(large=math.inf)  # tables are read where they lie: laps do not know where that is
        if fuse:
            draft.operations = fuse_products(draft.operations, draft.outputs)
        draft.open_gates()

        def body(loop: LoopNode, at: Places) -> Plan:
            return _plan(loop.body, fuse, how, known, at, (loop.carried, loop.widths))

        for barriers in _levels(draft):
            _add_barrier(draft, barriers, body, own)
        for k, x in enumerate(draft.outputs):
            draft.feed(x, draft.n_in + k)
        _add_segments(draft, None, own)
        known[key] = written_in_place(draft.finish(), draft.outputs, sizes[0] if sizes else 0, how.one)
    return known[key]


def _levels(draft: Draft) -> Iterator[list[int]]:
    """Operations that wait for all they are given by how many of them lie on the way to each, nearest first."""
    level: dict[int, int] = {}
    groups: dict[int, list[int]] = {}
    known = level.get
    for k, (op, args) in draft.operations.items():
        depth = 0
        for x in args:
            if type(x) is int and known(x, 0) > depth:
                depth = level[x]
        if op in BARRIERS:
            depth += 1
            groups.setdefault(depth, []).append(k)
        if depth:
            level[k] = depth
    for depth in sorted(groups):
        yield groups[depth]


def _add_barrier(draft: Draft, barriers: list[int], body: Callable[[LoopNode, Places], Plan], how: _How) -> None:
    """Stages for sines, cosines, loops and tables that depend on nothing later, after what they need."""
    angles = [k for k in barriers if draft.operations[k][0] in ("sin", "cos")]
    needed: list[Operand] = list(dict.fromkeys(draft.operations[k][1][0] for k in angles))
    place = {x: i for i, x in enumerate(needed)}
    stages: list[Stage] = []
    if angles:
        pad = -len(needed) % ANGLE_PAD
        at = draft.lie_at(needed)  # where the pad is what follows them, whatever that is
        at = draft.settle([*needed, *[0.0] * pad]) if at is None else at
        stage = Angles(at, draft.reserve(len(needed) + pad), draft.reserve(len(needed) + pad), len(needed))
        stages.append(stage)
    homes: dict[int, tuple[int, ...]] = {}
    leaves = {k: draft.leaves(k) for k in barriers if k in draft.loops}
    for k in barriers:
        op, args = draft.operations[k]
        if op == "loop":
            loop = _add_loop(draft, k, args, leaves[k], body)
            stages.append(loop)
            homes[k] = (
                *range(loop.base, loop.base + loop.carried),
                *range(loop.leaves, loop.leaves + loop.rounds * loop.left),
            )
        elif op == "nearest":
            keys, n = draft.table(args), draft.picks[k]
            chosen = Choose(keys.at, len(args), keys.stride, draft.reserve(2 * n + 1), n)
            stages.append(chosen)
            homes[k] = tuple(range(chosen.out, chosen.out + chosen.slots + 1))
        elif op == "table":
            draft.tables[k] = draft.table(args)
        needed.extend(args if op not in ("sin", "cos") else ())
    _add_segments(draft, needed, how)
    draft.stages.extend(stages)
    for k in angles:
        op, (x,) = draft.operations[k]
        draft.home[k] = (stage.sin if op == "sin" else stage.cos) + place[x]
    draft.home |= {k: draft.tables[k].at for k in barriers if k in draft.tables}
    for k, (op, args) in draft.operations.items() if homes else ():
        if op == "pick" and isinstance(args[0], int) and args[0] in homes:
            draft.home[k] = homes[args[0]][draft.picks[k]]


def _add_loop(
    draft: Draft, k: int, args: Sequence[Operand], leaves: int, body: Callable[[LoopNode, Places], Plan]
) -> Repeat:
    """The stage of loop k, and slots for all that it carries, is given, reads and leaves."""
    loop = draft.loops[k]
    first = len(args) - loop.rounds * sum(loop.widths)
    copied, groups = args[: first - sum(loop.shared)], args[first - sum(loop.shared) : first]
    plain = not (loop.shared or loop.widths or loop.left)
    at: list[int] = []
    for size in loop.shared:
        group, groups = groups[:size], groups[size:]
        place = draft.settle(group)
        at += range(place, place + size)
    tables = []
    for width in loop.widths:
        tables.append((draft.settle(args[first : first + loop.rounds * width]), width))
        first += loop.rounds * width
    base = draft.size
    plan = body(loop, None if plain else tuple(slot - base for slot in at))
    draft.reserve(plan.slots)
    draft.feed_loop(copied, base, k)
    row = plan.n_in
    for place, width in reversed(tables):
        row -= width
        if draft.is_own(place, leaves, k) and width == loop.left and leaves_its_rows(plan, row, loop.carried, width):
            leaves = place
    return Repeat(plan, base, loop.rounds, loop.carried, loop.gate, tuple(tables), leaves, loop.left, loop.cleared)


def _add_segments(draft: Draft, needed: Iterable[Operand] | None, how: _How) -> None:
    """Segments that compute `needed` and what it depends on (None: all that is left), and the copies that are due."""
    order = _order(draft, needed)
    pieces = _pieces(draft, [v for v in order if v not in draft.gates], how)
    _add_moves(draft)
    hop = max(how.segment // 2, -(-len(draft.pending) // max(sum(isinstance(piece, list) for piece in pieces), 1)))
    pending, draft.pending = draft.pending, []
    while pieces or pending:
        values = pieces.pop(0) if pieces else []
        if isinstance(values, Laps):
            draft.stages.append(values)
        else:
            flat = tuple(v for unit in values for v in unit)
            rows = tuple(unit for unit in values if len(unit) > 1)
            enough = sum(map(len, rows)) >= ROWS * len(flat)
            draft.stages.append(Segment(flat, tuple(pending[:hop]), rows=rows if enough else ()))
            pending = pending[hop:]
    for g, slot in draft.gate_slots.items():
        for piece in _cut(draft, _singles(v for v in order if draft.gates.get(v) == g), how.segment):
            draft.stages.append(Segment(tuple(v for (v,) in piece), gate=slot))
    idle, draft.idle = draft.idle, {}
    for slot, copies in idle.items():
        for k in range(0, len(copies), how.segment // 2):
            draft.stages.append(Segment((), tuple(copies[k : k + how.segment // 2]), gate=slot))


def _pieces(draft: Draft, order: list[int], how: _How) -> list[list[Row] | Laps]:
    """`order` cut into segments, and where it repeats itself into laps."""
    rows = find_rows(order, draft.operations, draft.stores, draft.home) if len(order) >= how.large else Rows()
    if not how.one:
        order = rows.one_by_one(order, draft.operations)
    spans: list[Span] = []
    if not (how.one and rows.made):  # rows are faster than code that is rolled up, and lanes have none
        order, spans = roll(order, draft.operations, how.large)
    if not spans:
        draft.waiting |= rows.waiting if how.one else {}
        units = rows.units(order) if how.one else _singles(order)
        units, blocks = _blocks(draft, late(units, draft.operations))
        return [*_cut(draft, units, how.segment, blocks)]
    pieces: list[list[Row] | Laps] = []
    done = 0
    for span in spans:
        pieces += _cut(draft, _singles(order[done : span.start]), how.segment)
        laps = [tuple(order[k : k + span.period]) for k in range(span.start, span.end, span.period)]
        pieces.append(Laps(tuple(laps), tuple(len(piece) for piece in _cut(draft, _singles(laps[0]), how.segment))))
        done = span.end
    return pieces + _cut(draft, _singles(order[done:]), how.segment)


def _blocks(draft: Draft, units: list[Row]) -> tuple[list[Row], dict[int, int]]:
    """Units with what only the rare values of a choice need next to it, and which of them stay together."""
    order = [v for unit in units for v in unit]
    if len(order) > len(units) or draft.usual.isdisjoint(order):
        return units, {}
    kept = draft.used_beyond(order)
    usual = {v for v in draft.usual.intersection(order) if draft.operations[v][0] == "where"}
    order, blocks = together(order, find_choices(order, draft.operations, usual, kept).values())
    return _singles(order), blocks


def _singles(values: Iterable[int]) -> list[Row]:
    return [(v,) for v in values]


def _add_moves(draft: Draft) -> None:
    """Copies of many slots that follow each other to others that do, as loops; outputs may lie elsewhere."""
    runs: list[list[tuple[Operand, int]]] = []
    step, outputs = None, range(draft.n_in, draft.n_in + len(draft.outputs))
    for x, slot in draft.pending:
        following = isinstance(x, int) and bool(runs) and (draft.home[x] - slot, slot - 1) == step
        if not following:
            runs.append([])
        runs[-1].append((x, slot))
        step = (draft.home[x] - slot, slot) if isinstance(x, int) and slot not in outputs else None
    draft.pending = [copy for run in runs if len(run) < MOVE for copy in run]
    for run in runs:
        x, slot = run[0]
        if len(run) >= MOVE and isinstance(x, int):
            draft.stages.append(Move(draft.home[x], slot, len(run)))


def _cut(draft: Draft, units: Iterable[Row], segment: int, blocks: Mapping[int, int] | None = None) -> list[list[Row]]:
    """Pieces of values, rows and those of a block together, with at most `segment` operations, loads and stores each.

    Loads and stores count, because LLVM's schedulers compare each with each; those of rows count less.
    """
    pieces: list[list[Row]] = []
    operations, stores = draft.operations, draft.stores
    here: set[int] = set()
    cost, blocks = segment, blocks or {}
    sizes = Counter(blocks.values())
    before: Row = ()
    for unit in units:
        block = blocks.get(unit[0], -1)
        inside = block >= 0 and bool(before) and blocks.get(before[0]) == block
        full = cost + (sizes[block] if block >= 0 else 0) >= segment
        if full and not inside and not (len(unit) > 1 and _goes_on(draft, before, unit)):
            piece: list[Row] = []
            pieces.append(piece)
            here, cost = set(), 0
        each = 1 if len(unit) == 1 else SHARE
        for v in unit:
            cost += each
            for x in operations[v][1]:
                if type(x) is int and x not in here:
                    here.add(x)
                    cost += each
            if v in stores:
                cost += each * len(stores[v])
            here.add(v)
        piece.append(unit)
        before = unit
    return pieces


def _goes_on(draft: Draft, before: Row, unit: Row) -> bool:
    """Whether a row adds to the sum of the row before, which nobody else is told to keep."""
    return bool(before) and before[0] in draft.operations[unit[0]][1] and before[0] not in draft.stores


def _order(draft: Draft, needed: Iterable[Operand] | None) -> list[int]:
    """What is still to be computed for `needed`, in the order of the trace; None: whatever is left.

    Depth first from the outputs was tried: half as many values again wait in slots.
    """
    done, home, operations, order = draft.made, draft.home, draft.operations, []
    if needed is None:
        left = operations.keys() - done - home.keys()
        return sorted([k for k in left if operations[k][0] not in BARRIERS])
    stack = [x for x in needed if isinstance(x, int)]
    while stack:
        x = stack.pop()
        if x not in done and x not in home:
            done.add(x)
            order.append(x)
            stack.extend([a for a in operations[x][1] if isinstance(a, int)])
    return sorted(order)
