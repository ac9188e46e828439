"""The functions behind a kernel's builtins, as LLVM IR.

`one_state` takes a state in ready arrays; `small_batch` takes rows, as long as one thread is enough for
them. Both check type, dtype, shape and layout of every argument, and make the outputs if none are given.
What they do not expect, numbers that are not finite included, goes to `self` with the same arguments.
"""

from __future__ import annotations

from kinloop.compiler.emit.checks import INPUT, OUTPUT, Check
from kinloop.compiler.emit.ir import Vector
from kinloop.compiler.emit.layout import Layout
from kinloop.compiler.run.builtin import DATA, TYPE_NUMBER

_STACK_LIMIT = 1 << 16  # bytes of scratch kept on the stack of one call


def one_state(layout: Layout, block: Vector, size: int) -> list[str]:
    """@call on one state; uses @take, @run and @give for one lane. `size` is the scratch in bytes."""
    n_in = len(layout.inputs)
    lines, free = _begin(layout, size)
    for k, n in enumerate(layout.inputs):
        lines += Check(k, layout.dtype, INPUT).shape(n)
    lines += [*_read_inputs(layout, block), "  br i1 %full, label %given, label %new", "given:"]
    for k, shape in enumerate(layout.outputs, n_in):
        lines += Check(k, layout.dtype, OUTPUT).shape(*shape)
    lines += ["  br label %checked", "checked:", "  br label %compute", *_allocate(layout, free, None)]
    lines += [*_outputs(layout), "  call void @run(ptr %scratch, i64 1)"]
    for k, n, slot in layout.wanted:
        lines += [
            f"  %from{k} = getelementptr {block.real}, ptr %scratch, i64 {slot}",
            f"  call void @give(ptr %od{k}, i64 {n}, ptr %from{k})",
        ]
    return [*lines, *_end(layout, free)]


def small_batch(layout: Layout, size: int, most: int) -> list[str]:
    """@call on at most `most` rows, with inputs of one row for all of them; uses @batch."""
    n_in, count = len(layout.inputs), len(layout.inputs) + len(layout.outputs)
    lines, free = _begin(layout, size)
    rows = "-1"
    for k, n in enumerate(layout.inputs):
        lines += _rows_of_input(layout, k, n, rows)
        rows = f"%rows{k}"
    lines += [
        f"  %few = icmp ule i64 {rows}, {most}",  # unsigned: -1, no input has rows, is not few
        f"  %many = icmp ne i64 {rows}, 0",
        "  %fits = and i1 %few, %many",
        "  br i1 %fits, label %outputs, label %slow, !prof !1",
        "outputs:",
        "  br i1 %full, label %given, label %new",
        "given:",
    ]
    for k, shape in enumerate(layout.outputs, n_in):
        check = Check(k, layout.dtype, OUTPUT)
        check.shape(rows, *shape)
        lines += [*check.lines, *_apart(layout, k, rows)]
    lines += ["  br label %checked", "checked:", "  br label %compute", *_allocate(layout, free, rows)]
    lines += _outputs(layout)
    for k, n, _ in layout.arrays:
        stride = f"%stride{k}" if k < n_in else f"{n * layout.vector.real_size}"
        data = f"%data{k}" if k < n_in else f"%od{k}"
        lines += [
            f"  %tp{k} = getelementptr i8, ptr %table, i64 {16 * k}",
            f"  store ptr {data}, ptr %tp{k}, align 8",
            f"  %ts{k} = getelementptr i8, ptr %table, i64 {16 * k + 8}",
            f"  store i64 {stride}, ptr %ts{k}, align 8",
        ]
    lines += [
        f"  %bad = call i64 @batch(i64 0, i64 {rows}, ptr %table, ptr %scratch)",
        "  %clean = icmp slt i64 %bad, 0",
        "  br i1 %clean, label %good, label %spoilt, !prof !1",
        "spoilt:",
        "  br i1 %full, label %slow, label %undo",
        "undo:",
        *[f"  call void @kinloop_Py_DecRef(ptr %o{k})" for k in range(n_in, count)],
        "  br label %slow",
        "good:",
    ]
    return [*lines, *_end(layout, free)]


