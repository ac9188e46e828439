"""A CPython builtin made at run time: one state in ready arrays, at the cost of a C extension.

The function is emitted beside the kernel (METH_FASTCALL | METH_KEYWORDS) and reads the fields of each
ndarray itself; without outputs it makes them. Whatever else it does not expect (another type, dtype, shape
or layout, keywords, numbers that are not finite) it hands to `self`, a Python callable, with the same arguments.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig
from typing import Any

import numpy as np

from kinloop.compiler.host import array_constructor
from kinloop.compiler.ir import Vector
from kinloop.compiler.layout import Layout

TYPE, DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 8, 16, 24, 32, 56, 64  # offsets in a PyArrayObject
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
OUTPUT = C_CONTIGUOUS | ALIGNED | WRITEABLE
_STACK_LIMIT = 1 << 16  # bytes of scratch kept on the stack of one call
_TYPE_NUMBER = {"float64": 12, "float32": 11}
_METH_FASTCALL_KEYWORDS = 0x80 | 0x02


@functools.cache
def usable() -> bool:
    """Whether ndarrays in this process lie in memory as the builtin expects; probed, not assumed."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if object.__basicsize__ != 16 or np.ndarray.__basicsize__ < FLAGS + 4:
        return False
    probe = np.arange(6.0).reshape(2, 3)
    probe.flags.writeable = False
    at, word = id(probe), ctypes.sizeof(ctypes.c_void_p)

    def read(offset: int, kind: Any) -> int:
        return kind.from_address(at + offset).value or 0

    if word != 8 or read(TYPE, ctypes.c_void_p) != id(np.ndarray):
        return False
    shape = read(DIMENSIONS, ctypes.c_void_p)
    fields = read(DATA, ctypes.c_void_p) == probe.ctypes.data and read(NDIM, ctypes.c_int) == 2
    if not fields or read(DESCR, ctypes.c_void_p) != id(np.dtype("float64")):
        return False
    flags = read(FLAGS, ctypes.c_int) & (C_CONTIGUOUS | ALIGNED | WRITEABLE)
    right = flags == C_CONTIGUOUS | ALIGNED and list((ctypes.c_ssize_t * 2).from_address(shape)) == [2, 3]
    return right and _can_allocate()


def _can_allocate() -> bool:
    """Whether PyArray_New is where NumPy's ABI puts it."""
    address, number, pointer = array_constructor(), ctypes.c_int, ctypes.c_void_p
    if not address:
        return False
    types = (pointer, number, pointer, number, pointer, pointer, number, number, pointer)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *types)(address)
    made = new(id(np.ndarray), 2, (ctypes.c_ssize_t * 2)(2, 3), _TYPE_NUMBER["float64"], None, None, 0, 0, None)
    return type(made) is np.ndarray and made.shape == (2, 3) and made.dtype == np.float64


def abi() -> str:
    """What object code with a builtin depends on besides the CPU."""
    numpy = np.__version__.split(".")[0]
    flags = getattr(sys, "abiflags", "")
    return f"{sys.implementation.cache_tag} {flags} numpy {numpy} pointers {ctypes.sizeof(ctypes.c_void_p)}"


def _check(k: int, shape: tuple[int, ...], dtype: str, flags: int) -> list[str]:
    """Lines that leave for %slow unless argument `k` is an array of this shape and dtype; its data in %data."""
    lines = [
        f"  %ap{k} = getelementptr ptr, ptr %args, i64 {k}",
        f"  %a{k} = load ptr, ptr %ap{k}, align 8",
    ]
    checks = 0

    def demand(condition: str) -> None:
        nonlocal checks
        name = f"%ok{k}_{checks}"
        lines.append(f"  {name} = {condition}")
        lines.append(f"  br i1 {name}, label %go{k}_{checks}, label %slow, !prof !1")
        lines.append(f"go{k}_{checks}:")
        checks += 1

    def field(name: str, offset: int, kind: str, of: str) -> str:
        lines.append(f"  %{name}p{k} = getelementptr i8, ptr {of}, i64 {offset}")
        lines.append(f"  %{name}{k} = load {kind}, ptr %{name}p{k}")
        return f"%{name}{k}"

    demand(f"icmp eq ptr {field('type', TYPE, 'ptr', f'%a{k}')}, @kinloop_ndarray")
    demand(f"icmp eq ptr {field('descr', DESCR, 'ptr', f'%a{k}')}, @kinloop_{dtype}")
    demand(f"icmp eq i32 {field('ndim', NDIM, 'i32', f'%a{k}')}, {len(shape)}")
    value = field("flags", FLAGS, "i32", f"%a{k}")
    lines.append(f"  %masked{k} = and i32 {value}, {flags}")
    demand(f"icmp eq i32 %masked{k}, {flags}")
    if shape:
        dims = field("dims", DIMENSIONS, "ptr", f"%a{k}")
        for axis, n in enumerate(shape):
            demand(f"icmp eq i64 {field(f'dim{axis}_', 8 * axis, 'i64', dims)}, {n}")
    field("data", DATA, "ptr", f"%a{k}")
    return lines


