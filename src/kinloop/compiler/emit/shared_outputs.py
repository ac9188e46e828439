"""Where the outputs of W states lie: numbers that several outputs have in common lie in the scratch array once.

Half of a humanoid's derivatives are zeros, and of a symmetric matrix every number is there twice. A slot of W states
is a line of memory, so that what need not be written to slots, and read from them, is time. A constant is written once
for a whole batch, in one slot for all outputs that it is. What loops leave stays where it is.

@output_places has for every output the offset of its slot in the scratch array, in bytes. @output_same is 1 where an
output and the W - 1 behind it in its array are one constant: nothing has to be transposed there.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace

from kinloop.compiler.emit.ir import Module
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.emit.lane_arithmetic import in_all_lanes
from kinloop.compiler.emit.lane_transfer import place_at
from kinloop.compiler.plan.stage_types import Operand, Plan, Segment, Stage


def share_outputs(module: Module, plan: Plan, layout: Layout) -> Plan:
    """The tables, and @constants(scratch); the plan without stores to other slots than these."""
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
                first, *others = [slot for slot in stores.get(v, ()) if slot in outputs] or [0]
                if others:
                    places |= dict.fromkeys(others, first)
                    stores[v] = tuple(slot for slot in stores[v] if slot not in others)
            found = [(x, slot) for x, slot in stage.copies if slot in outputs and _is_found(plan, x)]
            places |= {slot: plan.home[x] for x, slot in found if isinstance(x, int)}
            left = {*standing, *found}
            stage = replace(stage, copies=tuple(copy for copy in stage.copies if copy not in left))
        stages.append(stage)
    plan = replace(plan, stages=tuple(stages), stores=stores)
    chosen = _chosen(plan, outputs)
    places |= {slot: chosen.get(slot, place) for slot, place in places.items()}
    _write_places(module, places, set(constants.values()), layout)
    _write_constants(module, constants, layout)
    stores = {v: tuple(chosen.get(slot, slot) for slot in slots) for v, slots in plan.stores.items()}
    home = {v: chosen.get(slot, slot) for v, slot in plan.home.items()}
    return replace(plan, stores=stores, home=home)


def _chosen(plan: Plan, outputs: range) -> dict[int, int]:
    """For slots of outputs that mostly are what a loop left and nobody else needs, the slots of that."""
    users = Counter(x for _, args in plan.operations.values() for x in args if isinstance(x, int))
    copies = [copy for stage in plan.stages if isinstance(stage, Segment) for copy in stage.copies]
    copied = {x for x, _ in copies if isinstance(x, int)}
    out: dict[int, int] = {}
    for v in plan.usual.intersection(plan.stores):
        op, args = plan.operations[v]
        x = args[1]
        if op == "where" and isinstance(x, int) and _is_found(plan, x) and users[x] == 1 and x not in copied:
            out |= dict.fromkeys([slot for slot in plan.stores[v] if slot in outputs][:1], plan.home[x])
    return out


def _is_found(plan: Plan, x: Operand) -> bool:
    """Whether a value is what a loop or a choice of the least leaves: it stays in its slot."""
    return isinstance(x, int) and x in plan.operations and plan.operations[x][0] == "pick"


def _write_places(module: Module, places: dict[int, int], constants: set[int], layout: Layout) -> None:
    found = [[places[array.slot + k] for k in range(array.size)] for array in layout.wanted]
    offsets = [slot * layout.vector.size for slots in found for slot in slots]
    same = [
        slot in constants and slots[k : k + layout.lanes] == [slot] * layout.lanes
        for slots in found
        for k, slot in enumerate(slots)
    ]
    module.table("output_places", "i32", map(str, offsets))
    module.table("output_same", "i8", (str(int(x)) for x in same))


def _write_constants(module: Module, constants: dict[bytes, int], layout: Layout) -> None:
    vector = layout.vector
    one = vector.one_lane()
    module.table("constant_places", "i32", (str(slot * vector.size) for slot in constants.values()))
    module.table("constant_values", vector.real, (one.const(*struct.unpack("<d", x)) for x in constants))
    with module.function("void", "constants", "ptr %scratch") as w:
        with w.count(0, len(constants)) as k:
            x = w.load(vector.real, w.offset("@constant_values", k.index, vector.real), vector.real_size)
            place = place_at(w, w.offset("@constant_places", k.index, "i32"))
            w.store(vector.type, in_all_lanes(w, vector, x), w.offset("%scratch", place), vector.align)
        w.ret()
