"""What emitted code and the process it runs in agree on.

Emitted code refers to everything outside it by a name that begins with `kinloop_`, and to the fields of an
ndarray by their offsets. The names are bound to addresses in `run/host.py`, the offsets are probed in
`run/builtin.py`.
"""

from __future__ import annotations

import enum

LIBM = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log")
PYTHON = (
    "PyObject_Vectorcall", "PyTuple_New", "PyTuple_Pack", "PyTuple_GetItem", "PyTuple_SetItem", "Py_IncRef",
    "Py_DecRef", "PyMem_RawMalloc", "PyMem_RawFree",
)  # fmt: skip

TYPE, DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 8, 16, 24, 32, 56, 64  # offsets in a PyArrayObject
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # bits of its flags
TYPE_NUMBER = {"float64": 12, "float32": 11}  # NumPy's numbers of the dtypes


class Word(enum.IntEnum):
    """Words of 8 bytes that a guarded builtin reads, by their places.

    A kernel and its judge are the address of their machine code for rows and of a scratch array; the judge's table
    has its input and its output. Then come the lists: size and limit of every input; size, number of axes and address
    of the shape of every output.
    """

    KERNEL, SCRATCH, INPUTS, OUTPUTS = 0, 1, 2, 3
    JUDGE, JUDGE_SCRATCH, JUDGED, JUDGE_OUTPUT, JUDGE_TABLE = 4, 5, 6, 7, 8
    LISTS = 12


INPUT_WORDS, OUTPUT_WORDS = 2, 3

CACHE_LINE = 64  # bytes; every scratch array begins on one


def symbol(name: str) -> str:
    """The name by which emitted code refers to something outside it."""
    return f"kinloop_{name}"
