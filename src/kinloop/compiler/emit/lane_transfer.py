"""Rows of NumPy arrays to lanes and back, as LLVM IR.

`gather` reads W rows of a row-major array into W-lane slots, and notices numbers that are not finite;
`scatter` writes slots back to rows. Both transpose W x W blocks in registers.
"""

from __future__ import annotations

from kinloop.compiler.emit.ir import Vector


def _transpose(vector: Vector, rows: list[str], tag: str) -> tuple[list[str], list[str]]:
    """Lines that transpose W vectors of W numbers, and the names of the results."""
    W, T, lines = vector.width, vector.type, []
    current, span = list(rows), 1
    while span < W:
        swapped = list(current)
        for i in range(W):
            if i & span:
                continue
            a, b = current[i], current[i + span]
            # Columns with the span bit clear pair up in row i, those with it set in row i + span.
            low = [(c if not c & span else W + c - span) for c in range(W)]
            high = [(c + span if not c & span else W + c) for c in range(W)]
            for row, mask in ((i, low), (i + span, high)):
                name = f"%{tag}{span}_{row}"
                picked = ", ".join(f"i32 {m}" for m in mask)
                lines.append(f"  {name} = shufflevector {T} {a}, {T} {b}, <{W} x i32> <{picked}>")
                swapped[row] = name
        current, span = swapped, span * 2
    return lines, current


def alarm_lines(vector: Vector, x: str, before: str, after: str) -> list[str]:
    """Lines that raise the alarm in lanes where `x` is not finite."""
    T, I, tag = vector.type, vector.of(f"i{8 * vector.real_size}"), after.removeprefix("%")
    return [
        f"  %zero_{tag} = fmul {T} {x}, {vector.const(0.0)}",
        f"  %bits_{tag} = bitcast {T} %zero_{tag} to {I}",
        f"  {after} = or {I} {before}, %bits_{tag}",
    ]


def gather(vector: Vector) -> list[str]:
    """@gather(base, stride, columns, row, last row, slots, alarm): rows to lanes.

    Lanes beyond the last row repeat it. The alarm holds the bits of a zero in good lanes; in a lane that
    meets nan or infinity it becomes nan, since 0 x is then not 0.
    """
    W, T, R, size = vector.width, vector.type, vector.real, vector.real_size
    I = vector.of(f"i{8 * size}")
    lines = [
        f"define internal {I} @gather(ptr %base, i64 %stride, i64 %n, i64 %row, i64 %last, ptr %to, {I} %alarm) #0 {{"
    ]
    for lane in range(W):
        lines += [
            f"  %w{lane} = add i64 %row, {lane}",
            f"  %c{lane} = icmp slt i64 %w{lane}, %last",
            f"  %r{lane} = select i1 %c{lane}, i64 %w{lane}, i64 %last",
            f"  %m{lane} = mul i64 %r{lane}, %stride",
            f"  %p{lane} = getelementptr i8, ptr %base, i64 %m{lane}",
        ]
    lines += [
        f"  %full = and i64 %n, {-W}",
        "  %some = icmp ne i64 %full, 0",
        "  br i1 %some, label %blocks, label %rest",
        "blocks:",
        "  %k = phi i64 [ 0, %0 ], [ %k2, %blocks ]",
        f"  %u0 = phi {I} [ %alarm, %0 ], [ %u{W}, %blocks ]",
    ]
    for lane in range(W):
        lines += [
            f"  %q{lane} = getelementptr {R}, ptr %p{lane}, i64 %k",
            f"  %x{lane} = load {T}, ptr %q{lane}, align {size}",
        ]
    turned, columns = _transpose(vector, [f"%x{i}" for i in range(W)], "s")
    lines += turned
    for i, column in enumerate(columns):
        lines += [
            f"  %k_{i} = add i64 %k, {i}",
            f"  %d{i} = getelementptr {T}, ptr %to, i64 %k_{i}",
            f"  store {T} {column}, ptr %d{i}, align {min(vector.size, 64)}",
            *alarm_lines(vector, column, f"%u{i}", f"%u{i + 1}"),
        ]
    lines += [
        f"  %k2 = add i64 %k, {W}",
        "  %again = icmp ult i64 %k2, %full",
        "  br i1 %again, label %blocks, label %rest",
        "rest:",
        f"  %v = phi {I} [ %alarm, %0 ], [ %u{W}, %blocks ]",
        "  %left = icmp ult i64 %full, %n",
        "  br i1 %left, label %single, label %end",
        "single:",
        "  %j = phi i64 [ %full, %rest ], [ %j2, %single ]",
        f"  %a = phi {I} [ %v, %rest ], [ %a2, %single ]",
    ]
    packed = "poison"
    for lane in range(W):
        lines += [
            f"  %e{lane} = getelementptr {R}, ptr %p{lane}, i64 %j",
            f"  %y{lane} = load {R}, ptr %e{lane}, align {size}",
        ]
        if W > 1:
            lines.append(f"  %g{lane} = insertelement {T} {packed}, {R} %y{lane}, i32 {lane}")
        packed = f"%g{lane}" if W > 1 else "%y0"
    return [
        *lines,
        f"  %to1 = getelementptr {T}, ptr %to, i64 %j",
        f"  store {T} {packed}, ptr %to1, align {min(vector.size, 64)}",
        *alarm_lines(vector, packed, "%a", "%a2"),
        "  %j2 = add i64 %j, 1",
        "  %more = icmp ult i64 %j2, %n",
        "  br i1 %more, label %single, label %end",
        "end:",
        f"  %result = phi {I} [ %v, %rest ], [ %a2, %single ]",
        f"  ret {I} %result",
        "}",
    ]


