"""A CPython builtin made at run time: ready arrays go to machine code at the cost of a C extension.

Its function (METH_FASTCALL | METH_KEYWORDS) is emitted beside the kernel (`emit/builtin_wrapper.py`) and reads the
fields of each ndarray itself. Whatever it does not expect it hands to `self`, another callable, with the
same arguments.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop.compiler.abi import (
    ALIGNED,
    BASE,
    C_CONTIGUOUS,
    DATA,
    DESCR,
    DIMENSIONS,
    FLAGS,
    NDIM,
    OWNDATA,
    REFERENCES,
    TYPE,
    TYPE_NUMBER,
    WEAK,
    WRITEABLE,
)
from kinloop.compiler.run.host import array_constructor

_METH_FASTCALL_KEYWORDS = 0x80 | 0x02


@functools.cache
def usable() -> bool:
    """Whether ndarrays in this process lie in memory as the builtin expects; probed once, not assumed."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if object.__basicsize__ != 16 or np.ndarray.__basicsize__ < WEAK + 8:
        return False
    probe = np.arange(6.0).reshape(2, 3).copy()
    probe.flags.writeable = False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or _field(probe, TYPE) != id(np.ndarray):
        return False
    shape = _field(probe, DIMENSIONS)
    fields = _field(probe, DATA) == probe.ctypes.data and _field(probe, NDIM, ctypes.c_int) == 2
    if not fields or _field(probe, DESCR) != id(np.dtype("float64")):
        return False
    flags = _field(probe, FLAGS, ctypes.c_int) & (C_CONTIGUOUS | OWNDATA | ALIGNED | WRITEABLE)
    right = flags == C_CONTIGUOUS | OWNDATA | ALIGNED and list((ctypes.c_ssize_t * 2).from_address(shape)) == [2, 3]
    return right and _tells_who_has_it(probe) and _can_allocate()


def _field(array: np.ndarray, offset: int, kind: Any = ctypes.c_void_p) -> int:
    """What lies at an offset in an array object."""
    return kind.from_address(id(array) + offset).value or 0


def _tells_who_has_it(probe: np.ndarray) -> bool:
    """Whether references, the array that a view looks at, and weak references are where they are expected."""
    view = probe[:]
    if _field(view, BASE) != id(probe) or _field(view, WEAK) or _field(probe, WEAK):
        return False
    counted, weak = _field(view, REFERENCES, ctypes.c_int32), weakref.ref(view)
    again = [view, view]
    more = _field(view, REFERENCES, ctypes.c_int32) - counted
    return more == len(again) and _field(view, WEAK) == id(weak)


def _can_allocate() -> bool:
    """Whether PyArray_New is where NumPy's ABI puts it."""
    address, number, pointer = array_constructor(), ctypes.c_int, ctypes.c_void_p
    if not address:
        return False
    types = (pointer, number, pointer, number, pointer, pointer, number, number, pointer)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *types)(address)
    made = new(id(np.ndarray), 2, (ctypes.c_ssize_t * 2)(2, 3), TYPE_NUMBER["float64"], None, None, 0, 0, None)
    return type(made) is np.ndarray and made.shape == (2, 3) and made.dtype == np.float64


def abi() -> str:
    """What object code with a builtin depends on besides the CPU."""
    numpy = np.__version__.split(".")[0]
    flags = getattr(sys, "abiflags", "")
    return f"{sys.implementation.cache_tag} {flags} numpy {numpy} pointers {ctypes.sizeof(ctypes.c_void_p)}"


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_void_p),
    ]


def _forever(data: bytes) -> int:
    """The address of a copy that is never freed."""
    allocate = ctypes.pythonapi.PyMem_RawMalloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    address: int | None = allocate(len(data))
    if not address:
        raise MemoryError
    ctypes.memmove(address, data, len(data))
    return address


@functools.cache
def _words() -> tuple[int, int]:
    """The addresses of the name and the docstring that all builtins share."""
    return _forever(b"kernel\0"), _forever(b"A compiled kernel.\0")


def make_builtin(address: int, slow: object) -> Callable[..., Any]:
    """A builtin whose C function is at `address` and gets `slow`, to whom it hands what it does not expect, as `self`.

    A builtin looks into its definition even as it is freed, and the garbage collector frees what hangs together
    in any order: definitions (32 bytes) stay for good.
    """
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    name, doc = _words()
    made: Callable[..., Any] = new(_forever(bytes(_MethodDef(name, address, _METH_FASTCALL_KEYWORDS, doc))), slow, None)
    return made
