"""Operations that do the same with neighbouring numbers: rows of a matrix times a number, added to other rows.

Where an algorithm computes rows of matrices, entry by entry, its trace has runs of operations that are alike: the same
operation, some operands the same for all, the others behind each other in rows that were made or wanted before. Code
for one state does as many of them at once as a vector register takes (docs/decisions/rows.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kinloop.compiler.plan.orders import Row, after_operands
from kinloop.compiler.plan.stage_types import Operand, Operation

LEAST = (6, 3)  # operations in a row; long rows first, so that short ones do not tear apart what waits for them
WORTH = 0.25  # the part of all operations that has to be in rows
_ALIKE = frozenset({"add", "sub", "mul", "fma", "fms", "fnma", "neg"})
Steps = list[bool] | None
_COMMUTES = frozenset({"add", "mul", "fma", "fms", "fnma"})


@dataclass
class Rows:
    """Rows of values: those made together by their first value, and for values the row in which they wait."""

    made: dict[int, Row] = field(default_factory=dict)
    waiting: dict[int, Row] = field(default_factory=dict)

    def units(self, order: Sequence[int]) -> list[Row]:
        """`order`, the values of a row together."""
        out: list[Row] = []
        inside: set[int] = set()
        for v in order:
            if v not in inside:
                out.append(self.made.get(v, (v,)))
                inside.update(out[-1])
        return out

    def one_by_one(self, order: Sequence[int], operations: Mapping[int, Operation]) -> list[int]:
        """`order`, but column by column: what is computed of the first values of rows, then of the second, and so on.

        So it is for W states, of which each has a lane: fewer values wait than row by row.
        """
        if not self.made:
            return list(order)
        column: dict[int, int] = {}
        for row in self.made.values():
            shared = set(operations[row[0]][1]) & set(operations[row[1]][1])
            for v in row:
                own = [column.get(x, v) for x in operations[v][1] if isinstance(x, int) and x not in shared]
                column[v] = min(own, default=v)
        return after_operands(sorted(order, key=lambda v: (column.get(v, v), v)), operations)


def find_rows(
    order: Sequence[int],
    operations: dict[int, Operation],
    stores: Mapping[int, Sequence[int]],
    settled: Collection[int],
) -> Rows:
    """The rows of `order`, none where they are too few; factors and terms of `operations` change places to be alike.

    `stores` are the slots of outputs; values that are `settled` elsewhere do not wait in rows.
    """
    search = _Search(operations, stores, settled)
    for least in LEAST:
        search.least = least
        for stretch in _stretches(order, operations, least):
            search.look(stretch)
    rows = search.rows
    return rows if sum(map(len, rows.made.values())) >= WORTH * len(order) else Rows()


def _stretches(order: Sequence[int], operations: Mapping[int, Operation], least: int) -> Iterator[list[int]]:
    """The parts of `order`, `least` long or longer, in which each does what the one before does, and without it."""
    stretch: list[int] = []
    last, before = "", -1
    for v in order:
        op, args = operations[v]
        if op != last or op not in _ALIKE or before in args:
            if len(stretch) >= least:
                yield stretch
            stretch = []
        stretch.append(v)
        last, before = op, v
    if len(stretch) >= least:
        yield stretch


class _Search:
    def __init__(
        self, operations: dict[int, Operation], stores: Mapping[int, Sequence[int]], settled: Collection[int]
    ) -> None:
        self.operations, self.stores, self.settled = operations, stores, settled
        self.rows, self.least = Rows(), 0
        self._next: dict[int, int] = {}  # the value behind each in the row that made it
        self._made: set[int] = set()

    def look(self, stretch: Sequence[int]) -> None:
        """Keep the runs of a stretch: where each does to the next numbers what those before do to theirs."""
        operations, made = self.operations, self._made
        run: list[int] = []
        inside: set[Operand] = set()
        steps: Steps = None
        for v in stretch:
            found = self._alike(run[-1], v) if run and v not in made else None
            if found is None or (found != steps and steps is not None) or not inside.isdisjoint(operations[v][1]):
                if len(run) >= self.least:
                    self._keep(run)
                run, inside, steps = ([], set(), None) if v in made else ([v], {v}, None)
            else:
                steps = found
                run.append(v)
                inside.add(v)
        if len(run) >= self.least:
            self._keep(run)

    def _alike(self, before: int, v: int) -> Steps:
        """How the operands of `v` come behind those of the value before, the first two exchanged where that helps."""
        operations = self.operations
        op, args = operations[v]
        others = operations[before][1]
        steps = self._steps(others, args)
        if steps is None and op in _COMMUTES:
            args = (args[1], args[0], *args[2:])
            steps = self._steps(others, args)
            if steps is not None:
                operations[v] = op, args
        return steps

    def _steps(self, before: Sequence[Operand], args: Sequence[Operand]) -> Steps:
        """Whether each operand comes behind the one before, rather than being the same; None if not all do either."""
        steps, following = [], self._next
        for a, b in zip(before, args):
            if a is b:
                steps.append(False)
            elif type(a) is not type(b):
                return None
            elif a == b:
                steps.append(False)
            elif type(a) is int and type(b) is int and (following.get(a) == b or self._behind(a, b)):
                steps.append(True)
            else:
                return None
        return steps if True in steps else None

    def _behind(self, a: int, b: int) -> bool:
        """Whether b comes behind a among the outputs, or may come to wait behind it."""
        there = self.stores.get(a)
        if there is not None and b in self.stores and any(slot + 1 in self.stores[b] for slot in there):
            return True
        return self._single(a) and self._single(b)

    def _single(self, x: int) -> bool:
        return x in self.operations and x not in self._made and x not in self.settled

    def _keep(self, run: Sequence[int]) -> None:
        """Keep a run; what it is made of waits in rows."""
        row = tuple(run)
        self.rows.made[row[0]] = row
        for v in row:
            self.rows.waiting.setdefault(v, row)
        self._made.update(row)
        self._next.update(pairwise(row))
        for operands in zip(*[self.operations[v][1] for v in row], strict=True):
            given = [x for x in operands if isinstance(x, int) and self._single(x) and x not in self.rows.waiting]
            if len(given) == len(row) == len(set(given)):
                self.rows.waiting.update(dict.fromkeys(given, tuple(given)))
