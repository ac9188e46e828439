"""The batch loop, as LLVM IR: rows in, all stages, rows out, a few groups of W rows at a time."""

from __future__ import annotations

from kinloop.compiler.emit import lane_transfer as rows
from kinloop.compiler.emit.ir import Vector
from kinloop.compiler.emit.layout import Layout


def batch_functions(layout: Layout, block: Vector, size: int) -> list[str]:
    """@batch and what it calls. `block` is what one state copies at a time, `size` the scratch of a group."""
    vector = layout.vector
    moves = rows.take(block) + rows.give(block) if vector.width == 1 else rows.gather(vector) + rows.scatter(vector)
    return moves + _load_group(layout, block) + _store_group(layout) + _fill(vector) + _batch(layout, size)


def _entry(k: int) -> list[str]:
    """Lines that read base pointer and row stride of array `k` from the table."""
    return [
        f"  %bp{k} = getelementptr i8, ptr %table, i64 {16 * k}",
        f"  %base{k} = load ptr, ptr %bp{k}, align 8",
        f"  %sp{k} = getelementptr i8, ptr %table, i64 {16 * k + 8}",
        f"  %stride{k} = load i64, ptr %sp{k}, align 8",
    ]


def _load_group(layout: Layout, block: Vector) -> list[str]:
    """@load_group(row, last row, table, scratch): inputs of W rows into their slots; the alarm into the last."""
    vector = layout.vector
    alarm = vector if vector.width > 1 else block
    I = alarm.of(f"i{8 * vector.real_size}")
    lines = ["define internal i64 @load_group(i64 %row, i64 %last, ptr %table, ptr %w) #0 {"]
    state = "zeroinitializer"
    for k, n, slot in layout.given:
        lines += [*_entry(k), f"  %to{k} = getelementptr {vector.type}, ptr %w, i64 {slot}"]
        if vector.width > 1:
            given = f"ptr %base{k}, i64 %stride{k}, i64 {n}, i64 %row, i64 %last, ptr %to{k}, {I} {state}"
            lines.append(f"  %alarm{k} = call {I} @gather({given})")
        else:
            lines += [
                f"  %m{k} = mul i64 %row, %stride{k}",
                f"  %p{k} = getelementptr i8, ptr %base{k}, i64 %m{k}",
                f"  %alarm{k} = call {I} @take(ptr %p{k}, i64 {n}, ptr %to{k}, {I} {state})",
            ]
        state = f"%alarm{k}"
    lines += [
        f"  %alarm = bitcast {I} {state} to {alarm.type}",
        f"  %mask = fcmp uno {alarm.type} %alarm, zeroinitializer",
        *lane_bits(alarm.width, "%mask", "%bits"),
    ]
    if vector.width == 1:
        lines += ["  %any = icmp ne i64 %bits, 0", "  %result = zext i1 %any to i64", "  ret i64 %result", "}"]
    else:
        lines += ["  ret i64 %bits", "}"]
    return lines


def lane_bits(width: int, mask: str, out: str) -> list[str]:
    """Lines that turn the truth values of the lanes into the bits of an i64."""
    if width == 1:
        return [f"  {out} = zext i1 {mask} to i64"]
    return [f"  {out}_n = bitcast <{width} x i1> {mask} to i{width}", f"  {out} = zext i{width} {out}_n to i64"]


def _store_group(layout: Layout) -> list[str]:
    """@store_group(row, rows, bad lanes, table, scratch): outputs to rows, nan where an input was not finite.

    Returns the first bad lane, or -1.
    """
    vector, outputs = layout.vector, layout.wanted
    lines = ["define internal i64 @store_group(i64 %row, i64 %rows, i64 %bad, ptr %table, ptr %w) #0 {"]
    for k, n, slot in outputs:
        lines += [*_entry(k), f"  %from{k} = getelementptr {vector.type}, ptr %w, i64 {slot}"]
        if vector.width > 1:
            given = f"ptr %base{k}, i64 %stride{k}, i64 {n}, i64 %row, i64 %rows, ptr %from{k}"
            lines.append(f"  call void @scatter({given})")
        else:
            lines += [
                f"  %m{k} = mul i64 %row, %stride{k}",
                f"  %p{k} = getelementptr i8, ptr %base{k}, i64 %m{k}",
                f"  call void @give(ptr %p{k}, i64 {n}, ptr %from{k})",
            ]
    lines += [
        "  %fine = icmp eq i64 %bad, 0",
        "  br i1 %fine, label %good, label %lane",
        "good:",
        "  ret i64 -1",
        "lane:",
        "  %l = phi i64 [ 0, %0 ], [ %l2, %next ]",
        "  %first = phi i64 [ -1, %0 ], [ %first2, %next ]",
        "  %shifted = lshr i64 %bad, %l",
        "  %own = trunc i64 %shifted to i1",
        "  %inside = icmp slt i64 %l, %rows",
        "  %hit = and i1 %own, %inside",
        "  br i1 %hit, label %spoil, label %next",
        "spoil:",
        "  %r = add i64 %row, %l",
        *[f"  call void @fill(ptr %base{k}, i64 %stride{k}, i64 {n}, i64 %r)" for k, n, _ in outputs],
        "  %none = icmp slt i64 %first, 0",
        "  %mine = select i1 %none, i64 %l, i64 %first",
        "  br label %next",
        "next:",
        "  %first2 = phi i64 [ %first, %lane ], [ %mine, %spoil ]",
        "  %l2 = add i64 %l, 1",
        f"  %more = icmp ult i64 %l2, {vector.width}",
        "  br i1 %more, label %lane, label %end",
        "end:",
        "  ret i64 %first2",
        "}",
    ]
    return lines


