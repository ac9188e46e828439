"""Many steps in one native call, as LLVM IR: outputs that are states become inputs of the next step.

@iterate(start, stop, table, scratch, steps, every, more) takes W rows at a time through all steps before it
turns to the next rows, so that their state never leaves the scratch array. `table` is as in @batch. `more`
holds for every array how many bytes one step (for outputs: one record) lies behind the last, 0 for none,
then for every output the input slot it is fed back to, -1 for none.
"""

from __future__ import annotations

from kinloop.compiler.emit.array_table import entry, read_rows, write_rows
from kinloop.compiler.emit.ir import Module, Value, Writer
from kinloop.compiler.emit.kernel_layout import Array, Layout
from kinloop.compiler.emit.lane_transfer import place_at
from kinloop.compiler.emit.stages import run_stages, write_standing

AT_ONCE = 8
"""Slots that are fed back at a time."""


def write_iterate(module: Module, layout: Layout) -> None:
    """@iterate and what only it calls; @load_group, @run and what kernels have in common are there already."""
    for array in layout.given:
        _write_move_in(module, layout, array)
    for array in layout.wanted:
        _write_move_out(module, layout, array)
    _write_feed(module, layout)
    _write_iterate(module, layout)


def _write_move_in(module: Module, layout: Layout, array: Array) -> None:
    """@inK(row, last row, table, scratch, offset): W rows of input K into its slots."""
    rows = ("i64 %row", "i64 %last")
    with module.function("void", f"in{array.place}", *rows, "ptr %table", "ptr %scratch", "i64 %offset") as w:
        base, stride = entry(w, array)
        read_rows(w, layout, array, w.offset(base, "%offset"), stride, "zeroinitializer")
        w.ret()


def _write_move_out(module: Module, layout: Layout, array: Array) -> None:
    """@outK(row, rows, table, scratch, offset): output K from its slots to rows."""
    rows = ("i64 %row", "i64 %rows")
    with module.function("void", f"out{array.place}", *rows, "ptr %table", "ptr %scratch", "i64 %offset") as w:
        base, stride = entry(w, array)
        write_rows(w, layout, array, w.offset(base, "%offset"), stride)
        w.ret()


def _write_feed(module: Module, layout: Layout) -> None:
    """@feed(scratch, from output, to slot, count): copy numbers of outputs to slots."""
    vector = layout.vector
    with module.function("void", "feed", "ptr %scratch", "i64 %source", "i64 %target", "i64 %n") as w:
        target = w.offset("%scratch", "%target", vector.type)
        if layout.lanes == 1:  # slots are numbers, and many of them move at a time
            source = w.offset(w.offset("%scratch", sum(layout.inputs), vector.type), "%source", vector.type)
            w.call("void", layout.function("give"), f"ptr {target}", "i64 %n", f"ptr {source}")
            w.ret()
            return
        places = w.offset("@output_places", "%source", "i32")
        whole = w.integer("and", "%n", -AT_ONCE)
        _copy(w, layout, places, target, (0, whole), AT_ONCE)
        _copy(w, layout, places, target, (whole, "%n"), 1)
        w.ret()


def _copy(w: Writer, layout: Layout, places: str, target: str, span: tuple[Value, Value], at_once: int) -> None:
    """Outputs from their places to the slots behind `target`, some at a time."""
    T, align = layout.vector.type, layout.vector.align
    with w.count(*span, at_once) as first:
        entries, to = w.offset(places, first.index, "i32"), w.offset(target, first.index, T)
        found = [place_at(w, w.offset(entries, k, "i32")) for k in range(at_once)]
        values = [w.load(T, w.offset("%scratch", place), align) for place in found]
        for k, x in enumerate(values):
            w.store(T, x, w.offset(to, k, T), align)


def _write_iterate(module: Module, layout: Layout) -> None:
    rows = ("i64 %start", "i64 %stop", "ptr %table", "ptr %scratch")
    with module.function("void", "iterate", *rows, "i64 %steps", "i64 %every", "ptr %more", public=True) as w:
        count = len(layout.arrays) + len(layout.outputs)
        more = [w.load("i64", w.offset("%more", k, "i64"), 8) for k in range(count)]
        steps, slots = more[: len(layout.arrays)], more[len(layout.arrays) :]
        write_standing(w, layout)
        last = f"i64 {w.integer('sub', '%stop', 1)}"
        with w.count("%start", "%stop", layout.lanes, at_least_once=True) as group:
            row, left = f"i64 {group.index}", f"i64 {w.integer('sub', '%stop', group.index)}"
            w.call("i64", "load_group", row, last, "ptr %table", "ptr %scratch")
            # steps until the next record, records so far
            carry: list[tuple[str, Value]] = [("i64", "%every"), ("i64", 0)]
            with w.count(0, "%steps", carry=carry, at_least_once=True) as step:
                _read_stepped(w, layout, steps, step.index, row, last)
                run_stages(w, layout)
                step.following = _record(w, layout, steps, step.carried, row, left)
                for array, slot in zip(layout.wanted, slots, strict=True):
                    with w.when(w.compare("sge", slot, 0)):
                        spots = (f"i64 {layout.output(array)}", f"i64 {slot}", f"i64 {array.size}")
                        w.call("void", "feed", "ptr %scratch", *spots)
            for array, slot in zip(layout.wanted, slots, strict=True):
                with w.when(w.compare("sge", slot, 0)):
                    w.call("void", f"out{array.place}", row, left, "ptr %table", "ptr %scratch", "i64 0")
        w.ret()


def _read_stepped(w: Writer, layout: Layout, steps: list[str], step: str, row: str, last: str) -> None:
    """Inputs that change from step to step, from the second step on."""
    for array in layout.given:
        changes = w.compare("ne", steps[array.place], 0)
        later = w.compare("ne", step, 0)
        with w.when(w.integer("and", changes, later, "i1")):
            offset = w.integer("mul", step, steps[array.place])
            w.call("void", f"in{array.place}", row, last, "ptr %table", "ptr %scratch", f"i64 {offset}")


def _record(w: Writer, layout: Layout, steps: list[str], carried: list[str], row: str, left: str) -> list[Value]:
    """Outputs that are recorded, after every `every` steps; what the next step has to know of it."""
    wait, record = w.integer("sub", carried[0], 1), carried[1]
    with w.when(w.compare("eq", wait, 0)) as branch:
        for array in layout.wanted:
            with w.when(w.compare("ne", steps[array.place], 0)):
                offset = w.integer("mul", record, steps[array.place])
                w.call("void", f"out{array.place}", row, left, "ptr %table", "ptr %scratch", f"i64 {offset}")
        following = w.integer("add", record, 1)
    return [branch.merge("i64", "%every", wait), branch.merge("i64", following, record)]