def scatter(vector: Vector) -> list[str]:
    """@scatter(base, stride, columns, row, rows, slots): the first `rows` lanes to rows."""
    W, T, R, size = vector.width, vector.type, vector.real, vector.real_size
    lines = ["define internal void @scatter(ptr %base, i64 %stride, i64 %n, i64 %row, i64 %rows, ptr %from) #0 {"]
    for lane in range(W):
        lines += [
            f"  %w{lane} = add i64 %row, {lane}",
            f"  %m{lane} = mul i64 %w{lane}, %stride",
            f"  %p{lane} = getelementptr i8, ptr %base, i64 %m{lane}",
        ]
    lines += [
        f"  %whole = icmp sge i64 %rows, {W}",
        f"  %even = and i64 %n, {-W}",
        "  %full = select i1 %whole, i64 %even, i64 0",
        "  %some = icmp ne i64 %full, 0",
        "  br i1 %some, label %blocks, label %rest",
        "blocks:",
        "  %k = phi i64 [ 0, %0 ], [ %k2, %blocks ]",
    ]
    for i in range(W):
        lines += [
            f"  %k_{i} = add i64 %k, {i}",
            f"  %d{i} = getelementptr {T}, ptr %from, i64 %k_{i}",
            f"  %x{i} = load {T}, ptr %d{i}, align {min(vector.size, 64)}",
        ]
    turned, columns = _transpose(vector, [f"%x{i}" for i in range(W)], "s")
    lines += turned
    for lane, column in enumerate(columns):
        lines += [
            f"  %q{lane} = getelementptr {R}, ptr %p{lane}, i64 %k",
            f"  store {T} {column}, ptr %q{lane}, align {size}",
        ]
    lines += [
        f"  %k2 = add i64 %k, {W}",
        "  %again = icmp ult i64 %k2, %full",
        "  br i1 %again, label %blocks, label %rest",
        "rest:",
        "  %left = icmp ult i64 %full, %n",
        "  br i1 %left, label %single, label %end",
        "single:",
        "  %j = phi i64 [ %full, %rest ], [ %j2, %next ]",
        f"  %jw = mul i64 %j, {W}",
        "  br label %lane",
        "lane:",
        "  %l = phi i64 [ 0, %single ], [ %l2, %lane ]",
        "  %s = add i64 %jw, %l",
        f"  %a = getelementptr {R}, ptr %from, i64 %s",
        f"  %y = load {R}, ptr %a, align {size}",
        "  %r = add i64 %row, %l",
        "  %m = mul i64 %r, %stride",
        "  %p = getelementptr i8, ptr %base, i64 %m",
        f"  %q = getelementptr {R}, ptr %p, i64 %j",
        f"  store {R} %y, ptr %q, align {size}",
        "  %l2 = add i64 %l, 1",
        f"  %inside = icmp ult i64 %l2, {W}",
        "  %wanted = icmp slt i64 %l2, %rows",
        "  %on = and i1 %inside, %wanted",
        "  br i1 %on, label %lane, label %next",
        "next:",
        "  %j2 = add i64 %j, 1",
        "  %more = icmp ult i64 %j2, %n",
        "  br i1 %more, label %single, label %end",
        "end:",
        "  ret void",
        "}",
    ]
    return lines


