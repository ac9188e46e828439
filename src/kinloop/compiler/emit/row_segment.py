"""A segment with rows (`plan/find_rows.py`) for one state: as many values of a row at once as a vector register takes.

Every value is the result of the same operation on the same numbers as in code that goes one by one: the same bits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.lane_arithmetic import in_all_lanes
from kinloop.compiler.emit.segment import OperationWriter, SegmentWriter
from kinloop.compiler.emit.some_lanes import masked_load, masked_store
from kinloop.compiler.emit.stage_parameters import stage_parameters
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.plan.orders import Row
from kinloop.compiler.plan.stage_types import Operand, Plan, Segment


def write_row_segment(
    module: Module, name: str, plan: Plan, segment: Segment, block: Vector, parts: Sequence[int]
) -> None:
    """@name(scratch, out, ...) for one state; `block` is what a vector register takes."""
    with module.stage(name, *stage_parameters(parts)) as w:
        _RowWriter(w, plan, block, parts, name.partition("_")[0]).write_rows(segment)
        w.ret()


def row_vectors(block: Vector) -> list[Vector]:
    """The vectors that pieces of rows are made in."""
    return [Vector(block.width >> k, block.real) for k in range(block.width.bit_length() - 1)]


def pieces(count: int, width: int) -> Iterator[slice]:
    """`count` values in pieces of `width`, and the rest."""
    for start in range(0, count, width):
        yield slice(start, min(start + width, count))


def lanes_for(count: int) -> int:
    """How many lanes a piece of so many values takes: a power of two, of which the last may be idle."""
    return 1 << (count - 1).bit_length()


class _RowWriter(SegmentWriter):
    """Writes single operations as before, and rows piece by piece."""

    def __init__(self, writer: Writer, code: Plan, block: Vector, parts: Sequence[int], prefix: str) -> None:
        super().__init__(writer, code, block.one_lane(), parts, prefix)
        self._width = block.width
        self._wide = {v.width: OperationWriter(writer, code, v) for v in row_vectors(block)}
        self._pieces: dict[Row, str] = {}  # what was made or loaded, by its values
        self._part_of: dict[int, tuple[Row, int]] = {}  # values made as part of a piece
        self._spread: dict[tuple[int, int], str] = {}  # numbers in all lanes of a piece

    def write_rows(self, segment: Segment) -> None:
        """All operations in order, then the copies."""
        rows = {row[0]: row for row in segment.rows}
        skipped = {v for row in segment.rows for v in row[1:]}
        for v in segment.values:
            if v in rows:
                for piece in pieces(len(rows[v]), self._width):
                    self._write_piece(rows[v][piece])
            elif v not in skipped:
                self.write([v])
        for x, slot in segment.copies:
            self._store(x, slot)

    def _write_piece(self, piece: Row) -> None:
        if len(piece) == 1:
            self.write(piece)
            return
        arithmetic, operations = self._wide[lanes_for(len(piece))], self.code.operations
        vector, args = arithmetic.vector, list[Operand]()
        for k, column in enumerate(zip(*[operations[v][1] for v in piece], strict=True)):
            if type(column[0]) is int:
                arithmetic.numbers[k] = self._operand(vector, column)
                args.append(k)
            else:
                args.append(column[0])
        self._pieces[piece] = arithmetic.number_operation(operations[piece[0]][0], args)
        for k, v in enumerate(piece):
            self._part_of[v] = piece, k
        self._store_piece(vector, piece)

    def _operand(self, vector: Vector, column: Row) -> str:
        """The same number in all lanes, or numbers that lie side by side, or were made so."""
        if column[0] == column[1]:
            key = column[0], vector.width
            if key not in self._spread:
                self._spread[key] = in_all_lanes(self.writer, vector, self._number(column[0]))
            return self._spread[key]
        if column not in self._pieces:
            slot = self._run(column)
            made = self._gathered(vector, column) if slot is None else self._read(vector, slot, len(column))
            self._pieces[column] = made
        return self._pieces[column]

    def _read(self, vector: Vector, slot: int, count: int) -> str:
        """Numbers that lie side by side. Idle lanes read on, but not behind the end of a user's array."""
        if count < vector.width and 0 <= slot - self.code.n_in < self.code.n_out:
            return masked_load(self.writer, vector, self._address(slot), range(count))
        return self.writer.load(vector.type, self._address(slot), vector.real_size)

    def _gathered(self, vector: Vector, column: Row) -> str:
        out = "poison"
        for k, x in enumerate(column):
            out = self.writer.new(f"insertelement {vector.type} {out}, {vector.real} {self._number(x)}, i32 {k}")
        return out

    def _store_piece(self, vector: Vector, piece: Row) -> None:
        """Together where slots follow each other, else one by one."""
        for slot, here in self._runs(piece):
            if here.stop - here.start == 1:
                self._store(piece[here.start], slot)
            elif here.stop - here.start == vector.width:
                self.writer.store(vector.type, self._pieces[piece], self._address(slot), vector.real_size)
            else:
                first = self.writer.offset(self._address(slot), -here.start, vector.real)
                masked_store(self.writer, vector, self._pieces[piece], first, range(here.start, here.stop))

    def _runs(self, piece: Row) -> Iterator[tuple[int, slice]]:
        """Slots, and which values of a piece go there and to the slots behind it."""
        left = [list(self.code.stores.get(v, ())) for v in piece]
        for k, slots in enumerate(left):
            for slot in slots:
                end = k + 1
                while end < len(piece) and slot + end - k in left[end] and self._joined(slot, slot + end - k):
                    left[end].remove(slot + end - k)
                    end += 1
                yield slot, slice(k, end)

    def _kept(self, x: int) -> Sequence[int]:
        """The slots in which a value can be found later."""
        home, stores = self.code.home.get(x), self.code.stores.get(x, ())
        if home is not None and (not stores or stores == (home,)):
            return (home,)
        kept = [slot for slot in stores if self.code.n_in <= slot < self.code.n_in + self.code.n_out]
        return kept if home is None else [home, *kept]

    def _run(self, values: Row) -> int | None:
        """The first of slots that follow each other in one array and have these values."""
        for slot in self._kept(values[0]):
            others = enumerate(values[1:], slot + 1)
            if all(k in self._kept(x) for k, x in others) and self._joined(slot, slot + len(values) - 1):
                return slot
        return None

    def _joined(self, first: int, last: int) -> bool:
        """Whether two slots lie in one array: before or behind the outputs, or in the same part of them."""
        start, end = self.code.n_in, self.code.n_in + self.code.n_out
        if first < start or last >= end:
            return last < start or first >= end
        return bisect_right(self.parts, first - start) == bisect_right(self.parts, last - start)

    def _number(self, x: Operand) -> str:
        if type(x) is int and x not in self.numbers and x in self._part_of:
            piece, k = self._part_of[x]
            vector = self._wide[lanes_for(len(piece))].vector
            self.numbers[x] = self.writer.new(f"extractelement {vector.type} {self._pieces[piece]}, i32 {k}")
        return super()._number(x)
