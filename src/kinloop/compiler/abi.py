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
    "Py_DecRef", "PyMem_RawMalloc", "PyMem_RawFree", "PyTuple_Size", "PyEval_SaveThread", "PyEval_RestoreThread",
    "PyList_GetItem", "PyList_SetItem",
)  # fmt: skip

REFERENCES, TYPE, DATA, NDIM, DIMENSIONS, BASE, DESCR, FLAGS, WEAK = 0, 8, 16, 24, 32, 48, 56, 64, 72
"""Offsets in a PyArrayObject."""
C_CONTIGUOUS, OWNDATA, ALIGNED, WRITEABLE = 0x1, 0x4, 0x100, 0x400  # bits of its flags
TYPE_NUMBER = {"float64": 12, "float32": 11}  # NumPy's numbers of the dtypes


class Word(enum.IntEnum):
    """Words of 8 bytes that a guarded builtin reads, by their places.

    A kernel and its judge are addresses of their machine code for rows, 0 for none. `MEMORY` is the address of what
    both write besides results: the kernel's scratch array, and at two offsets the judge's and what the judge found,
    `JUDGE_STRIDE` bytes a row. `MOST` are the rows that are left to one thread, 0 for a builtin of one state. `SHOWN`
    outputs are handed over. Then come the lists: size, limit, number of axes, first and last axis of every input;
    size, limit, number of axes and address of the shape of every output, or for one state, of outputs that are not
    handed over, the address of where they are written.
    """

    KERNEL, MEMORY, INPUTS, OUTPUTS, SHOWN, MOST = 0, 1, 2, 3, 4, 5
    JUDGE, JUDGED, JUDGE_SCRATCH, JUDGE_OUTPUT, JUDGE_STRIDE = 6, 7, 8, 9, 10
    LISTS = 11


INPUT_WORDS, OUTPUT_WORDS = 5, 4
BLOCK = 16
OTHER, THREADED, WORDS, SPARE = 0, 1, 2, 3
"""Places of two callables, of the words and of the list of spare arrays in the `self` of a guarded builtin."""

SPARES = 2
"""Arrays that a guarded builtin for one state keeps of every output: a program that takes the next result while it has
the last one in hand leaves one of two free."""


class Frame(enum.IntEnum):
    """XLA's call frame of foreign functions, version 0.3 (xla/ffi/api/c_api.h): offsets in bytes, then values.

    EXTENSION to RESULTS lie in the frame, EXTENSION_TYPE and METADATA_PLACE in an extension, *_PLACE and TRAITS in
    the metadata that it points to, TYPE to SIZES in a buffer, VERSION to SCHEDULE in the interface that API points to.
    `kinloop.learn.xla_frames` looks at a true frame before any of these is relied on.
    """

    EXTENSION, API, CONTEXT, STAGE = 8, 16, 24, 32
    ARGUMENT_COUNT, ARGUMENTS, RESULT_COUNT, RESULTS = 56, 72, 96, 112
    EXTENSION_TYPE, METADATA_PLACE = 8, 24
    MAJOR_PLACE, MINOR_PLACE, TRAITS = 24, 28, 32
    BUFFER_TYPE, BUFFER_DATA, RANK, SIZES = 16, 24, 32, 40
    VERSION_MAJOR, VERSION_MINOR, DESTROY, SCHEDULE = 32, 36, 64, 136
    METADATA, EXECUTE, MAJOR, MINOR = 1, 3, 0, 3


class Job(enum.IntEnum):
    """Rows that several threads share: offsets of what is counted, and of the table of arrays."""

    NEXT, DONE, USERS, ROWS, SHARE, TABLE = 0, 8, 16, 24, 32, 40


CACHE_LINE = 64  # bytes; every scratch array begins on one


def symbol(name: str) -> str:
    """The name by which emitted code refers to something outside it."""
    return f"kinloop_{name}"
