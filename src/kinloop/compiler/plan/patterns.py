"""Laps that do the same become a series: their operations once, and tables of what differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinloop.compiler.plan.stage_types import Operand, Operation, Pattern, Place, Series

_NEGATED = {"fnma": 0, "fms": 2}  # operations that negate an operand: a constant is negated beforehand


@dataclass(frozen=True)
class Laps:
    """Values of laps that do the same, one row per lap, and the lengths of the pieces that each is written in."""

    rows: tuple[tuple[int, ...], ...]
    pieces: tuple[int, ...]

    def rooms(self) -> list[tuple[int, ...]]:
        """The values of every piece of every lap, in the order of their making."""
        ends = np.cumsum(self.pieces).tolist()
        return [row[end - n : end] for row in self.rows for n, end in zip(self.pieces, ends, strict=True)]

    def waiting(self, last: Mapping[int, int]) -> list[int]:
        """The places in a lap of values that, in any lap, are used outside their piece."""
        return [k for k, column in enumerate(zip(*self.rows, strict=True)) if any(v in last for v in column)]


class _Tables:
    """The rows of marks and constants of a series in the making."""

    def __init__(self, laps: int, outputs: range) -> None:
        self._laps, self._outputs = laps, outputs
        self._marks: dict[bytes, tuple[int, NDArray[np.int64]]] = {}
        self._columns: dict[bytes, int] = {}

    def place(self, slots: Sequence[int]) -> Place:
        """Where laps find what lies in these slots, one per lap; slots that move alike share a mark."""
        output = slots[0] in self._outputs
        column = np.array(slots, dtype=np.int64) - (self._outputs.start if output else 0)
        moved = column - column[0]
        if not moved.any():
            return Place(None, int(column[0]), output)
        number, first = self._marks.setdefault(moved.tobytes() + bytes([output]), (len(self._marks), column))
        return Place(number, int(column[0] - first[0]), output)

    def column(self, numbers: Sequence[float]) -> int:
        """The column of constants with these numbers."""
        return self._columns.setdefault(np.array(numbers).tobytes(), len(self._columns))

    def series(self, patterns: Sequence[Pattern]) -> Series:
        marks = np.array([column for _, column in self._marks.values()], dtype=np.int64).reshape(-1, self._laps)
        constants = np.array([np.frombuffer(column) for column in self._columns], dtype=float).reshape(-1, self._laps)
        return Series(tuple(patterns), marks.T, constants.T)


def make_series(
    laps: Laps,
    operations: Mapping[int, Operation],
    home: Mapping[int, int],
    stores: Mapping[int, Sequence[int]],
    outputs: range,
) -> Series:
    """The series of `laps`; the slots in `stores` are as many for a value as for its like in other laps."""
    tables = _Tables(len(laps.rows), outputs)
    patterns = []
    end = 0
    for length in laps.pieces:
        rows = [row[end : end + length] for row in laps.rows]
        end += length
        patterns.append(_pattern(rows, operations, home, stores, tables))
    return tables.series(patterns)


def _pattern(
    rows: Sequence[Sequence[int]],
    operations: Mapping[int, Operation],
    home: Mapping[int, int],
    stores: Mapping[int, Sequence[int]],
    tables: _Tables,
) -> Pattern:
    here = {v: k for k, v in enumerate(rows[0])}
    own: list[Operation] = []
    numbers: dict[Place | int, int] = {}  # of operands from outside

    def operand(column: Sequence[Operand], negated: bool) -> Operand:
        first = column[0]
        if isinstance(first, float):
            constants = [-x if negated else x for x in column]
            same = np.array(constants).tobytes() == np.array(constants[:1] * len(constants)).tobytes()
            return constants[0] if same else numbers.setdefault(tables.column(constants), -1 - len(numbers))
        if first in here:
            return here[first]
        return numbers.setdefault(tables.place([home[x] for x in column if isinstance(x, int)]), -1 - len(numbers))

    for column in zip(*rows, strict=True):
        op = operations[column[0]][0]
        args = list(zip(*[operations[v][1] for v in column], strict=True))
        k = _NEGATED.get(op)
        negated = k is not None and isinstance(args[k][0], float)
        own.append(("fma" if negated else op, tuple(operand(x, negated and i == k) for i, x in enumerate(args))))
    written = {
        here[column[0]]: tuple(tables.place(slots) for slots in zip(*[stores[v] for v in column], strict=True))
        for column in zip(*rows, strict=True)
        if column[0] in stores
    }
    places = {n: x for x, n in numbers.items() if isinstance(x, Place)}
    columns = {n: x for x, n in numbers.items() if isinstance(x, int)}
    return Pattern(dict(enumerate(own)), places, columns, written)