def take(block: Vector) -> list[str]:
    """@take(from, count, to, alarm): copy numbers, as many at a time as a block has, with the alarm of `gather`."""
    V, T, R, size = block.width, block.type, block.real, block.real_size
    I, one = block.of(f"i{8 * size}"), Vector(1, R)
    return [
        f"define internal {I} @take(ptr %from, i64 %n, ptr %to, {I} %alarm) #0 {{",
        f"  %full = and i64 %n, {-V}",
        "  %some = icmp ne i64 %full, 0",
        "  br i1 %some, label %blocks, label %rest",
        "blocks:",
        "  %k = phi i64 [ 0, %0 ], [ %k2, %blocks ]",
        f"  %u = phi {I} [ %alarm, %0 ], [ %u2, %blocks ]",
        f"  %p = getelementptr {R}, ptr %from, i64 %k",
        f"  %x = load {T}, ptr %p, align {size}",
        f"  %q = getelementptr {R}, ptr %to, i64 %k",
        f"  store {T} %x, ptr %q, align {size}",
        *alarm_lines(block, "%x", "%u", "%u2"),
        f"  %k2 = add i64 %k, {V}",
        "  %again = icmp ult i64 %k2, %full",
        "  br i1 %again, label %blocks, label %rest",
        "rest:",
        f"  %v = phi {I} [ %alarm, %0 ], [ %u2, %blocks ]",
        f"  %v0 = extractelement {I} %v, i32 0",
        "  %left = icmp ult i64 %full, %n",
        "  br i1 %left, label %single, label %end",
        "single:",
        "  %j = phi i64 [ %full, %rest ], [ %j2, %single ]",
        f"  %a = phi i{8 * size} [ %v0, %rest ], [ %a2, %single ]",
        f"  %e = getelementptr {R}, ptr %from, i64 %j",
        f"  %y = load {R}, ptr %e, align {size}",
        f"  %f = getelementptr {R}, ptr %to, i64 %j",
        f"  store {R} %y, ptr %f, align {size}",
        *alarm_lines(one, "%y", "%a", "%a2"),
        "  %j2 = add i64 %j, 1",
        "  %more = icmp ult i64 %j2, %n",
        "  br i1 %more, label %single, label %end",
        "end:",
        f"  %tail = phi i{8 * size} [ %v0, %rest ], [ %a2, %single ]",
        f"  %result = insertelement {I} %v, i{8 * size} %tail, i32 0",
        f"  ret {I} %result",
        "}",
    ]


def give(block: Vector) -> list[str]:
    """@give(to, count, from): copy numbers, as many at a time as a block has."""
    V, T, R, size = block.width, block.type, block.real, block.real_size
    return [
        "define internal void @give(ptr %to, i64 %n, ptr %from) #0 {",
        f"  %full = and i64 %n, {-V}",
        "  %some = icmp ne i64 %full, 0",
        "  br i1 %some, label %blocks, label %rest",
        "blocks:",
        "  %k = phi i64 [ 0, %0 ], [ %k2, %blocks ]",
        f"  %p = getelementptr {R}, ptr %from, i64 %k",
        f"  %x = load {T}, ptr %p, align {size}",
        f"  %q = getelementptr {R}, ptr %to, i64 %k",
        f"  store {T} %x, ptr %q, align {size}",
        f"  %k2 = add i64 %k, {V}",
        "  %again = icmp ult i64 %k2, %full",
        "  br i1 %again, label %blocks, label %rest",
        "rest:",
        "  %left = icmp ult i64 %full, %n",
        "  br i1 %left, label %single, label %end",
        "single:",
        "  %j = phi i64 [ %full, %rest ], [ %j2, %single ]",
        f"  %e = getelementptr {R}, ptr %from, i64 %j",
        f"  %y = load {R}, ptr %e, align {size}",
        f"  %f = getelementptr {R}, ptr %to, i64 %j",
        f"  store {R} %y, ptr %f, align {size}",
        "  %j2 = add i64 %j, 1",
        "  %more = icmp ult i64 %j2, %n",
        "  br i1 %more, label %single, label %end",
        "end:",
        "  ret void",
        "}",
    ]
