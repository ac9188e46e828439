"""The stages of a plan as LLVM functions, and the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence

from kinloop.compiler.emit.indexed_reads import declare_gather, write_choose, write_choosing
from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.emit.lane_arithmetic import any_nonzero
from kinloop.compiler.emit.lane_calls import LANE_CALLS, write_lane_call
from kinloop.compiler.emit.row_segment import write_row_segment
from kinloop.compiler.emit.rows_ahead import Ahead
from kinloop.compiler.emit.segment import table_name, write_segment
from kinloop.compiler.emit.series_loop import copy_slots, write_move, write_series
from kinloop.compiler.emit.shared_outputs import share_outputs
from kinloop.compiler.emit.stage_parameters import WHOLE, out_pointer, stage_parameters
from kinloop.compiler.emit.table_rows import Beside, rows_beside
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.plan.stage_types import Angles, Choose, Move, Plan, Repeat, Segment, Series


def write_stages(module: Module, plan: Plan, layout: Layout, ahead: Ahead | None) -> None:
    """@run(scratch, out, ...), all stages of a plan one after the other, and what it calls.

    The plan's outputs are written to out, ..., which may be their slots of the scratch array or arrays of a user.
    In the slots of W states, numbers that several outputs have in common are written once: see `shared_outputs`.
    """
    names: dict[int, list[str]] = {}
    if layout.lanes > 1:
        plan = share_outputs(module, plan, layout)
    _write_plan(module, plan, layout, names, {}, layout.parts, ahead=ahead)
    used = {op for p in _all_plans(plan) for op, _ in p.operations.values()}
    for name in LANE_CALLS:
        if name in used:
            write_lane_call(module, layout.vector, name)
    if "take" in used:
        declare_gather(module, layout.vector)
    if "nearest" in used:
        write_choosing(module, layout.vector)
    places = ["ptr %scratch", *(f"ptr {out_pointer(k)}" for k in range(len(layout.parts)))]
    with module.function("void", "run", *places) as w:
        for name in names[id(plan)]:
            w.call("void", name, *places)
        w.ret()


def run_stages(w: Writer, layout: Layout, scratch: str = "%scratch", out: Sequence[str] = ()) -> None:
    """Call @run, with the outputs to `out`, or to their slots."""
    first = sum(layout.inputs)
    out = out or [w.offset(scratch, first + part, layout.vector.type) for part in layout.parts]
    w.call("void", "run", f"ptr {scratch}", *(f"ptr {place}" for place in out))


def write_standing(w: Writer, layout: Layout) -> None:
    """Before the first of many runs on one scratch array: what no run writes and none changes."""
    if layout.lanes > 1:
        w.call("void", "constants", "ptr %scratch")


def _all_plans(plan: Plan) -> list[Plan]:
    return [plan, *[p for s in plan.stages if isinstance(s, Repeat) for p in _all_plans(s.body)]]


def _write_plan(
    module: Module,
    plan: Plan,
    layout: Layout,
    names: dict[int, list[str]],
    patterns: dict[str, str],
    parts: Sequence[int],
    beside: Sequence[Beside] = (),
    ahead: Ahead | None = None,
) -> None:
    """Write the functions of a plan's stages, after those of its loops; their names into `names` and `patterns`.

    Their segments get pointers to what lies `beside`, and their laps fetch rows `ahead`.
    """
    if id(plan) in names:  # the same body in two loops is written once
        return
    for stage in plan.stages:
        if isinstance(stage, Repeat):
            _write_plan(module, stage.body, layout, names, patterns, WHOLE, rows_beside(stage))
    number = len(names)
    names[id(plan)] = [f"p{number}_{k}" for k in range(len(plan.stages))]
    for k, table in plan.tables.items():
        if table.constants:
            name = table_name(f"p{number}", k)[1:]
            module.numbers(name, layout.vector.real, table.constants, layout.vector.each)
    for name, stage in zip(names[id(plan)], plan.stages, strict=True):
        if isinstance(stage, Segment) and stage.rows:
            write_row_segment(module, name, plan, stage, layout.block, parts)
        elif isinstance(stage, Segment):
            write_segment(module, name, plan, stage, layout.vector, parts, beside)
        elif isinstance(stage, Angles):
            _write_angles_stage(module, name, stage, layout, parts)
        elif isinstance(stage, Series):
            write_series(module, name, stage, layout, patterns, ahead)
            ahead = ahead and ahead.behind(stage)
        elif isinstance(stage, Choose):
            write_choose(module, name, stage, layout.vector, parts)
        elif isinstance(stage, Move):
            write_move(module, name, stage, layout.vector)
        else:
            _write_repeat(module, name, stage, layout.vector, names[id(stage.body)], parts)


def _write_angles_stage(module: Module, name: str, stage: Angles, layout: Layout, parts: Sequence[int]) -> None:
    """For one state, a block of its angles at a time; for W states, one angle of each."""
    blocks = stage.count if layout.lanes > 1 else -(-stage.count // layout.block_width)
    with module.function("void", name, *stage_parameters(parts)) as w:
        places = [w.offset("%scratch", slot * layout.vector.size) for slot in (stage.at, stage.sin, stage.cos)]
        w.call("void", layout.function("angles"), *[f"ptr {place}" for place in places], f"i64 {blocks}")
        w.ret()


def _write_repeat(
    module: Module, name: str, stage: Repeat, vector: Vector, body: list[str], parts: Sequence[int]
) -> None:
    """A loop: the rows of its tables, the body's stages, what they leave, and their outputs back to its first inputs.

    Rows that the body cannot use where they lie are copied.
    """
    T, rows = vector.type, [*stage.tables, (stage.leaves, stage.left)]
    names = [*(f"%row{k}" for k in range(len(stage.tables))), "%left"]
    beside = {b.pointer for b in rows_beside(stage)}
    with module.function("void", name, *stage_parameters(parts)) as w:
        base, leaves = (w.offset("%scratch", slot * vector.size) for slot in (stage.base, stage.leaves))
        out = w.offset(base, stage.body.n_in, T)
        with w.count(0, stage.rounds, carry=[("i64", 0)]) as loop:
            if stage.gate is not None:
                loop.leave_unless(any_nonzero(w, vector, base, stage.gate))
            at = {
                pointer: w.offset(w.offset("%scratch", first * vector.size), w.integer("mul", loop.index, width), T)
                for pointer, (first, width) in zip(names, rows, strict=True)
                if width
            }
            place = stage.body.n_in - sum(width for _, width in stage.tables)
            for pointer, (_, width) in zip(names, stage.tables, strict=False):
                if pointer not in beside:
                    copy_slots(w, vector, at[pointer], w.offset(base, place, T), width)
                place += width
            own = [f"ptr {base}", f"ptr {out}"]
            for stage_name, each in zip(body, stage.body.stages, strict=True):
                given = [f"ptr {at[b]}" for b in names if b in beside] if isinstance(each, Segment) else []
                w.call("void", stage_name, *own, *given)
            if stage.left and "%left" not in beside:
                copy_slots(w, vector, w.offset(out, stage.carried, T), at["%left"], stage.left)
            for first, count in stage.copied:
                copy_slots(w, vector, w.offset(out, first, T), w.offset(base, first, T), count)
            loop.following = [w.integer("add", loop.index, 1)]
        if stage.gate is not None and stage.cleared:
            with w.count(loop.results[0], stage.rounds) as k:
                row = w.offset(leaves, w.integer("mul", k.index, stage.left), T)
                for column in stage.cleared:
                    w.store(T, vector.const(0.0), w.offset(row, column, T), vector.align)
        w.ret()
