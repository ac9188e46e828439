"""Many steps in one native call: state outputs fed back to state inputs, as LLVM IR and as a Python call.

@iterate(start, stop, table, scratch, steps, every, more) takes W rows at a time through all steps before it
turns to the next rows, so that their state never leaves the scratch array. `table` holds base pointer and row
stride of every array as in @batch; `more` holds for every array how many bytes one step (for outputs: one
record) lies behind the last, 0 for none, then for every output the input slot it is fed back to, -1 for none.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinloop.compiler.emit.ir import Vector
from kinloop.compiler.emit.layout import Layout
from kinloop.compiler.run.arguments import data_address
from kinloop.compiler.run.threads import run_chunks, threads_for
from kinloop.errors import MethodError, NonFiniteInput, ShapeError

if TYPE_CHECKING:
    from kinloop.compiler.run.kernel import Core


def iterate_functions(layout: Layout, block: Vector) -> list[str]:
    """@iterate and the moves of single arrays it calls; @gather, @scatter, @take, @give, @run are there already."""
    lines: list[str] = []
    for k, n, slot in layout.given:
        lines += _move_in(layout.vector, block, k, n, slot)
    for k, n, slot in layout.wanted:
        lines += _move_out(layout.vector, k, n, slot)
    return lines + _copy(layout.vector) + _iterate(layout)


def _place(k: int) -> list[str]:
    return [
        f"  %bp = getelementptr i8, ptr %table, i64 {16 * k}",
        "  %start = load ptr, ptr %bp, align 8",
        "  %base = getelementptr i8, ptr %start, i64 %offset",
        f"  %sp = getelementptr i8, ptr %table, i64 {16 * k + 8}",
        "  %stride = load i64, ptr %sp, align 8",
    ]


def _move_in(vector: Vector, block: Vector, k: int, n: int, slot: int) -> list[str]:
    alarm = (vector if vector.width > 1 else block).of(f"i{8 * vector.real_size}")
    lines = [f"define internal void @in{k}(i64 %row, i64 %last, ptr %table, ptr %w, i64 %offset) #0 {{", *_place(k)]
    lines.append(f"  %to = getelementptr {vector.type}, ptr %w, i64 {slot}")
    if vector.width > 1:
        given = f"ptr %base, i64 %stride, i64 {n}, i64 %row, i64 %last, ptr %to, {alarm} zeroinitializer"
        lines.append(f"  %a = call {alarm} @gather({given})")
    else:
        lines += ["  %m = mul i64 %row, %stride", "  %p = getelementptr i8, ptr %base, i64 %m"]
        lines.append(f"  %a = call {alarm} @take(ptr %p, i64 {n}, ptr %to, {alarm} zeroinitializer)")
    return [*lines, "  ret void", "}"]


def _move_out(vector: Vector, k: int, n: int, slot: int) -> list[str]:
    lines = [f"define internal void @out{k}(i64 %row, i64 %rows, ptr %table, ptr %w, i64 %offset) #0 {{", *_place(k)]
    lines.append(f"  %from = getelementptr {vector.type}, ptr %w, i64 {slot}")
    if vector.width > 1:
        lines.append(f"  call void @scatter(ptr %base, i64 %stride, i64 {n}, i64 %row, i64 %rows, ptr %from)")
    else:
        lines += ["  %m = mul i64 %row, %stride", "  %p = getelementptr i8, ptr %base, i64 %m"]
        lines.append(f"  call void @give(ptr %p, i64 {n}, ptr %from)")
    return [*lines, "  ret void", "}"]


def _copy(vector: Vector) -> list[str]:
    """@feed(scratch, from slot, to slot, count)."""
    T, align = vector.type, min(vector.size, 64)
    return [
        "define internal void @feed(ptr %w, i64 %from, i64 %to, i64 %n) #0 {",
        "  %some = icmp ne i64 %n, 0",
        "  br i1 %some, label %loop, label %end",
        "loop:",
        "  %k = phi i64 [ 0, %0 ], [ %k2, %loop ]",
        "  %a = add i64 %from, %k",
        "  %b = add i64 %to, %k",
        f"  %p = getelementptr {T}, ptr %w, i64 %a",
        f"  %q = getelementptr {T}, ptr %w, i64 %b",
        f"  %x = load {T}, ptr %p, align {align}",
        f"  store {T} %x, ptr %q, align {align}",
        "  %k2 = add i64 %k, 1",
        "  %more = icmp ult i64 %k2, %n",
        "  br i1 %more, label %loop, label %end",
        "end:",
        "  ret void",
        "}",
    ]


def _when(name: str, test: str, call: str) -> list[str]:
    """`call` under a condition computed by `test`, which defines %{name}."""
    return [
        *test.splitlines(),
        f"  br i1 %{name}, label %do_{name}, label %skip_{name}",
        f"do_{name}:",
        *call.splitlines(),
        f"  br label %skip_{name}",
        f"skip_{name}:",
    ]


def _iterate(layout: Layout) -> list[str]:
    arrays, outputs = len(layout.arrays), layout.wanted
    lines = [
        "define void @iterate(i64 %start, i64 %stop, ptr %table, ptr %w, i64 %steps, i64 %every, ptr %more) #0 {",
        "  %last = sub i64 %stop, 1",
    ]
    for k in range(arrays + len(outputs)):
        lines += [f"  %mp{k} = getelementptr i64, ptr %more, i64 {k}", f"  %more{k} = load i64, ptr %mp{k}, align 8"]
    lines += [
        "  br label %rows",
        "rows:",
        "  %row = phi i64 [ %start, %0 ], [ %row2, %next ]",
        "  %left = sub i64 %stop, %row",
        "  %bad = call i64 @load_group(i64 %row, i64 %last, ptr %table, ptr %w)",
        "  br label %step",
        "step:",
        "  %t = phi i64 [ 0, %rows ], [ %t2, %fed ]",
    ]
    for k, _, _ in layout.given:
        test = f"  %s{k} = icmp ne i64 %more{k}, 0\n  %l{k} = icmp ne i64 %t, 0\n  %in{k} = and i1 %s{k}, %l{k}"
        call = f"  %o{k} = mul i64 %t, %more{k}\n  call void @in{k}(i64 %row, i64 %last, ptr %table, ptr %w, i64 %o{k})"
        lines += _when(f"in{k}", test, call)
    lines += [
        "  call void @run(ptr %w, i64 1)",
        "  %t2 = add i64 %t, 1",
        "  %over = urem i64 %t2, %every",
        "  %due = icmp eq i64 %over, 0",
        "  %round = udiv i64 %t2, %every",
        "  %record = sub i64 %round, 1",
    ]
    for k, _, _ in outputs:
        test = f"  %s{k} = icmp ne i64 %more{k}, 0\n  %rec{k} = and i1 %s{k}, %due"
        call = (
            f"  %o{k} = mul i64 %record, %more{k}\n"
            f"  call void @out{k}(i64 %row, i64 %left, ptr %table, ptr %w, i64 %o{k})"
        )
        lines += _when(f"rec{k}", test, call)
    for j, (k, n, slot) in enumerate(outputs):
        test = f"  %feed{k} = icmp sge i64 %more{arrays + j}, 0"
        lines += _when(f"feed{k}", test, f"  call void @feed(ptr %w, i64 {slot}, i64 %more{arrays + j}, i64 {n})")
    lines += [
        "  br label %fed",
        "fed:",
        "  %again = icmp slt i64 %t2, %steps",
        "  br i1 %again, label %step, label %final",
        "final:",
    ]
    for j, (k, _, _) in enumerate(outputs):
        test = f"  %last{k} = icmp sge i64 %more{arrays + j}, 0"
        call = f"  call void @out{k}(i64 %row, i64 %left, ptr %table, ptr %w, i64 0)"
        lines += _when(f"last{k}", test, call)
    return [
        *lines,
        "  br label %next",
        "next:",
        f"  %row2 = add i64 %row, {layout.lanes}",
        "  %rest = icmp slt i64 %row2, %stop",
        "  br i1 %rest, label %rows, label %end",
        "end:",
        "  ret void",
        "}",
    ]


def run_iterate(
    core: Core,
    inputs: Sequence[Any],
    steps: int,
    feedback: Mapping[str, str],
    stepped: Sequence[str],
    every: int,
    threads: int | None,
) -> dict[str, np.ndarray]:
    """Final values of fed-back outputs and records of the others, by name; see `Kernel.iterate`."""
    s = core.signature
    wiring = _wiring(core, inputs, steps, feedback, stepped, every)
    given = [np.asarray(x, dtype=wiring.dtype) for x in inputs]
    single, rows = _rows(s, given, steps, stepped)
    entries: list[int] = []
    more: list[int] = []
    keep = []
    for x, (name, n) in zip(given, s.inputs.items(), strict=True):
        x = np.ascontiguousarray(x)
        keep.append(x)
        entries += [data_address(x), x.nbytes // rows if x.ndim > 1 + (name in stepped) else 0]
        more.append(n * x.itemsize if name in stepped else 0)
    results: dict[str, np.ndarray] = {}
    for (name, shape), size in zip(s.outputs.items(), wiring.sizes, strict=True):
        fed = name in wiring.target
        y = results[name] = np.empty((rows, *shape) if fed else (rows, steps // every, *shape), dtype=wiring.dtype)
        entries += [data_address(y), y.nbytes // rows]
        more.append(0 if fed else size)
    _call(core, rows, entries, steps, every, [*more, *wiring.fed], threads)
    return {name: y[0] for name, y in results.items()} if single else results


class Wiring(NamedTuple):
    """What the names of a call come down to: output to input slot, bytes of each output, the slots in order."""

    dtype: np.dtype
    target: dict[str, int]
    sizes: list[int]
    fed: list[int]


def _wiring(
    core: Core, inputs: Sequence[Any], steps: int, feedback: Mapping[str, str], stepped: Sequence[str], every: int
) -> Wiring:
    """The wiring of a kernel, checked and worked out once for each feedback."""
    s = core.signature
    if len(inputs) != len(s.inputs):
        raise MethodError(f"iterate takes {len(s.inputs)} inputs ({', '.join(s.inputs)}), received {len(inputs)}")
    if steps < 1 or every < 1:
        raise MethodError(f"steps={steps!r} and every={every!r} must be whole numbers from 1 on")
    key = (tuple(feedback.items()), tuple(stepped))
    if key not in core.wirings:
        _check(s, feedback, stepped)
        dtype = np.dtype(s.dtype)
        slots = dict(zip(s.inputs, (slot for _, _, slot in core.layout(1).given), strict=True))
        target = {out: slots[inp] for inp, out in feedback.items()}
        sizes = [int(np.prod(shape, dtype=int)) * dtype.itemsize for shape in s.outputs.values()]
        core.wirings[key] = Wiring(dtype, target, sizes, [target.get(name, -1) for name in s.outputs])
    return core.wirings[key]


def _call(core: Core, rows: int, entries: list[int], steps: int, every: int, more: list[int], threads: Any) -> None:
    variant = core.variant(1 if rows == 1 else core.lanes)
    table = (ctypes.c_int64 * len(entries))(*entries)
    extra = (ctypes.c_int64 * len(more))(*more)

    def chunk(a: int, b: int) -> int:
        variant.iterate(a, b, table, variant._own_scratch(), steps, every, extra)
        return -1

    work = rows * steps * max(core.operations["total"], 1)
    run_chunks(chunk, rows, variant.lanes, threads_for(threads, work))


def _check(s: Any, feedback: Mapping[str, str], stepped: Sequence[str]) -> None:
    for inp, out in feedback.items():
        if inp not in s.inputs or out not in s.outputs:
            raise MethodError(f"feedback {inp!r}: {out!r} does not pair an input with an output of this kernel")
        if s.inputs[inp] != int(np.prod(s.outputs[out], dtype=int)):
            raise MethodError(f"feedback {inp!r}: {out!r} pairs {s.inputs[inp]} numbers with shape {s.outputs[out]}")
    for name in stepped:
        if name not in s.inputs or name in feedback:
            raise MethodError(f"stepped input {name!r} is not an input of this kernel, or is fed back")


def _rows(s: Any, given: list[np.ndarray], steps: int, stepped: Sequence[str]) -> tuple[bool, int]:
    """Whether all inputs are single, and the number of rows they agree on."""
    rows = None
    for x, (name, n) in zip(given, s.inputs.items(), strict=True):
        tail = (steps, n) if name in stepped else (n,)
        if x.shape[x.ndim - len(tail) :] != tail or x.ndim > len(tail) + 1:
            raise ShapeError(
                f"input {name!r} must have shape {tail} or (rows, {', '.join(map(str, tail))}), received {x.shape}"
            )
        if not np.isfinite(x).all():
            raise NonFiniteInput(f"input {name!r} holds nan or infinity; give finite numbers")
        if x.ndim > len(tail):
            if rows not in (None, x.shape[0]):
                raise ShapeError(f"input {name!r} has {x.shape[0]} rows where others have {rows}; give equal numbers")
            rows = x.shape[0]
    return rows is None, 1 if rows is None else rows
