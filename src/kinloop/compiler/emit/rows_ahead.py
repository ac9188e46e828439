"""Rows fetched ahead: while laps of a series run, the next batch rows come near, and those that get the outputs.

Rows of a large robot come from far away in memory, and W of them begin at a time, where no processor knows yet how they
go on. A lap fetches a few lines of them, so that all are there when they are read or written. The last line of the
scratch array says which: for each array where its rows begin, and how many bytes a lap goes on.
"""

from __future__ import annotations

from typing import NamedTuple

from kinloop.compiler.abi import CACHE_LINE
from kinloop.compiler.emit.array_table import ENTRY, entry, read_entry, write_entry
from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.kernel_layout import Array, Layout, scratch_bytes
from kinloop.compiler.emit.lane_transfer import smaller
from kinloop.compiler.plan.stage_types import Plan, Series

FEWEST = 16
"""Numbers of a row to be worth fetching."""
MOST = 4
"""Lines of an array that a lap fetches; rows that need more are too long for so few laps."""
ARRAYS = CACHE_LINE // ENTRY
_FETCH = "llvm.prefetch.p0"


class Ahead(NamedTuple):
    """The arrays whose rows are fetched, each with the lines that a lap fetches; the number of `laps`.

    Their entries lie `at` bytes behind the beginning of the scratch array; `before` laps are done already.
    """

    arrays: tuple[tuple[Array, int], ...]
    laps: int
    at: int
    before: int = 0

    def behind(self, series: Series) -> Ahead:
        """The same when the laps of `series` are done too."""
        return self._replace(before=self.before + len(series.marks))


def declare_fetch(module: Module) -> None:
    """Declare what brings a line to the nearest memory, to read or to write it; it need not exist."""
    module.declare("void", _FETCH, "ptr", "i32", "i32", "i32")


def rows_ahead(plan: Plan, layout: Layout) -> Ahead | None:
    """What the laps of a plan fetch, of the arrays with the longest rows; None if it has none, or is for one state."""
    laps = sum(len(stage.marks) for stage in plan.stages if isinstance(stage, Series))
    if layout.lanes == 1 or laps == 0:
        return None
    lines = ((array, -(-array.size * layout.vector.size // (laps * CACHE_LINE))) for array in layout.arrays)
    worth = [(array, n) for array, n in lines if array.size >= FEWEST and n <= MOST]
    longest = sorted(worth, key=lambda x: -x[0].size)[:ARRAYS]
    return Ahead(tuple(longest), laps, scratch_bytes(plan, layout.vector) - CACHE_LINE)


def write_rows_ahead(w: Writer, layout: Layout, ahead: Ahead) -> None:
    """When the inputs from %row on were read, and none lies beyond %last: where laps find what they fetch."""
    following = smaller(w, w.integer("add", "%row", layout.lanes), "%last")
    table = w.offset("%scratch", ahead.at)
    for place, (array, _) in enumerate(ahead.arrays):
        base, stride = entry(w, array)
        row = following if array in layout.given else "%row"
        rows = smaller(w, w.integer("add", w.integer("sub", "%last", row), 1), layout.lanes)
        step = w.integer("udiv", w.integer("add", w.integer("mul", rows, stride), ahead.laps - 1), ahead.laps)
        write_entry(w, table, place, w.offset(base, w.integer("mul", row, stride)), step)


def write_fetch(w: Writer, layout: Layout, ahead: Ahead, lap: str) -> None:
    """In a lap, by its number in its series: the lines that it fetches."""
    number, table = w.integer("add", lap, ahead.before), w.offset("%scratch", ahead.at)
    for place, (array, lines) in enumerate(ahead.arrays):
        base, step = read_entry(w, table, place)
        start = w.offset(base, w.integer("mul", number, step))
        for k in range(lines):
            line = w.offset(start, CACHE_LINE * k)
            w.call("void", _FETCH, f"ptr {line}", f"i32 {int(array in layout.wanted)}", "i32 3", "i32 1")
