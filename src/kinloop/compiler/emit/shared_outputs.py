"""Where the outputs of W states lie: numbers that several outputs have in common lie in the scratch array once.

Half of a humanoid's derivatives are zeros, and of a symmetric matrix every number is there twice. A slot of W states
is a line of memory, so that what need not be written to slots, and read from them, is time. A constant is written once
for a whole batch, in one slot for all outputs that it is.

@output_places has for every output the offset of its slot in the scratch array, in bytes. Where an output and the
W - 1 behind it in its array are one constant, all bits of the offset are flipped: nothing has to be transposed there.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.emit.lane_arithmetic import in_all_lanes
from kinloop.compiler.plan.stage_types import Plan, Segment, Stage


def share_outputs(module: Module, plan: Plan, layout: Layout) -> Plan:
    """@output_places, and @constants(scratch); the plan without stores to other slots than these."""
    outputs = range(plan.n_in, plan.n_in + plan.n_out)
    places = {slot: slot for slot in outputs}
    constants: dict[bytes, int] = {}
    stores, stages = dict(plan.stores), list[Stage]()
    for stage in plan.stages:
        if isinstance(stage, Segment):
            standing = [(x, slot) for x, slot in stage.copies if isinstance(x, float) and slot in outputs]
            for x, slot in standing:
                places[slot] = constants.setdefault(struct.pack("<d", x), slot)
            for v in stage.values:
                first, *others = [slot for slot in stores.get(v, ()) if slot in outputs] or [None]
                places |= dict.fromkeys(others, first)
                stores[v] = tuple(slot for slot in stores.get(v, ()) if slot not in others)
            stage = replace(stage, copies=tuple(copy for copy in stage.copies if copy not in standing))
        stages.append(stage)
    _write_places(module, places, set(constants.values()), layout)
    _write_constants(module, constants, layout)
    return replace(plan, stages=tuple(stages), stores=stores)


def output_place(w: Writer, output: str) -> str:
    """The offset in the scratch array of the slot of an output, given the address of its entry."""
    entry = w.load("i32", output, 4)
    entry = w.integer("xor", entry, w.integer("ashr", entry, 31, "i32"), "i32")
    return w.new(f"sext i32 {entry} to i64")


def _write_places(module: Module, places: dict[int, int], constants: set[int], layout: Layout) -> None:
    size, W = layout.vector.size, layout.lanes
    entries: list[int] = []
    for array in layout.wanted:
        slots = [places[array.slot + k] for k in range(array.size)]
        for k, slot in enumerate(slots):
            same = slot in constants and slots[k : k + W] == [slot] * W
            entries.append(~(slot * size) if same else slot * size)
    module.table("output_places", "i32", map(str, entries))


def _write_constants(module: Module, constants: dict[bytes, int], layout: Layout) -> None:
    vector = layout.vector
    one = vector.one_lane()
    module.table("constant_places", "i32", (str(slot * vector.size) for slot in constants.values()))
    module.table("constant_values", vector.real, (one.const(*struct.unpack("<d", x)) for x in constants))
    with module.function("void", "constants", "ptr %scratch") as w:
        with w.count(0, len(constants)) as k:
            x = w.load(vector.real, w.offset("@constant_values", k.index, vector.real), vector.real_size)
            place = w.new(f"sext i32 {w.load('i32', w.offset('@constant_places', k.index, 'i32'), 4)} to i64")
            w.store(vector.type, in_all_lanes(w, vector, x), w.offset("%scratch", place), vector.align)
        w.ret()
