"""A series as LLVM functions: each pattern once, and a loop over the rows of its tables."""

from __future__ import annotations

from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.emit.rows_ahead import Ahead, write_fetch
from kinloop.compiler.emit.segment import write_pattern
from kinloop.compiler.emit.stage_parameters import STAGE
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.plan.stage_types import Move, Series

AT_ONCE = 8
"""Slots that are read before they are written, so that none waits for the one before."""


def write_series(
    module: Module, name: str, series: Series, layout: Layout, known: dict[str, str], ahead: Ahead | None
) -> None:
    """@name(scratch, out): every lap with its rows. Patterns that were written before are `known` by name."""
    vector = layout.vector
    laps, n_marks = series.marks.shape
    n_constants = series.constants.shape[1]
    module.table(f"{name}_marks", "i32", map(str, (series.marks * vector.size).flat))
    module.table(f"{name}_constants", vector.real, map(vector.one_lane().const, series.constants.flat))
    for k, pattern in enumerate(series.patterns):
        if repr(pattern) not in known:
            known[repr(pattern)] = f"{name}_lap{k}"
            write_pattern(module, f"{name}_lap{k}", pattern, vector)
    with module.function("void", name, *STAGE) as w:
        with w.count(0, laps) as lap:
            row = w.offset(f"@{name}_marks", w.integer("mul", lap.index, n_marks), "i32")
            numbers = w.offset(f"@{name}_constants", w.integer("mul", lap.index, n_constants), vector.real)
            if ahead is not None:
                write_fetch(w, layout, ahead, lap.index)
            for pattern in series.patterns:
                w.call("void", known[repr(pattern)], "ptr %scratch", "ptr %out", f"ptr {row}", f"ptr {numbers}")
        w.ret()


def write_move(module: Module, name: str, move: Move, vector: Vector) -> None:
    """@name(scratch, out): slots copied one after the other."""
    with module.function("void", name, *STAGE) as w:
        source, target = (w.offset("%scratch", slot * vector.size) for slot in (move.source, move.target))
        copy_slots(w, vector, source, target, move.count)
        w.ret()


def copy_slots(w: Writer, vector: Vector, source: str, target: str, count: int) -> None:
    """Slots that follow each other to others that do, `AT_ONCE` at a time."""
    T, align, whole = vector.type, vector.align, count - count % AT_ONCE
    for first, stop, step in ((0, whole, AT_ONCE), (whole, count, 1)):
        if first < stop:
            with w.count(first, stop, step) as k:
                here, there = w.offset(source, k.index, T), w.offset(target, k.index, T)
                values = [w.load(T, w.offset(here, i, T), align) for i in range(step)]
                for i, x in enumerate(values):
                    w.store(T, x, w.offset(there, i, T), align)
