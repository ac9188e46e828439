"""Operations that do the same with neighbouring numbers: rows of a matrix times a number, added to other rows.

Where an algorithm computes rows of matrices, entry by entry, its trace has runs of operations that are alike: the same
operation, some operands the same for all, the others behind each other in rows that were made or wanted before. Code
for one state does as many of them at once as a vector register takes (docs/decisions/rows.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kinloop.compiler.plan.orders import Row, after_operands
from kinloop.compiler.plan.stage_types import Operand, Operation

LEAST = (6, 3)  # operations in a row; long rows first, so that short ones do not tear apart what waits for them
WORTH = 0.25  # the part of all operations that has to be in rows
_ALIKE = frozenset({"add", "sub", "mul", "fma", "fms", "fnma", "neg"})
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
        run: list[int] = []
        for v in order:
            if not search.goes_on(run, v):
                search.close(run)
                run = []
            run.append(v)
        search.close(run)
    rows = search.rows
    return rows if sum(map(len, rows.made.values())) >= WORTH * len(order) else Rows()


class _Search:
    def __init__(
        self, operations: dict[int, Operation], stores: Mapping[int, Sequence[int]], settled: Collection[int]
    ) -> None:
        self.operations, self.stores, self.settled = operations, stores, settled
        self.rows, self.least = Rows(), 0
        self._next: dict[int, int] = {}  # the value behind each in the row that made it
        self._made: set[int] = set()

    def goes_on(self, run: Sequence[int], v: int) -> bool:
        """Whether `v` does to the next numbers what `run` does to those before them."""
        if not run or not self._alike(run[-1], v) or not set(run).isdisjoint(self.operations[v][1]):
            return False
        return len(run) == 1 or self._steps(run[-2], run[-1]) == self._steps(run[-1], v)

    def _alike(self, before: int, v: int) -> bool:
        """Whether `v` comes behind the value before, its first two operands exchanged where that helps."""
        op, args = self.operations[v]
        if op != self.operations[before][0] or op not in _ALIKE or before in self._made or v in self._made:
            return False
        if _possible(self._steps(before, v)):
            return True
        if op in _COMMUTES:
            self.operations[v] = op, (args[1], args[0], *args[2:])
            if _possible(self._steps(before, v)):
                return True
            self.operations[v] = op, args
        return False

    def _steps(self, before: int, v: int) -> list[bool | None]:
        return [self._step(a, b) for a, b in zip(self.operations[before][1], self.operations[v][1], strict=True)]

    def _step(self, a: Operand, b: Operand) -> bool | None:
        """Whether b comes behind a, rather than being the same; None if neither."""
        if a == b and type(a) is type(b):
            return False
        if isinstance(a, float) or isinstance(b, float):
            return None
        if self._next.get(a) == b or any(slot + 1 in self.stores.get(b, ()) for slot in self.stores.get(a, ())):
            return True
        return True if self._single(a) and self._single(b) else None

    def _single(self, x: int) -> bool:
        return x in self.operations and x not in self._made and x not in self.settled

    def close(self, run: Sequence[int]) -> None:
        """Keep a run that is long enough; what it is made of waits in rows."""
        if len(run) < self.least or run[0] in self._made:
            return
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


def _possible(steps: Sequence[bool | None]) -> bool:
    return None not in steps and True in steps
