"""Rows of NumPy arrays to slots of the scratch array and back, as LLVM IR.

For W states `@gather` reads W rows of a row-major array into slots of W lanes, and `@scatter` writes slots
back to rows; both transpose W x W blocks in registers. For one state `@take` and `@give` copy. What reads
also notices numbers that are not finite: the alarm holds the bits of a zero in good lanes; in a lane that
meets nan or infinity it becomes nan, since 0 x is then not 0.
"""

from __future__ import annotations

import math

from kinloop.compiler.abi import CACHE_LINE
from kinloop.compiler.emit.common_functions import define
from kinloop.compiler.emit.ir import Module, Value, Writer
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.emit.vector_type import Vector

RUN = 512  # bytes that a row is given at a time


def write_transfers(module: Module, layout: Layout) -> None:
    """@gather and @scatter for W states, @take and @give for one, a block of numbers at a time."""
    if layout.lanes == 1:
        _write_take(module, layout)
        _write_give(module, layout)
        return
    _write_gather(module, layout)
    if layout.straight:
        _write_straight_scatter(module, layout)
    else:
        _write_scatter(module, layout)


def write_fill(module: Module, layout: Layout) -> None:
    """@fill(base, stride, columns, row): nan in every column of a row."""
    one = layout.vector.one_lane()
    with define(module, layout, "fill") as w:
        start = w.offset("%base", w.integer("mul", "%row", "%stride"))
        with w.count(0, "%n") as column:
            w.store(one.type, one.const(math.nan), w.offset(start, column.index, one.type), one.size)
        w.ret()


def _transpose(w: Writer, vector: Vector, rows: list[str]) -> list[str]:
    """W vectors of W numbers, transposed by swapping ever larger blocks."""
    W, T = vector.width, vector.type
    current, span = list(rows), 1
    while span < W:
        swapped = list(current)
        for i in range(W):
            if i & span:
                continue
            # Columns with the span bit clear pair up in row i, those with it set in row i + span.
            low = [(c if not c & span else W + c - span) for c in range(W)]
            high = [(c + span if not c & span else W + c) for c in range(W)]
            for row, mask in ((i, low), (i + span, high)):
                picked = ", ".join(f"i32 {m}" for m in mask)
                pair = f"{T} {current[i]}, {T} {current[i + span]}"
                swapped[row] = w.new(f"shufflevector {pair}, <{W} x i32> <{picked}>")
        current, span = swapped, span * 2
    return current


def _raise_alarm(w: Writer, vector: Vector, x: str, alarm: Value) -> str:
    """The alarm, raised in lanes where `x` is not finite."""
    zero = w.new(f"fmul {vector.type} {x}, {vector.const(0.0)}")
    return w.new(f"or {vector.bits} {alarm}, {w.new(f'bitcast {vector.type} {zero} to {vector.bits}')}")


def alarmed(w: Writer, vector: Vector, alarm: Value) -> str:
    """Whether the alarm was raised, lane by lane."""
    numbers = w.new(f"bitcast {vector.bits} {alarm} to {vector.type}")
    return w.new(f"fcmp uno {vector.type} {numbers}, zeroinitializer")


def _blocks(w: Writer, vector: Vector) -> tuple[str, str]:
    """Where the last block of W columns begins, and where one after it would; 0 if there are not W columns.

    The last block ends with the last column, and may have some in common with the block before.
    """
    W = vector.width
    covered = w.integer("and", w.integer("add", "%n", W - 1), -W)
    return w.integer("sub", "%n", W), w.select(w.compare("slt", "%n", W), "i64", 0, covered)


def smaller(w: Writer, a: str, b: Value) -> str:
    """The smaller of two integers."""
    return w.select(w.compare("slt", a, b), "i64", a, b)


