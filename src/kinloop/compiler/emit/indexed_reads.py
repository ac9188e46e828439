"""Tables read by an index, and the numbers of the least of many values, as LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence

from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.lane_arithmetic import any_lane
from kinloop.compiler.emit.stage_parameters import stage_parameters
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.plan.stage_types import Choose, Table

TOGETHER = 8
"""Keys that are looked at together."""


def write_take(w: Writer, vector: Vector, table: Table, at: str, index: str) -> str:
    """The entry of a table at an index, which is kept within it: in every lane its own.

    `at` is the address of the first entry: of a slot, or of numbers side by side where the table has constants.
    """
    T, B = vector.type, vector.truth
    for order, bound in (("ogt", 0.0), ("olt", float(table.count - 1))):
        inside = w.new(f"fcmp {order} {T} {index}, {vector.const(bound)}")
        index = w.new(f"select {B} {inside}, {T} {index}, {T} {vector.const(bound)}")
    places = vector.of("i64")
    place = w.new(f"fptosi {T} {index} to {vector.of('i32')}")  # registers of 256 bits have no way to 64 bits
    place = w.new(f"sext {vector.of('i32')} {place} to {places}")
    if table.constants:
        return _gather(w, vector, at, place)
    step = table.stride * vector.width
    if step != 1:
        place = w.new(f"mul {places} {place}, {vector.splat('i64', str(step))}")
    if vector.width > 1:
        lanes = ", ".join(f"i64 {k}" for k in range(vector.width))
        place = w.new(f"add {places} {place}, <{lanes}>")
    return _gather(w, vector, at, place)


def _gather(w: Writer, vector: Vector, at: str, place: str) -> str:
    """The numbers at these places behind an address."""
    if vector.width == 1:
        return w.load(vector.real, w.offset(at, place, vector.real), vector.real_size)
    pointers = w.new(f"getelementptr {vector.real}, ptr {at}, {vector.of('i64')} {place}")
    everywhere, nothing = vector.splat("i1", "true"), vector.const(0.0)
    return w.call(
        vector.type, gather_name(vector), f"{vector.of('ptr')} {pointers}", f"i32 {vector.real_size}",
        f"{vector.truth} {everywhere}", f"{vector.type} {nothing}",
    )  # fmt: skip


def gather_name(vector: Vector) -> str:
    """The intrinsic that reads a number from an address of its own for every lane."""
    return f"llvm.masked.gather.{vector.suffix}.v{vector.width}p0"


def declare_gather(module: Module, vector: Vector) -> None:
    """Declare that intrinsic."""
    if vector.width > 1:
        module.declare(vector.type, gather_name(vector), vector.of("ptr"), "i32", vector.truth, vector.type)


def write_choose(module: Module, name: str, stage: Choose, vector: Vector, parts: Sequence[int]) -> None:
    """@name(scratch, out): lane by lane, but only for keys that are below zero in some lane.

    Of lanes several keys are looked at together: mostly none of them is below zero.
    """
    T = vector.type
    whole = stage.count - stage.count % TOGETHER if vector.width > 1 else 0
    with module.function("void", name, *stage_parameters(parts)) as w:
        keys, out = (w.offset("%scratch", slot * vector.size) for slot in (stage.at, stage.out))
        with w.count(0, stage.slots + 1) as k:
            w.store(T, vector.const(0.0), w.offset(out, k.index, T), vector.align)
        with w.count(0, whole, TOGETHER) as block:
            places = [w.integer("add", block.index, k) for k in range(TOGETHER)]
            end, some = w.integer("add", block.index, TOGETHER), [_key(w, vector, keys, n, stage) for n in places]
            with w.when(_some_negative(w, vector, some)), w.count(block.index, end, at_least_once=True) as n:
                _write_key(w, vector, keys, out, n.index, stage)
        with w.count(whole, stage.count) as n:
            _write_key(w, vector, keys, out, n.index, stage)
        w.ret()


def _key(w: Writer, vector: Vector, keys: str, n: str, stage: Choose) -> str:
    """The address of the n-th key."""
    return w.offset(keys, w.integer("mul", n, stage.stride), vector.type)


def _some_negative(w: Writer, vector: Vector, places: list[str]) -> str:
    """Whether the numbers at some places have a sign in some lane; all that are below zero do."""
    found = [w.load(vector.bits, place, vector.align) for place in places]
    signs = found[0]
    for x in found[1:]:
        signs = w.new(f"or {vector.bits} {signs}, {x}")
    return any_lane(w, vector, w.new(f"icmp slt {vector.bits} {signs}, zeroinitializer"))


def _write_key(w: Writer, vector: Vector, keys: str, out: str, n: str, stage: Choose) -> None:
    """One key, where it is below zero."""
    T, R, size = vector.type, vector.real, vector.real_size
    zero, one = vector.one_lane().const(0.0), vector.one_lane().const(1.0)
    key = _key(w, vector, keys, n, stage)
    below = w.new(f"fcmp olt {T} {w.load(T, key, vector.align)}, {vector.const(0.0)}")
    with w.when(any_lane(w, vector, below)), w.count(0, vector.width) as lane:
        mine = w.load(R, w.offset(key, lane.index, R), size)
        with w.when(w.new(f"fcmp olt {R} {mine}, {zero}")):
            number = w.new(f"uitofp i64 {n} to {R}")
            first = w.offset(out, lane.index, R)
            w.call("void", "choose", f"ptr {first}", f"i64 {stage.slots}", f"{R} {mine}", f"{R} {number}")
            last = w.offset(first, w.integer("mul", stage.slots, vector.width), R)
            w.store(R, w.new(f"fadd {R} {w.load(R, last, size)}, {one}"), last, size)


def write_choosing(module: Module, vector: Vector) -> None:
    """@choose(out, slots, key, number): one more of the chosen of a lane, whose numbers lie from `out` on.

    Behind them lie how many there are, and their keys.
    """
    R, size, W = vector.real, vector.real_size, vector.width
    with module.function("void", "choose", "ptr %out", "i64 %slots", f"{R} %key", f"{R} %number") as w:

        def place(base: str, k: str | int) -> str:
            return w.offset(base, w.integer("mul", k, W), R)

        held = w.load(R, place("%out", "%slots"), size)
        keys = place("%out", w.integer("add", "%slots", 1))
        count = w.new(f"fptosi {R} {held} to i64")
        full = w.compare("uge", count, "%slots")
        with w.when(w.integer("xor", full, "true", "i1")):
            w.store(R, "%number", place("%out", count), size)
            w.store(R, "%key", place(keys, count), size)
        with w.when(w.integer("and", full, w.compare("ne", "%slots", 0), "i1")):
            begin: list[tuple[str, str | int]] = [("i64", 0), (R, w.load(R, keys, size))]
            with w.count(0, "%slots", carry=begin, at_least_once=True) as k:
                other = w.load(R, place(keys, k.index), size)
                worse = w.new(f"fcmp ogt {R} {other}, {k.carried[1]}")
                k.following = [
                    w.select(worse, "i64", k.index, k.carried[0]), w.select(worse, R, other, k.carried[1])
                ]  # fmt: skip
            with w.when(w.new(f"fcmp olt {R} %key, {k.results[1]}")):
                w.store(R, "%number", place("%out", k.results[0]), size)
                w.store(R, "%key", place(keys, k.results[0]), size)
        w.ret()