def _rows_of_input(layout: Layout, k: int, n: int, before: str) -> list[str]:
    """Check an input (rows, n) or (n,): its row stride, and the rows of all inputs so far (-1: none yet)."""
    check = Check(k, layout.dtype, INPUT)
    check.lines.append(f"  %less{k} = sub i32 {check.ndim}, 1")
    check.demand(*check.always, f"icmp ule i32 %less{k}, 1")
    check.lines += [
        f"  %axis{k} = zext i32 %less{k} to i64",
        f"  %lastp{k} = getelementptr i64, ptr {check.dims}, i64 %axis{k}",
        f"  %last{k} = load i64, ptr %lastp{k}",
    ]
    first = check.field("first", 0, "i64", check.dims)
    check.lines += [
        f"  %flat{k} = icmp eq i32 %less{k}, 0",
        f"  %stride{k} = select i1 %flat{k}, i64 0, i64 {n * layout.vector.real_size}",
        f"  %own{k} = select i1 %flat{k}, i64 {before}, i64 {first}",
        f"  %open{k} = icmp eq i64 {before}, -1",
        f"  %rows{k} = select i1 %open{k}, i64 %own{k}, i64 {before}",
    ]
    check.demand(f"icmp eq i64 %last{k}, {n}", f"icmp eq i64 %own{k}, %rows{k}")
    return check.lines


def _apart(layout: Layout, k: int, rows: str) -> list[str]:
    """Leave for %slow if output `k` shares memory with an input: rows are written while others are still read."""
    sizes = {j: n * layout.vector.real_size for j, n, _ in layout.arrays}
    lines = [f"  %bytes{k} = mul i64 {rows}, {sizes[k]}", f"  %end{k} = getelementptr i8, ptr %data{k}, i64 %bytes{k}"]
    for j in range(len(layout.inputs)):
        lines += [
            f"  %length{k}_{j} = mul i64 {rows}, %stride{j}",
            f"  %more{k}_{j} = add i64 %length{k}_{j}, {sizes[j]}",  # one row too many, if there are rows: harmless
            f"  %end{k}_{j} = getelementptr i8, ptr %data{j}, i64 %more{k}_{j}",
            f"  %left{k}_{j} = icmp ule ptr %end{k}, %data{j}",
            f"  %right{k}_{j} = icmp ule ptr %end{k}_{j}, %data{k}",
            f"  %apart{k}_{j} = or i1 %left{k}_{j}, %right{k}_{j}",
            f"  br i1 %apart{k}_{j}, label %clear{k}_{j}, label %slow, !prof !1",
            f"clear{k}_{j}:",
        ]
    return lines


def _begin(layout: Layout, size: int) -> tuple[list[str], list[str]]:
    """Declarations, scratch memory and the count of arguments; and the lines that free the memory."""
    n_in, n_out = len(layout.inputs), len(layout.outputs)
    if size > _STACK_LIMIT:
        room = [
            f"  %memory = call ptr @kinloop_PyMem_RawMalloc(i64 {size + 64})",
            "  %number = ptrtoint ptr %memory to i64",
            "  %raised = add i64 %number, 63",
            "  %line = and i64 %raised, -64",
            "  %scratch = inttoptr i64 %line to ptr",
        ]
        free = ["  call void @kinloop_PyMem_RawFree(ptr %memory)"]
    else:
        room = [f"  %memory = alloca [{size} x i8], align 64", "  %scratch = bitcast ptr %memory to ptr"]
        free = []
    lines = [
        *_declarations(layout),
        "define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #0 {",
        *room,
        f"  %table = alloca [{16 * (n_in + n_out)} x i8], align 8",
        f"  %shape = alloca [{max([len(s) for s in layout.outputs], default=0) + 1} x i64], align 8",
        "  %held = icmp ne ptr %memory, null",
        f"  %full = icmp eq i64 %nargs, {n_in + n_out}",
        f"  %short = icmp eq i64 %nargs, {n_in}",
        "  %count = or i1 %full, %short",
        "  %plain = icmp eq ptr %kwnames, null",
        "  %whole = and i1 %count, %plain",
        "  %usual = and i1 %whole, %held",
        "  br i1 %usual, label %arrays, label %slow, !prof !1",
        "arrays:",
    ]
    return lines, free


def _declarations(layout: Layout) -> list[str]:
    return [
        *(f"@kinloop_{name} = external global i8" for name in ("ndarray", layout.dtype)),
        "declare ptr @kinloop_PyObject_Vectorcall(ptr, ptr, i64, ptr)",
        "declare ptr @kinloop_PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
        "declare ptr @kinloop_PyTuple_Pack(i64, ...)",
        "declare void @kinloop_Py_IncRef(ptr)",
        "declare void @kinloop_Py_DecRef(ptr)",
        "declare ptr @kinloop_PyMem_RawMalloc(i64)",
        "declare void @kinloop_PyMem_RawFree(ptr)",
    ]


