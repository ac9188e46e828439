"""Whether many numbers are all right, as functions of an LLVM module: finite, or no larger than a limit."""

from __future__ import annotations

import functools
from collections.abc import Callable

from kinloop.compiler.emit.ir import Module, Value, Writer
from kinloop.compiler.emit.lane_arithmetic import LaneArithmetic, any_lane
from kinloop.compiler.emit.vector_type import Vector

_SIDE_BY_SIDE = 8  # looks that wait for none of the others: as many additions as a processor has under way


def write_within(module: Module, block: Vector) -> None:
    """@within(numbers, count, limit): whether no number is nan or larger than a limit, up to its sign."""
    with module.function("i1", "within", "ptr %numbers", "i64 %n", f"{block.real} %limit") as w:
        first = w.new(f"insertelement {block.type} poison, {block.real} %limit, i32 0")
        spread = w.new(
            f"shufflevector {block.type} {first}, {block.type} poison, <{block.width} x i32> zeroinitializer"
        )

        def beyond(vector: Vector, before: str, x: str) -> str:
            """All bits set in lanes where a number is nan or beyond the limit."""
            size = w.call(vector.type, f"llvm.fabs.{vector.suffix}", f"{vector.type} {x}")
            limit = spread if vector is block else "%limit"
            wrong = w.new(f"fcmp ugt {vector.type} {size}, {limit}")
            return joined(vector, before, w.new(f"sext {vector.truth} {wrong} to {vector.bits}"))

        def joined(vector: Vector, a: str, b: str) -> str:
            return w.integer("or", a, b, vector.bits)

        def found(vector: Vector, total: str) -> str:
            zero = "0" if vector.width == 1 else "zeroinitializer"
            return w.new(f"icmp ne {vector.bits} {total}, {zero}")

        _look_at_all(w, block, lambda v: (v.bits, "0" if v.width == 1 else "zeroinitializer"), beyond, joined, found)


def write_finite(module: Module, block: Vector, fma: bool) -> None:
    """@finite(numbers, count): whether all numbers are. Sums of 0 x stay 0 then."""
    with module.function("i1", "finite", "ptr %numbers", "i64 %n") as w:

        def added(vector: Vector, before: str, x: str) -> str:
            """A sum and 0 times a number: nan if that is not finite."""
            return LaneArithmetic(w, vector, fma).fma(x, vector.const(0.0), before)

        def joined(vector: Vector, a: str, b: str) -> str:
            return LaneArithmetic(w, vector, fma).add(a, b)

        def found(vector: Vector, total: str) -> str:
            return w.new(f"fcmp uno {vector.type} {total}, {vector.const(0.0)}")

        _look_at_all(w, block, lambda v: (v.type, v.const(0.0)), added, joined, found)


def _look_at_all(
    w: Writer,
    block: Vector,
    nothing: Callable[[Vector], tuple[str, str]],
    look: Callable[[Vector, str, str], str],
    join: Callable[[Vector, str, str], str],
    wrong: Callable[[Vector, str], str],
) -> None:
    """Return whether nothing is `wrong` in any lane after a `look` at all of %n %numbers.

    What was seen begins with `nothing`, is handed from look to look, and joined where several of them go side by side.
    The first and the last block may lie anywhere; those between begin where vector registers are read fastest, and are
    looked at from the last to the first: the last were written last, and are still in the nearest memory. Some numbers
    are looked at twice, which changes nothing.
    """
    W, size, one = block.width, block.real_size, block.one_lane()

    def at(vector: Vector, before: Value, index: Value) -> str:
        return look(vector, str(before), w.load(vector.type, w.offset("%numbers", index, vector.real), size))

    with w.unless(w.compare("uge", "%n", W)):
        with w.count(0, "%n", carry=[nothing(one)]) as single:
            single.following = [at(one, single.carried[0], single.index)]
        w.ret("i1", w.integer("xor", wrong(one, str(single.results[0])), "true", "i1"))
    kind, none = nothing(block)
    ends = [at(block, none, 0), at(block, none, w.integer("sub", "%n", W))]
    off = w.integer("and", w.integer("sub", 0, w.new("ptrtoint ptr %numbers to i64")), W * size - 1)
    begin = w.new(f"udiv exact i64 {off}, {size}")
    left = w.integer("sub", "%n", begin)
    many, whole = (w.integer("add", begin, w.integer("and", left, -n)) for n in (_SIDE_BY_SIDE * W, W))
    last = w.integer("sub", w.integer("add", begin, many), W)
    with w.count(begin, many, _SIDE_BY_SIDE * W, [(kind, none)] * _SIDE_BY_SIDE) as runs:
        back = w.integer("sub", last, runs.index)
        places = [w.integer("sub", back, W * k) for k in range(_SIDE_BY_SIDE)]
        runs.following = [at(block, x, k) for x, k in zip(runs.carried, places, strict=True)]
    with w.count(many, whole, W, [(kind, none)]) as rest:
        rest.following = [at(block, rest.carried[0], rest.index)]
    seen = functools.reduce(functools.partial(join, block), [*ends, *map(str, runs.results), *map(str, rest.results)])
    w.ret("i1", w.integer("xor", any_lane(w, block, wrong(block, seen)), "true", "i1"))