def _fill(vector: Vector) -> list[str]:
    """@fill(base, stride, columns, row): nan in every column of a row."""
    one = Vector(1, vector.real)
    return [
        "define internal void @fill(ptr %base, i64 %stride, i64 %n, i64 %row) #0 {",
        "  %m = mul i64 %row, %stride",
        "  %p = getelementptr i8, ptr %base, i64 %m",
        "  %some = icmp ne i64 %n, 0",
        "  br i1 %some, label %loop, label %end",
        "loop:",
        "  %k = phi i64 [ 0, %0 ], [ %k2, %loop ]",
        f"  %q = getelementptr {one.real}, ptr %p, i64 %k",
        f"  store {one.real} {one.const(float('nan'))}, ptr %q, align {one.size}",
        "  %k2 = add i64 %k, 1",
        "  %more = icmp ult i64 %k2, %n",
        "  br i1 %more, label %loop, label %end",
        "end:",
        "  ret void",
        "}",
    ]


def _batch(layout: Layout, size: int) -> list[str]:
    """@batch(start, stop, table, scratch): all rows from start to stop; the first bad row, or -1."""
    W, G = layout.lanes, layout.groups
    return [
        "define i64 @batch(i64 %start, i64 %stop, ptr %table, ptr %scratch) #0 {",
        f"  %bads = alloca [{G} x i64], align 8",
        "  %last = sub i64 %stop, 1",
        "  br label %block",
        "block:",
        "  %row = phi i64 [ %start, %0 ], [ %row2, %stored ]",
        "  %first = phi i64 [ -1, %0 ], [ %first3, %stored ]",
        "  br label %load",
        "load:",
        "  %g = phi i64 [ 0, %block ], [ %g2, %load ]",
        f"  %gw = mul i64 %g, {W}",
        "  %r = add i64 %row, %gw",
        f"  %go = mul i64 %g, {size}",
        "  %p = getelementptr i8, ptr %scratch, i64 %go",
        "  %bad = call i64 @load_group(i64 %r, i64 %last, ptr %table, ptr %p)",
        "  %b = getelementptr i64, ptr %bads, i64 %g",
        "  store i64 %bad, ptr %b, align 8",
        "  %g2 = add i64 %g, 1",
        f"  %r2 = add i64 %r, {W}",
        "  %within = icmp slt i64 %r2, %stop",
        f"  %room = icmp slt i64 %g2, {G}",
        "  %on = and i1 %within, %room",
        "  br i1 %on, label %load, label %compute",
        "compute:",
        "  call void @run(ptr %scratch, i64 %g2)",
        "  br label %store",
        "store:",
        "  %h = phi i64 [ 0, %compute ], [ %h2, %store ]",
        "  %first2 = phi i64 [ %first, %compute ], [ %first3, %store ]",
        f"  %hw = mul i64 %h, {W}",
        "  %s = add i64 %row, %hw",
        "  %left = sub i64 %stop, %s",
        f"  %ho = mul i64 %h, {size}",
        "  %q = getelementptr i8, ptr %scratch, i64 %ho",
        "  %c = getelementptr i64, ptr %bads, i64 %h",
        "  %bits = load i64, ptr %c, align 8",
        "  %lane = call i64 @store_group(i64 %s, i64 %left, i64 %bits, ptr %table, ptr %q)",
        "  %clean = icmp slt i64 %lane, 0",
        "  %at = add i64 %s, %lane",
        "  %known = icmp sge i64 %first2, 0",
        "  %keep = or i1 %clean, %known",
        "  %first3 = select i1 %keep, i64 %first2, i64 %at",
        "  %h2 = add i64 %h, 1",
        "  %again = icmp slt i64 %h2, %g2",
        "  br i1 %again, label %store, label %stored",
        "stored:",
        f"  %row2 = add i64 %row, {W * G}",
        "  %more = icmp slt i64 %row2, %stop",
        "  br i1 %more, label %block, label %end",
        "end:",
        "  ret i64 %first3",
        "}",
    ]
