"""What emitted code and the process it runs in agree on.

Emitted code refers to everything outside it by a name that begins with `kinloop_`, and to the fields of an
ndarray by their offsets. The names are bound to addresses in `run/host.py`, the offsets are probed in
`run/builtin.py`.
"""

from __future__ import annotations

LIBM = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log")
PYTHON = (
    "PyObject_Vectorcall", "PyTuple_Pack", "PyTuple_GetItem", "Py_IncRef", "Py_DecRef", "PyMem_RawMalloc",
    "PyMem_RawFree",
)  # fmt: skip

TYPE, DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 8, 16, 24, 32, 56, 64  # offsets in a PyArrayObject
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # bits of its flags
TYPE_NUMBER = {"float64": 12, "float32": 11}  # NumPy's numbers of the dtypes

# Words of 8 bytes that a guarded builtin reads: where the judge's machine code and its scratch array are, how many of
# its outputs count and where they are, its table of arrays (an input, an output), then the limit of every input.
JUDGE, JUDGE_SCRATCH, JUDGED, JUDGE_OUTPUTS, JUDGE_TABLE, LIMITS = 0, 1, 2, 3, 4, 8

CACHE_LINE = 64  # bytes; every scratch array begins on one


def symbol(name: str) -> str:
    """The name by which emitted code refers to something outside it."""
    return f"kinloop_{name}"