def _read_inputs(layout: Layout, block: Vector) -> list[str]:
    """Inputs into their slots; if one is not finite, leave for the slow way, which says so."""
    I, state, lines = block.of(f"i{8 * block.real_size}"), "zeroinitializer", []
    for k, n, slot in layout.given:
        lines += [
            f"  %to{k} = getelementptr {block.real}, ptr %scratch, i64 {slot}",
            f"  %alarm{k} = call {I} @take(ptr %data{k}, i64 {n}, ptr %to{k}, {I} {state})",
        ]
        state = f"%alarm{k}"
    return [
        *lines,
        f"  %alarm = bitcast {I} {state} to {block.type}",
        f"  %nan = fcmp uno {block.type} %alarm, zeroinitializer",
        f"  %lanes = bitcast {block.of('i1')} %nan to i{block.width}",
        f"  %finite = icmp eq i{block.width} %lanes, 0",
        "  br i1 %finite, label %outputs, label %slow, !prof !1",
        "outputs:",
    ]


def _allocate(layout: Layout, free: list[str], rows: str | None) -> list[str]:
    """New output arrays; without memory for one, the others are given back and NumPy's error is passed on."""
    lines, failures, first = ["new:"], [], len(layout.inputs)
    for k, shape in enumerate(layout.outputs, first):
        sizes = [*([rows] if rows else []), *shape]
        for axis, n in enumerate(sizes):
            lines.append(f"  %sp{k}_{axis} = getelementptr i64, ptr %shape, i64 {axis}")
            lines.append(f"  store i64 {n}, ptr %sp{k}_{axis}, align 8")
        kind = f"i32 {TYPE_NUMBER[layout.dtype]}, ptr null, ptr null, i32 0, i32 0, ptr null"
        lines += [
            f"  %n{k} = call ptr @kinloop_PyArray_New(ptr @kinloop_ndarray, i32 {len(sizes)}, ptr %shape, {kind})",
            f"  %made{k} = icmp ne ptr %n{k}, null",
            f"  br i1 %made{k}, label %room{k}, label %none{k}, !prof !1",
            f"room{k}:",
            f"  %np{k} = getelementptr i8, ptr %n{k}, i64 {DATA}",
            f"  %nd{k} = load ptr, ptr %np{k}",
        ]
        drop = [f"  call void @kinloop_Py_DecRef(ptr %n{j})" for j in range(first, k)]
        failures += [f"none{k}:", *drop, *free, "  ret ptr null"]
    return [*lines, "  br label %allocated", "allocated:", "  br label %compute", *failures]


def _outputs(layout: Layout) -> list[str]:
    """The output arrays and their data, given or new."""
    lines = ["compute:"]
    for k, _, _ in layout.wanted:
        lines += [
            f"  %o{k} = phi ptr [ %a{k}, %checked ], [ %n{k}, %allocated ]",
            f"  %od{k} = phi ptr [ %data{k}, %checked ], [ %nd{k}, %allocated ]",
        ]
    return lines


def _end(layout: Layout, free: list[str]) -> list[str]:
    """Return the output array, or a tuple of them (a new array has its one reference already); the slow way."""
    outputs = [f"%o{k}" for k, _, _ in layout.wanted]
    if len(outputs) == 1:
        result, kept, lost = outputs[0], "IncRef", ("hold", "done")
        pack = []
    else:
        result, kept, lost = "%pack", "DecRef", ("done", "hold")
        arrays = "".join(f", ptr {x}" for x in outputs)
        pack = [f"  %pack = call ptr (i64, ...) @kinloop_PyTuple_Pack(i64 {len(outputs)}{arrays})"]
    return [
        *pack,
        *free,
        f"  br i1 %full, label %{lost[0]}, label %{lost[1]}",
        "hold:",
        *[f"  call void @kinloop_Py_{kept}(ptr {x})" for x in outputs],
        "  br label %done",
        "done:",
        f"  ret ptr {result}",
        "slow:",
        *free,
        "  %answer = call ptr @kinloop_PyObject_Vectorcall(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)",
        "  ret ptr %answer",
        "}",
        '!1 = !{!"branch_weights", i32 2000, i32 1}',
    ]