def builtin_function(layout: Layout, block: Vector, size: int) -> list[str]:
    """@call(self, args, nargs, kwnames): the kernel on one state; uses @take, @run and @give for one lane.

    Inputs are checked and copied first; then outputs are checked, or allocated if none were given.
    """
    on_heap, n_in, n_out = size > _STACK_LIMIT, len(layout.inputs), len(layout.outputs)
    room = f"call ptr @kinloop_PyMem_RawMalloc(i64 {size})" if on_heap else f"alloca [{size} x i8], align 64"
    free = ["  call void @kinloop_PyMem_RawFree(ptr %scratch)"] if on_heap else []
    lines = [
        *_declarations(layout),
        "define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #0 {",
        f"  %scratch = {room}",
        "  %memory = icmp ne ptr %scratch, null",
        f"  %full = icmp eq i64 %nargs, {n_in + n_out}",
        f"  %short = icmp eq i64 %nargs, {n_in}",
        "  %count = or i1 %full, %short",
        "  %plain = icmp eq ptr %kwnames, null",
        "  %whole = and i1 %count, %plain",
        "  %usual = and i1 %whole, %memory",
        "  br i1 %usual, label %arrays, label %slow, !prof !1",
        "arrays:",
    ]
    for k, n in enumerate(layout.inputs):
        lines += _check(k, (n,), layout.dtype, C_CONTIGUOUS | ALIGNED)
    return [
        *lines,
        *_read_inputs(layout, block),
        "  br i1 %full, label %given, label %new",
        "given:",
        *[x for k, shape in enumerate(layout.outputs, n_in) for x in _check(k, shape, layout.dtype, OUTPUT)],
        "  br label %checked",
        "checked:",
        "  br label %compute",
        *_allocate(layout, free),
        *_compute(layout, block),
        *free,
        *_result(range(n_in, n_in + n_out)),
        "slow:",
        *free,
        "  %answer = call ptr @kinloop_PyObject_Vectorcall(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)",
        "  ret ptr %answer",
        "}",
        '!1 = !{!"branch_weights", i32 2000, i32 1}',
    ]


def _declarations(layout: Layout) -> list[str]:
    shapes = []
    for k, shape in enumerate(layout.outputs, len(layout.inputs)):
        sizes = ", ".join(f"i64 {n}" for n in shape)
        value = f"[{sizes}]" if shape else "zeroinitializer"
        shapes.append(f"@shape{k} = private constant [{len(shape)} x i64] {value}")
    return [
        *shapes,
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


def _allocate(layout: Layout, free: list[str]) -> list[str]:
    """New output arrays; without memory for one, the others are given back and NumPy's error is passed on."""
    lines, failures, first = ["new:"], [], len(layout.inputs)
    for k, shape in enumerate(layout.outputs, first):
        kind = f"i32 {_TYPE_NUMBER[layout.dtype]}, ptr null, ptr null, i32 0, i32 0, ptr null"
        lines += [
            f"  %n{k} = call ptr @kinloop_PyArray_New(ptr @kinloop_ndarray, i32 {len(shape)}, ptr @shape{k}, {kind})",
            f"  %made{k} = icmp ne ptr %n{k}, null",
            f"  br i1 %made{k}, label %room{k}, label %none{k}, !prof !1",
            f"room{k}:",
            f"  %np{k} = getelementptr i8, ptr %n{k}, i64 {DATA}",
            f"  %nd{k} = load ptr, ptr %np{k}",
        ]
        failures += [
            f"none{k}:",
            *[f"  call void @kinloop_Py_DecRef(ptr %n{j})" for j in range(first, k)],
            *free,
            "  ret ptr null",
        ]
    return [*lines, "  br label %allocated", "allocated:", "  br label %compute", *failures]


def _compute(layout: Layout, block: Vector) -> list[str]:
    """All stages, then the outputs from their slots to their arrays."""
    lines = ["compute:"]
    for k, _, _ in layout.wanted:
        lines += [
            f"  %o{k} = phi ptr [ %a{k}, %checked ], [ %n{k}, %allocated ]",
            f"  %od{k} = phi ptr [ %data{k}, %checked ], [ %nd{k}, %allocated ]",
        ]
    lines.append("  call void @run(ptr %scratch, i64 1)")
    for k, n, slot in layout.wanted:
        lines += [
            f"  %from{k} = getelementptr {block.real}, ptr %scratch, i64 {slot}",
            f"  call void @give(ptr %od{k}, i64 {n}, ptr %from{k})",
        ]
    return lines


def _result(outputs: range) -> list[str]:
    """Lines that return the output array, or a tuple of them; a new array has its one reference already."""
    if len(outputs) == 1:
        out = f"%o{outputs[0]}"
        hold = [f"  call void @kinloop_Py_IncRef(ptr {out})"]
        return [
            "  br i1 %full, label %hold, label %done",
            "hold:",
            *hold,
            "  br label %done",
            "done:",
            f"  ret ptr {out}",
        ]
    arrays = "".join(f", ptr %o{k}" for k in outputs)
    return [
        f"  %pack = call ptr (i64, ...) @kinloop_PyTuple_Pack(i64 {len(outputs)}{arrays})",
        "  br i1 %full, label %done, label %drop",
        "drop:",
        *[f"  call void @kinloop_Py_DecRef(ptr %o{k})" for k in outputs],
        "  br label %done",
        "done:",
        "  ret ptr %pack",
    ]


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def make_builtin(address: int, slow: Any) -> tuple[Any, Any]:
    """The builtin at `address`, with `slow` behind it, and the definition that must live as long."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    definition = _MethodDef(b"kernel", address, _METH_FASTCALL_KEYWORDS, b"A compiled kernel.")
    return new(ctypes.addressof(definition), slow, None), definition
