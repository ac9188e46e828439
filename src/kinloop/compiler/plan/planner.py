"""From a traced function to a plan: what is computed when, and which slot of the scratch array holds it.

Sines, cosines and loops are stages of their own; what they wait for, and what waits for them, goes to
segments before and after. Values that live across segments get slots of their own, reused when dead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kinloop.compiler.plan.find_rows import Rows, find_rows
from kinloop.compiler.plan.fuse import fuse_products
from kinloop.compiler.plan.gates import BARRIERS, find_gates
from kinloop.compiler.plan.lifetimes import last_uses, share_slots
from kinloop.compiler.plan.orders import Row, late
from kinloop.compiler.plan.patterns import Laps, make_series
from kinloop.compiler.plan.rolling import LARGE, roll
from kinloop.compiler.plan.stage_types import Angles, LoopNode, Move, Operand, Operation, Plan, Repeat, Segment, Stage
from kinloop.scalar import Function, Symbol
from kinloop.scalar.elementary import CHOICES, USUAL
from kinloop.scalar.symbol import constant_value

SEGMENT = 300  # runs as fast as 1600, compiles 20 % faster; derivatives of robots run 5 % faster than with 400
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
    return _plan(function, fuse, _How(segment, large, one), {})


def _plan(function: Function, fuse: bool, how: _How, known: dict[int, Plan]) -> Plan:
    if id(function) not in known:
        draft = _Draft.read(function)
        if fuse:
            draft.operations = fuse_products(draft.operations, draft.outputs)
        draft.open_gates()
        for angles, loops in _levels(draft):
            bodies = {k: _plan(draft.loops[k].body, fuse, how, known) for k in loops}
            _add_barrier(draft, angles, bodies, how)
        for k, x in enumerate(draft.outputs):
            draft.feed(x, draft.n_in + k)
        _add_segments(draft, draft.outputs, how)
        known[id(function)] = draft.finish()
    return known[id(function)]


def _operand(x: Any) -> Operand:
    if isinstance(x, Symbol):
        return constant_value(x) if x.op == "const" else x.index
    return float(x)


@dataclass
class _Draft:
    """A plan in the making."""

    n_in: int
    outputs: list[Operand]
    operations: dict[int, Operation]
    loops: dict[int, LoopNode]
    picks: dict[int, int]
    home: dict[int, int]
    usual: frozenset[int]
    size: int
    stores: dict[int, list[int]] = field(default_factory=dict)
    pending: list[tuple[Operand, int]] = field(default_factory=list)
    stages: list[Stage | Laps] = field(default_factory=list)
    made: set[int] = field(default_factory=set)
    gates: dict[int, int] = field(default_factory=dict)  # the value that says whether a value is needed
    gate_slots: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, Row] = field(default_factory=dict)  # values that wait side by side

    @classmethod
    def read(cls, function: Function) -> _Draft:
        """Symbols to numbered operations."""
        start, n_in = {}, 0
        for name, size in function.inputs.items():
            start[name] = n_in
            n_in += size
        operations: dict[int, Operation] = {}
        loops, picks, home = {}, {}, {}
        usual = frozenset(s.index for s in function.nodes if s.op in CHOICES and s.payload == USUAL)
        for s in function.nodes:
            if s.op == "input":
                home[s.index] = start[s.payload[0]] + s.payload[1]
            elif s.op != "const":
                operations[s.index] = (s.op, tuple([_operand(a) for a in s.args]))
                if s.op == "loop":
                    loops[s.index] = s.payload
                elif s.op == "pick":
                    picks[s.index] = s.payload
        outputs = [_operand(x) for out in function.outputs.values() for x in out.flat]
        return cls(n_in, outputs, operations, loops, picks, home, usual, n_in + len(outputs))

    def reserve(self, count: int = 1) -> int:
        """The first of `count` new slots."""
        self.size += count
        return self.size - count

    def feed(self, x: Operand, slot: int) -> None:
        """Have `x` in `slot` in time: stored when computed, or copied by the next segment."""
        if isinstance(x, int) and x not in self.home:
            self.stores.setdefault(x, []).append(slot)
        else:
            self.pending.append((x, slot))

    def open_gates(self) -> None:
        """Find what may be left out, and have the values that decide it in slots."""
        self.gates = find_gates(self.operations, self.loops, self.outputs)
        for g in dict.fromkeys(self.gates.values()):
            self.gate_slots[g] = self.reserve()
            self.feed(g, self.gate_slots[g])

    def finish(self) -> Plan:
        """Give slots to the values that outlive their piece of code."""
        last = self._copied_later()
        last |= last_uses(self.stages, self.operations)
        outputs = range(self.n_in, self.n_in + len(self.outputs))
        settled: dict[int, int] = {}
        for stage in self.stages:
            if isinstance(stage, Laps):
                settled |= self._records(stage, last)
        # A value that is also an output can wait in its output slot, where laps do not look for it.
        seen = self._seen_by_laps()
        there = {v: self.stores[v][0] for v in last if v in self.stores and seen.isdisjoint(self._row(v))}
        there = {v: slot for v, slot in there.items() if slot in outputs and self._in_row(v)}
        for v, slot in share_slots(self.stages, last, settled | there, self.waiting, self.reserve).items():
            self.home[v] = slot
            if v not in there:
                self.stores.setdefault(v, []).insert(0, slot)
        stores = {v: tuple(slots) for v, slots in self.stores.items()}
        stages = [
            make_series(stage, self.operations, self.home, stores, outputs) if isinstance(stage, Laps) else stage
            for stage in self.stages
        ]
        sizes = self.n_in, len(self.outputs), self.size
        return Plan(*sizes, tuple(stages), self.operations, self.home, stores, self.usual)

    def _row(self, v: int) -> Row:
        """The values that `v` waits with, and itself."""
        return self.waiting.get(v, (v,))

    def _in_row(self, v: int) -> bool:
        """Whether the first stores of the values that `v` waits with follow each other."""
        row = self._row(v)
        starts = [self.stores.get(x, [-1])[0] for x in row]
        return starts == list(range(starts[0], starts[0] + len(row)))

    def _seen_by_laps(self) -> set[Operand]:
        """The values that laps make or use."""
        made = {v for stage in self.stages if isinstance(stage, Laps) for row in stage.rows for v in row}
        return made.union(*(self.operations[v][1] for v in made))

    def _records(self, laps: Laps, last: dict[int, int]) -> dict[int, int]:
        """Slots for values that outlive their lap, side by side for each lap."""
        places = laps.waiting(last)
        base = self.reserve(len(places) * len(laps.rows))
        return {row[k]: base + n * len(places) + i for n, row in enumerate(laps.rows) for i, k in enumerate(places)}

    def _copied_later(self) -> dict[int, int]:
        """Stores that not all laps do become copies behind them; the values that wait for it, and until when."""
        outputs = range(self.n_in, self.n_in + len(self.outputs))
        last: dict[int, int] = {}
        stages: list[Stage | Laps] = []
        for stage in self.stages:
            stages.append(stage)
            copies: list[tuple[Operand, int]] = []
            for column in zip(*stage.rows, strict=True) if isinstance(stage, Laps) else ():
                kinds = {tuple(slot in outputs for slot in self.stores.get(v, ())) for v in column}
                if len(kinds) > 1:
                    copies += [(v, slot) for v in column for slot in self.stores.pop(v, ())]
            if copies:
                stages.append(Segment((), tuple(copies)))
                last |= {v: len(stages) - 1 for v, _ in copies if isinstance(v, int)}
        self.stages = stages
        return last


def _levels(draft: _Draft) -> Iterator[tuple[list[int], list[int]]]:
    """Sines, cosines and loops by how many of them lie on the way to each, nearest first."""
    level: dict[int, int] = {}
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for k, (op, args) in draft.operations.items():
        depth = 0
        for x in args:
            if isinstance(x, int):
                depth = max(depth, level.get(x, 0))
        if op in BARRIERS:
            depth += 1
            groups.setdefault(depth, ([], []))[op == "loop"].append(k)
        level[k] = depth
    for depth in sorted(groups):
        yield groups[depth]


def _add_barrier(draft: _Draft, angles: list[int], bodies: dict[int, Plan], how: _How) -> None:
    """Stages for sines, cosines and loops that depend on nothing later, after what they need."""
    needed: list[Operand] = list(dict.fromkeys(draft.operations[k][1][0] for k in angles))
    place = {x: i for i, x in enumerate(needed)}
    stages: list[Stage] = []
    if angles:
        padded = -(-len(needed) // ANGLE_PAD) * ANGLE_PAD
        stage = Angles(draft.reserve(padded), draft.reserve(padded), draft.reserve(padded), len(needed))
        stages.append(stage)
        for i in range(padded):
            draft.feed(needed[i] if i < len(needed) else 0.0, stage.at + i)
    bases = {}
    for k, body in bodies.items():
        loop, args = draft.loops[k], draft.operations[k][1]
        bases[k] = draft.reserve(body.slots)
        stages.append(Repeat(body, bases[k], loop.rounds, loop.carried, loop.gate))
        for i, x in enumerate(args):
            draft.feed(x, bases[k] + i)
        needed.extend(args)
    _add_segments(draft, needed, how)
    draft.stages.extend(stages)
    for k in angles:
        op, (x,) = draft.operations[k]
        draft.home[k] = (stage.sin if op == "sin" else stage.cos) + place[x]
    for k, (op, args) in draft.operations.items() if bodies else ():
        if op == "pick" and isinstance(args[0], int) and args[0] in bases:
            draft.home[k] = bases[args[0]] + draft.picks[k]


def _add_segments(draft: _Draft, needed: Iterable[Operand], how: _How) -> None:
    """Segments that compute `needed` and what it depends on, and the copies that are due."""
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


def _pieces(draft: _Draft, order: list[int], how: _How) -> list[list[Row] | Laps]:
    """`order` cut into segments, and where it repeats itself into laps."""
    rows = find_rows(order, draft.operations, draft.stores, draft.home) if len(order) >= how.large else Rows()
    if not how.one:
        order = rows.one_by_one(order, draft.operations)
    # rows are faster than code that is rolled up in part, and lanes have none
    order, spans = roll(order, draft.operations, how.large, partly=not (how.one and rows.made))
    if not spans:
        draft.waiting |= rows.waiting if how.one else {}
        units = rows.units(order) if how.one else _singles(order)
        return [*_cut(draft, late(units, draft.operations), how.segment)]
    pieces: list[list[Row] | Laps] = []
    done = 0
    for span in spans:
        pieces += _cut(draft, _singles(order[done : span.start]), how.segment)
        laps = [tuple(order[k : k + span.period]) for k in range(span.start, span.end, span.period)]
        pieces.append(Laps(tuple(laps), tuple(len(piece) for piece in _cut(draft, _singles(laps[0]), how.segment))))
        done = span.end
    return pieces + _cut(draft, _singles(order[done:]), how.segment)


def _singles(values: Iterable[int]) -> list[Row]:
    return [(v,) for v in values]


def _add_moves(draft: _Draft) -> None:
    """Copies of many slots that follow each other to others that do, as loops."""
    runs: list[list[tuple[Operand, int]]] = []
    step = None
    for x, slot in draft.pending:
        following = isinstance(x, int) and bool(runs) and (draft.home[x] - slot, slot - 1) == step
        if not following:
            runs.append([])
        runs[-1].append((x, slot))
        step = (draft.home[x] - slot, slot) if isinstance(x, int) else None
    draft.pending = [copy for run in runs if len(run) < MOVE for copy in run]
    for run in runs:
        x, slot = run[0]
        if len(run) >= MOVE and isinstance(x, int):
            draft.stages.append(Move(draft.home[x], slot, len(run)))


def _cut(draft: _Draft, units: Iterable[Row], segment: int) -> list[list[Row]]:
    """Pieces of values, rows together, with at most `segment` operations, loads and stores each.

    Loads and stores count, because LLVM's schedulers compare each with each.
    """
    pieces: list[list[Row]] = []
    here: set[int] = set()
    cost = segment
    before: Row = ()
    for unit in units:
        if cost >= segment and not (len(unit) > 1 and _goes_on(draft, before, unit)):
            pieces.append([])
            here, cost = set(), 0
        for v in unit:
            loads = [x for x in draft.operations[v][1] if isinstance(x, int) and x not in here]
            cost += 1 + len(loads) + len(draft.stores.get(v, ()))
            here.update(loads)
            here.add(v)
        pieces[-1].append(unit)
        before = unit
    return pieces


def _goes_on(draft: _Draft, before: Row, unit: Row) -> bool:
    """Whether a row adds to the sum of the row before, which nobody else is told to keep."""
    return before[0] in draft.operations[unit[0]][1] and before[0] not in draft.stores


def _order(draft: _Draft, needed: Iterable[Operand]) -> list[int]:
    """What is still to be computed for `needed`, in the order of the trace.

    Depth first from the outputs was tried: half as many values again wait in slots.
    """
    done, home, operations, order = draft.made, draft.home, draft.operations, []
    stack = [x for x in needed if isinstance(x, int)]
    while stack:
        x = stack.pop()
        if x not in done and x not in home:
            done.add(x)
            order.append(x)
            stack.extend([a for a in operations[x][1] if isinstance(a, int)])
    return sorted(order)
