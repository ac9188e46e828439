"""A CPython builtin made at run time: one state in ready arrays, at the cost of a C extension.

The function is emitted beside the kernel (METH_FASTCALL | METH_KEYWORDS) and reads the fields of each
ndarray itself. Whatever it does not expect (another type, dtype, shape or layout, a missing output,
keywords, numbers that are not finite) it hands to `self`, a Python callable, with the same arguments.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig
from typing import Any

import numpy as np

from kinloop.compiler.ir import Vector
from kinloop.compiler.layout import Layout

TYPE, DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 8, 16, 24, 32, 56, 64  # offsets in a PyArrayObject
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
_STACK_LIMIT = 1 << 16  # bytes of scratch kept on the stack of one call
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
    return flags == C_CONTIGUOUS | ALIGNED and list((ctypes.c_ssize_t * 2).from_address(shape)) == [2, 3]


def abi() -> str:
    """What object code with a builtin depends on besides the CPU."""
    numpy = np.__version__.split(".")[0]
    return f"{sys.implementation.cache_tag} {sys.abiflags} numpy {numpy} pointers {ctypes.sizeof(ctypes.c_void_p)}"


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
    """@call(self, args, nargs, kwnames): the kernel on one state; uses @take, @run and @give for one lane."""
    on_heap, inputs = size > _STACK_LIMIT, len(layout.inputs)
    room = f"call ptr @kinloop_PyMem_RawMalloc(i64 {size})" if on_heap else f"alloca [{size} x i8], align 64"
    free = ["  call void @kinloop_PyMem_RawFree(ptr %scratch)"] if on_heap else []
    lines = [
        *_declarations(layout.dtype),
        "define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #0 {",
        f"  %scratch = {room}",
        "  %memory = icmp ne ptr %scratch, null",
        f"  %all = icmp eq i64 %nargs, {inputs + len(layout.outputs)}",
        "  %plain = icmp eq ptr %kwnames, null",
        "  %whole = and i1 %all, %plain",
        "  %usual = and i1 %whole, %memory",
        "  br i1 %usual, label %arrays, label %slow, !prof !1",
        "arrays:",
    ]
    for k, n in enumerate(layout.inputs):
        lines += _check(k, (n,), layout.dtype, C_CONTIGUOUS | ALIGNED)
    for k, shape in enumerate(layout.outputs, inputs):
        lines += _check(k, shape, layout.dtype, C_CONTIGUOUS | ALIGNED | WRITEABLE)
    return [
        *lines,
        *_compute(layout, block),
        *free,
        *_result(inputs, len(layout.outputs)),
        "slow:",
        *free,
        "  %answer = call ptr @kinloop_PyObject_Vectorcall(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)",
        "  ret ptr %answer",
        "}",
        '!1 = !{!"branch_weights", i32 2000, i32 1}',
    ]


def _declarations(dtype: str) -> list[str]:
    return [
        *(f"@kinloop_{name} = external global i8" for name in ("ndarray", dtype)),
        "declare ptr @kinloop_PyObject_Vectorcall(ptr, ptr, i64, ptr)",
        "declare ptr @kinloop_PyTuple_Pack(i64, ...)",
        "declare void @kinloop_Py_IncRef(ptr)",
        "declare ptr @kinloop_PyMem_RawMalloc(i64)",
        "declare void @kinloop_PyMem_RawFree(ptr)",
    ]


def _compute(layout: Layout, block: Vector) -> list[str]:
    """Inputs in, all stages, outputs out; inputs that are not finite go the slow way, which says so."""
    I, state, lines = block.of(f"i{8 * block.real_size}"), "zeroinitializer", []
    for k, n, slot in layout.given:
        lines += [
            f"  %to{k} = getelementptr {block.real}, ptr %scratch, i64 {slot}",
            f"  %alarm{k} = call {I} @take(ptr %data{k}, i64 {n}, ptr %to{k}, {I} {state})",
        ]
        state = f"%alarm{k}"
    lines += [
        f"  %alarm = bitcast {I} {state} to {block.type}",
        f"  %nan = fcmp uno {block.type} %alarm, zeroinitializer",
        f"  %lanes = bitcast {block.of('i1')} %nan to i{block.width}",
        f"  %finite = icmp eq i{block.width} %lanes, 0",
        "  br i1 %finite, label %compute, label %slow, !prof !1",
        "compute:",
        "  call void @run(ptr %scratch, i64 1)",
    ]
    for k, n, slot in layout.wanted:
        lines += [
            f"  %from{k} = getelementptr {block.real}, ptr %scratch, i64 {slot}",
            f"  call void @give(ptr %data{k}, i64 {n}, ptr %from{k})",
        ]
    return lines


def _result(first: int, count: int) -> list[str]:
    """Lines that return the output array, or a tuple of them."""
    if count == 1:
        return [f"  call void @kinloop_Py_IncRef(ptr %a{first})", f"  ret ptr %a{first}"]
    arrays = "".join(f", ptr %a{first + k}" for k in range(count))
    return [f"  %pack = call ptr (i64, ...) @kinloop_PyTuple_Pack(i64 {count}{arrays})", "  ret ptr %pack"]


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
