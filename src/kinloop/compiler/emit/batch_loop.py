"""The batch loop, as LLVM IR: W rows in, all stages, W rows out."""

from __future__ import annotations

from kinloop.compiler.emit.array_table import entry, read_rows, write_rows
from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.emit.lane_arithmetic import any_lane, lane_bits
from kinloop.compiler.emit.lane_transfer import alarmed
from kinloop.compiler.emit.rows_ahead import Ahead, write_rows_ahead
from kinloop.compiler.emit.stages import run_stages, write_standing


def write_batch(module: Module, layout: Layout, ahead: Ahead | None, public: bool = True) -> None:
    """@batch and what it calls; @run and what kernels have in common are there already."""
    _write_load_group(module, layout, ahead)
    _write_store_group(module, layout)
    _write_batch(module, layout, public)


def _write_load_group(module: Module, layout: Layout, ahead: Ahead | None) -> None:
    """@load_group(row, last row, table, scratch): inputs of W rows into their slots; which lanes are not finite."""
    register, state = layout.register, "zeroinitializer"
    with module.function("i64", "load_group", "i64 %row", "i64 %last", "ptr %table", "ptr %scratch") as w:
        for array in layout.given:
            state = read_rows(w, layout, array, *entry(w, array), state)
        if ahead is not None:
            write_rows_ahead(w, layout, ahead)
        mask = alarmed(w, register, state)
        if layout.lanes > 1:
            w.ret("i64", w.new(f"zext i{register.width} {lane_bits(w, register, mask)} to i64"))
        else:
            w.ret("i64", w.new(f"zext i1 {any_lane(w, register, mask)} to i64"))


def _write_store_group(module: Module, layout: Layout) -> None:
    """@store_group(row, rows, bad lanes, table, scratch): outputs to rows, nan where an input was not finite.

    Returns the first bad lane, or -1.
    """
    rows = ("i64 %row", "i64 %rows", "i64 %bad")
    with module.function("i64", "store_group", *rows, "ptr %table", "ptr %scratch") as w:
        places = []
        for array in layout.wanted:
            places.append(entry(w, array))
            if not layout.in_place:
                write_rows(w, layout, array, *places[-1])
        some_bad = w.compare("ne", "%bad", 0)
        with w.when(some_bad) as spoilt, w.count(0, layout.lanes, carry=[("i64", -1)]) as lane:
            own = w.new(f"trunc i64 {w.integer('lshr', '%bad', lane.index)} to i1")
            hit = w.integer("and", own, w.compare("slt", lane.index, "%rows"), "i1")
            with w.when(hit):
                row = w.integer("add", "%row", lane.index)
                for array, (base, stride) in zip(layout.wanted, places, strict=True):
                    given = (f"ptr {base}", f"i64 {stride}", f"i64 {array.size}", f"i64 {row}")
                    w.call("void", layout.function("fill"), *given)
            (first,) = lane.carried
            new = w.integer("and", hit, w.compare("slt", first, 0), "i1")
            lane.following = [w.select(new, "i64", lane.index, first)]
        w.ret("i64", spoilt.merge("i64", lane.results[0], -1))


def _own_places(w: Writer, layout: Layout, row: str) -> list[str]:
    """Where stages write the outputs of a row, if that is not their slots."""
    if not layout.in_place:
        return []
    places = [entry(w, array) for array in layout.wanted]
    return [w.offset(base, w.integer("mul", row, stride)) for base, stride in places]


def _write_batch(module: Module, layout: Layout, public: bool) -> None:
    """@batch(start, stop, table, scratch): all rows from start to stop; the first bad row, or -1."""
    parameters = ("i64 %start", "i64 %stop", "ptr %table", "ptr %scratch")
    with module.function("i64", "batch", *parameters, public=public) as w:
        write_standing(w, layout)
        last = w.integer("sub", "%stop", 1)
        with w.count("%start", "%stop", layout.lanes, [("i64", -1)], at_least_once=True) as group:
            row, (first,) = f"i64 {group.index}", group.carried
            bad = w.call("i64", "load_group", row, f"i64 {last}", "ptr %table", "ptr %scratch")
            run_stages(w, layout, out=_own_places(w, layout, group.index))
            left = w.integer("sub", "%stop", group.index)
            lane = w.call("i64", "store_group", row, f"i64 {left}", f"i64 {bad}", "ptr %table", "ptr %scratch")
            clean, known = w.compare("slt", lane, 0), w.compare("sge", first, 0)
            keep = w.integer("or", clean, known, "i1")
            group.following = [w.select(keep, "i64", first, w.integer("add", group.index, lane))]
        w.ret("i64", group.results[0])