def _write_gather(module: Module, layout: Layout) -> None:
    """@gather(base, stride, columns, row, last row, slots, alarm): lanes beyond the last row repeat it."""
    vector = layout.vector
    W, T, R, I = vector.width, vector.type, vector.real, vector.bits
    with define(module, layout, "gather") as w:
        starts = []
        for lane in range(W):
            row = smaller(w, w.integer("add", "%row", lane), "%last")
            starts.append(w.offset("%base", w.integer("mul", row, "%stride")))
        last, covered = _blocks(w, vector)
        with w.count(0, covered, W, [(I, "%alarm")]) as blocks:
            column = smaller(w, blocks.index, last)
            loaded = [w.load(T, w.offset(start, column, R), vector.real_size) for start in starts]
            (alarm,) = blocks.carried
            target = w.offset("%to", column, T)
            for i, x in enumerate(_transpose(w, vector, loaded)):
                w.store(T, x, w.offset(target, i, T), vector.align)
                alarm = _raise_alarm(w, vector, x, alarm)
            blocks.following = [alarm]
        with w.count(covered, "%n", carry=[(I, blocks.results[0])]) as single:
            packed = "poison"
            for lane, start in enumerate(starts):
                x = w.load(R, w.offset(start, single.index, R), vector.real_size)
                packed = w.new(f"insertelement {T} {packed}, {R} {x}, i32 {lane}")
            w.store(T, packed, w.offset("%to", single.index, T), vector.align)
            single.following = [_raise_alarm(w, vector, packed, single.carried[0])]
        w.ret(I, single.results[0])


def _write_straight_scatter(module: Module, layout: Layout) -> None:
    """@scatter as below, without a buffer. Lanes beyond the last row repeat it, and write there what it did."""
    vector = layout.vector
    T, R = vector.type, vector.real
    with define(module, layout, "scatter") as w:
        final, targets = w.integer("sub", "%rows", 1), []
        for lane in range(vector.width):
            row = w.integer("add", "%row", w.select(w.compare("sgt", final, lane), "i64", lane, final))
            targets.append(w.offset("%base", w.integer("mul", row, "%stride")))
        last, covered = _blocks(w, vector)
        with w.count(0, covered, vector.width) as block:
            column = smaller(w, block.index, last)
            _write_block(w, vector, column, [w.offset(target, column, R) for target in targets])
        with w.count(covered, "%n") as single:
            slot = w.offset("%scratch", place_at(w, w.offset("%places", single.index, "i32")))
            x = w.load(T, slot, vector.align)
            for lane, target in enumerate(targets):
                number = w.new(f"extractelement {T} {x}, i32 {lane}")
                w.store(R, number, w.offset(target, single.index, R), vector.real_size)
        w.ret()


def _write_scatter(module: Module, layout: Layout) -> None:
    """@scatter(base, stride, columns, row, rows, places, same, scratch): the first `rows` lanes to rows.

    `places` and `same` say where in the scratch array columns lie, and where W of them are one constant (see
    `shared_outputs`). Blocks go through a buffer, from where a row gets RUN bytes before the next one's turn: memory
    takes in cache lines that follow each other twice as fast as one line of each row.
    """
    vector = layout.vector
    W, T, R, run = vector.width, vector.type, vector.real, RUN // vector.real_size
    pitch = W + run  # of the buffer: the last W columns of the turn before, and those of this turn
    with define(module, layout, "scatter") as w:
        buffer = w.new(f"alloca [{W * pitch} x {R}], align {CACHE_LINE}")
        lanes = smaller(w, "%rows", W)
        last, covered = _blocks(w, vector)
        with w.count(0, covered, run) as turn:
            wide = smaller(w, w.integer("sub", covered, turn.index), run)
            with w.count(0, wide, W, at_least_once=True) as block:
                column = smaller(w, w.integer("add", turn.index, block.index), last)
                place = w.offset(buffer, w.integer("add", w.integer("sub", column, turn.index), W), R)
                _write_block(w, vector, column, [w.offset(place, lane * pitch, R) for lane in range(W)])
            with w.count(0, lanes, at_least_once=True) as own:
                source = w.offset(buffer, w.integer("mul", own.index, pitch), R)
                target = w.offset("%base", w.integer("mul", w.integer("add", "%row", own.index), "%stride"))
                _write_turn(w, vector, source, target, turn.index, last)
                kept = w.load(T, w.offset(source, run, R), vector.align)
                w.store(T, kept, source, vector.align)
        with w.count(covered, "%n") as single:
            slot = w.offset("%scratch", place_at(w, w.offset("%places", single.index, "i32")))
            with w.count(0, lanes, at_least_once=True) as own:
                x = w.load(R, w.offset(slot, own.index, R), vector.real_size)
                target = w.offset("%base", w.integer("mul", w.integer("add", "%row", own.index), "%stride"))
                w.store(R, x, w.offset(target, single.index, R), vector.real_size)
        w.ret()


