"""A plan in the making: what is known of every value of a function, and the slots that were given away so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kinloop.compiler.plan.gates import find_gates
from kinloop.compiler.plan.lifetimes import last_uses, share_slots
from kinloop.compiler.plan.orders import Row
from kinloop.compiler.plan.patterns import Laps, make_series
from kinloop.compiler.plan.records import place_records
from kinloop.compiler.plan.stage_types import LoopNode, Operand, Operation, Plan, Segment, Stage, Table
from kinloop.scalar import Function, Symbol
from kinloop.scalar.elementary import CHOICES, USUAL
from kinloop.scalar.symbol import constant_value

Places = tuple[int, ...] | None
"""The slots of what a loop's body shares with its surroundings; None where it shares nothing."""


def _values(operands: Sequence[Operand]) -> list[int]:
    """Operands that are values: constants may be equal to their numbers."""
    return [x for x in operands if isinstance(x, int)]


def _operand(x: Any) -> Operand:
    if isinstance(x, Symbol):
        return constant_value(x) if x.op == "const" else x.index
    return float(x)


@dataclass
class Draft:
    """A plan in the making."""

    n_in: int
    outputs: list[Operand]
    operations: dict[int, Operation]
    loops: dict[int, LoopNode]
    picks: dict[int, int]
    home: dict[int, int]
    usual: frozenset[int]
    tables: dict[int, Table]
    size: int
    stores: dict[int, list[int]] = field(default_factory=dict)
    pending: list[tuple[Operand, int]] = field(default_factory=list)
    stages: list[Stage | Laps] = field(default_factory=list)
    made: set[int] = field(default_factory=set)
    gates: dict[int, int] = field(default_factory=dict)  # the value that says whether a value is needed
    gate_slots: dict[int, int] = field(default_factory=dict)
    picked: dict[Operand, set[int]] = field(default_factory=dict)  # what is used of a loop's or choice's results
    idle: dict[int, list[tuple[Operand, int]]] = field(default_factory=dict)  # copies that the value in a slot gates
    settled: dict[tuple[Operand, ...], int] = field(default_factory=dict)  # where values lie side by side
    waiting: dict[int, Row] = field(default_factory=dict)  # values that wait side by side
    is_body: bool = False  # whether it is that of a loop, whose outputs lie in slots

    @classmethod
    def read(cls, function: Function, shared: Places) -> Draft:
        """Symbols to numbered operations; the input "shared" lies in the slots `shared`, if not among the others."""
        start, n_in = {}, 0
        for name, size in function.inputs.items():
            apart = name == "shared" and shared is not None
            start[name] = n_in
            n_in += 0 if apart else size
        operations: dict[int, Operation] = {}
        loops, picks, home = {}, {}, {}
        tables: dict[int, Table] = {}
        usual: set[int] = set()
        constants: dict[int, float] = {}
        known = constants.get
        for s in function.nodes:
            k, op, payload = s.index, s.op, s.payload
            if op == "const":
                constants[k] = constant_value(s)
            elif op == "input":
                name, i = payload
                home[k] = shared[i] if name == "shared" and shared is not None else start[name] + i
            elif op == "table" and payload is not None:
                tables[k] = Table(len(payload.entries), constants=payload.entries)
                home[k] = 0  # nothing computes it, and nothing looks for it there
            elif len(s.args) == 2:
                x, y = s.args
                operations[k] = (op, (known(x.index, x.index), known(y.index, y.index)))
            else:
                operations[k] = (op, tuple([known(a.index, a.index) for a in s.args]))
            if payload is not None:
                if op in CHOICES and payload == USUAL:
                    usual.add(k)
                elif op == "loop":
                    loops[k] = payload
                elif op in ("pick", "nearest"):
                    picks[k] = payload if op == "pick" else payload.slots
        outputs = [_operand(x) for out in function.outputs.values() for x in out.flat]
        draft = cls(n_in, outputs, operations, loops, picks, home, frozenset(usual), tables, n_in + len(outputs))
        for k, pick in picks.items():
            if operations[k][0] == "pick":
                draft.picked.setdefault(operations[k][1][0], set()).add(pick)
        return draft

    def used_beyond(self, order: Sequence[int]) -> set[int]:
        """What others than the operations of `order` use, or will be told to look for."""
        own = set(order)
        others = [args for k, (_, args) in self.operations.items() if k not in own]
        return {*self.stores, *_values(self.outputs), *(x for args in others for x in _values(args))}

    def reserve(self, count: int = 1) -> int:
        """The first of `count` new slots."""
        self.size += count
        return self.size - count

    def feed(self, x: Operand, slot: int) -> None:
        """Have `x` in `slot` in time: stored when computed, or copied by the next segment."""
        if isinstance(x, int) and x not in self.home:
            self.stores.setdefault(x, []).append(slot)
        elif isinstance(x, float) or self.home[x] != slot:
            self.pending.append((x, slot))

    def leaves(self, k: int) -> int:
        """The first of the slots for what the rounds of loop k leave: those of outputs, if that is what they are."""
        loop, picks = self.loops[k], {}
        for v, number in self.picks.items():
            if number >= loop.carried and self.operations[v] == ("pick", (k,)):
                picks[number - loop.carried] = v
        count = loop.rounds * loop.left
        if self.is_body and picks.get(0) in self.outputs:
            first = self.outputs.index(picks[0])
            if self.outputs[first : first + count] == [picks.get(n) for n in range(count)]:
                return self.n_in + first
        return self.reserve(count)

    def is_own(self, place: int, leaves: int, k: int) -> bool:
        """Whether loop k leaves outputs that become the inputs from `place` on, which nothing needs after it.

        Rounds that are left out must leave nothing.
        """
        loop = self.loops[k]
        span = range(place, place + loop.rounds * loop.left)
        if not self.is_body or leaves != self.n_in + place or loop.cleared or span.stop > self.n_in:
            return False
        inputs = {x for x, slot in self.home.items() if slot in span and x not in self.operations}
        before = self._before(k)
        others = [x for n, (_, args) in self.operations.items() if n not in before for x in _values(args)]
        once = Counter(_values(self.operations[k][1]))
        return inputs.isdisjoint((*others, *_values(self.outputs))) and all(once[x] == 1 for x in inputs)

    def _before(self, k: int) -> set[int]:
        """Operation k and all that it waits for."""
        found, stack = {k}, [k]
        while stack:
            new = {x for x in _values(self.operations[stack.pop()][1]) if x in self.operations} - found
            found |= new
            stack += new
        return found

    def lie_at(self, values: Sequence[Operand]) -> int | None:
        """The first of the slots in which values lie side by side already; None if they do not."""
        at = [self.home.get(x) if isinstance(x, int) else None for x in values]
        return at[0] if at and at[0] is not None and at == list(range(at[0], at[0] + len(at))) else None

    def feed_loop(self, values: Sequence[Operand], base: int, k: int) -> None:
        """Have what loop k carries and is given in the slots from `base` on.

        What is known already, and nobody asks for after the loop, is copied only where some state wants a round.
        """
        loop, used = self.loops[k], self.picked.get(k, set())
        for i, x in enumerate(values):
            known = isinstance(x, float) or x in self.home
            if loop.gate is not None and known and i != loop.gate and (i >= loop.carried or i not in used):
                self.idle.setdefault(base + loop.gate, []).append((x, base + i))
            else:
                self.feed(x, base + i)

    def settle(self, values: Sequence[Operand]) -> int:
        """The first of the slots in which values lie side by side: where they do already, or will in time."""
        if (at := self.lie_at(values)) is not None:
            return at
        key = tuple(values)
        if key not in self.settled:
            self.settled[key] = self.reserve(len(values))
            for k, x in enumerate(values):
                self.feed(x, self.settled[key] + k)
        return self.settled[key]

    def table(self, values: Sequence[Operand]) -> Table:
        """Values that are read by an index: where they lie evenly already, or side by side in slots of their own."""
        at = [self.home.get(x) if isinstance(x, int) else None for x in values]
        if None not in at and len(at) > 1:
            steps = {b - a for a, b in pairwise(at) if a is not None and b is not None}
            if len(steps) == 1 and (step := steps.pop()) > 0:
                return Table(len(values), at[0] or 0, step)
        return Table(len(values), self.settle(values))

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
        settled = place_records(self.stages, last, self.operations, self.reserve)
        # A value can wait where it is stored for good, among outputs or in a table, where laps do not look for it.
        seen, lasting = self._seen_by_laps(), {*outputs}
        lasting.update(at + k for values, at in self.settled.items() for k in range(len(values)))
        there = {v: self.stores[v][0] for v in last if v in self.stores and seen.isdisjoint(self._row(v))}
        there = {v: slot for v, slot in there.items() if slot in lasting and self._in_row(v)}
        heirs = {} if self.waiting else self._heirs()
        for v, slot in share_slots(self.stages, last, settled | there, self.waiting, self.reserve, heirs).items():
            self.home[v] = slot
            if v not in there:
                self.stores.setdefault(v, []).insert(0, slot)
        stores = {v: tuple(slots) for v, slots in self.stores.items()}
        stages = [
            make_series(stage, self.operations, self.home, stores, outputs) if isinstance(stage, Laps) else stage
            for stage in self.stages
        ]
        sizes = self.n_in, len(self.outputs), self.size
        return Plan(*sizes, tuple(stages), self.operations, self.home, stores, self.usual, self.tables)

    def _heirs(self) -> dict[int, int]:
        """Choices that mostly are a value which nothing needs but themselves, and what they are else: these values."""
        users: dict[int, set[int]] = {}
        for k, (_, args) in self.operations.items() if self.usual else ():
            for x in _values(args):
                users.setdefault(x, set()).add(k)
        out = {}
        for v in self.usual:
            op, args = self.operations[v]
            usual, *other = _values(args[1:]) if op == "where" else (v,)
            alone = usual in self.operations and users.get(usual, {v, *other}) <= {v, *other}
            if other and alone and users[other[0]] == {v}:
                out[v] = usual
        return out

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