def _write_block(w: Writer, vector: Vector, column: str, targets: list[str]) -> None:
    """W columns of W states, transposed, a state to each target; there is nothing to transpose in one constant."""
    T = vector.type
    same = w.compare("ne", w.load("i8", w.offset("%same", column), 1), 0, "i8")
    places = w.offset("%places", column, "i32")
    with w.when(same):
        x = w.load(T, w.offset("%scratch", place_at(w, places)), vector.align)
        for target in targets:
            w.store(T, x, target, vector.real_size)
    with w.when(w.integer("xor", same, "true", "i1")):
        found = [place_at(w, w.offset(places, i, "i32")) for i in range(vector.width)]
        columns = [w.load(T, w.offset("%scratch", x), vector.align) for x in found]
        for target, x in zip(targets, _transpose(w, vector, columns), strict=True):
            w.store(T, x, target, vector.real_size)


def place_at(w: Writer, entry: str) -> str:
    """The offset in the scratch array that an entry of a table of places holds."""
    return w.new(f"sext i32 {w.load('i32', entry, 4)} to i64")


def _write_turn(w: Writer, vector: Vector, source: str, target: str, turn: str, last: str) -> None:
    """The columns of this turn, from the buffer to their row, whole registers of memory at a time.

    A row may begin anywhere: what comes before its first whole register is written with the first W columns, what comes
    behind the last with the last W. Stores over the edges of lines take twice as long.
    """
    W, T, R = vector.width, vector.type, vector.real

    def move(column: Value) -> None:
        here = w.offset(source, w.integer("add", w.integer("sub", column, turn), W), R)
        w.store(T, w.load(T, here, vector.real_size), w.offset(target, column, R), vector.real_size)

    over = w.integer("and", w.new(f"ptrtoint ptr {target} to i64"), vector.size - 1)
    first = w.integer("sub", turn, w.integer("udiv", over, vector.real_size))
    first = w.select(w.compare("slt", first, 0), "i64", w.integer("add", first, W), first)
    end = w.integer("add", turn, RUN // vector.real_size - W)
    with w.when(w.compare("eq", turn, 0)):
        move(0)
    with w.count(first, w.integer("add", smaller(w, end, last), 1), W) as column:
        move(column.index)
    with w.when(w.compare("sge", end, last)):
        move(last)


def _copy(w: Writer, vector: Vector, source: str, target: str, index: str) -> str:
    """Copy the numbers from `index` on that fit into `vector`; their name."""
    x = w.load(vector.type, w.offset(source, index, vector.real), vector.real_size)
    w.store(vector.type, x, w.offset(target, index, vector.real), vector.real_size)
    return x


def _write_take(module: Module, layout: Layout) -> None:
    """@take(from, count, to, alarm): copy numbers, as many at a time as a block has, with the alarm."""
    block = layout.block
    I, one = block.bits, block.one_lane()
    with define(module, layout, "take") as w:
        whole = w.integer("and", "%n", -block.width)
        with w.count(0, whole, block.width, [(I, "%alarm")]) as blocks:
            x = _copy(w, block, "%from", "%to", blocks.index)
            blocks.following = [_raise_alarm(w, block, x, blocks.carried[0])]
        alarm = blocks.results[0]
        first = w.new(f"extractelement {I} {alarm}, i32 0")
        with w.count(whole, "%n", carry=[(one.bits, first)]) as single:
            x = _copy(w, one, "%from", "%to", single.index)
            single.following = [_raise_alarm(w, one, x, single.carried[0])]
        w.ret(I, w.new(f"insertelement {I} {alarm}, {one.bits} {single.results[0]}, i32 0"))


def _write_give(module: Module, layout: Layout) -> None:
    """@give(to, count, from): copy numbers, as many at a time as a block has."""
    block = layout.block
    with define(module, layout, "give") as w:
        whole = w.integer("and", "%n", -block.width)
        with w.count(0, whole, block.width) as blocks:
            _copy(w, block, "%from", "%to", blocks.index)
        with w.count(whole, "%n") as single:
            _copy(w, block.one_lane(), "%from", "%to", single.index)
        w.ret()
