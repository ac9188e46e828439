"""What a user may hand to a kernel, checked and brought into the form that machine code reads."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop.compiler.run.spare_results import RESULTS
from kinloop.compiler.signature import Signature
from kinloop.errors import KinloopError, NonFiniteInput, ShapeError
from kinloop.foreign_arrays import read_array, shared_array


@dataclass(frozen=True)
class Call:
    """One call: contiguous inputs with their row strides in bytes, outputs to write, outputs to hand back."""

    batch: tuple[int, ...]
    rows: int
    inputs: tuple[np.ndarray, ...]
    strides: tuple[int, ...]
    outputs: tuple[np.ndarray, ...]
    results: tuple[np.ndarray, ...]

    def finish(self) -> Any:
        """Copy to the arrays that could not be written in place; one array, or a tuple of them."""
        for made, wanted in zip(self.outputs, self.results, strict=True):
            if made is not wanted:
                np.copyto(wanted, made)
        return self.results[0] if len(self.results) == 1 else self.results


def read_call(signature: Signature, args: tuple[Any, ...], out: Any) -> Call:
    """Check arguments and lay them out; raises naming the argument, what is expected and what came."""
    n_in, n_out = len(signature.inputs), len(signature.outputs)
    if len(args) not in (n_in, n_in + n_out) or (len(args) > n_in and out is not None):
        raise TypeError(
            f"kernel {signature} takes {n_in} inputs ({', '.join(signature.inputs)}), then either all "
            f"{n_out} outputs or out=; received {len(args)} arguments{' and out=' if out is not None else ''}"
        )
    inputs = [_input(signature, k, n, x) for (k, n), x in zip(signature.inputs.items(), args)]
    batch = _batch_shape(signature, inputs)
    rows = math.prod(batch)
    laid_out = [_rows(x, batch) for x in inputs]
    wanted = args[n_in:] if len(args) > n_in else _outputs(signature, out)
    if len(args) > n_in and any(x is None for x in wanted):
        raise ShapeError(f"kernel {signature} was given None for an output; give an array, or leave out all outputs")
    results = tuple(_output(signature, k, batch, x) for k, x in zip(signature.outputs, wanted, strict=True))
    arrays = tuple(x for x, _ in laid_out)
    outputs = tuple(_writable(x, arrays) for x in results)
    return Call(batch, rows, arrays, tuple(s for _, s in laid_out), outputs, results)


def _input(signature: Signature, name: str, n: int, x: Any) -> np.ndarray:
    if type(x) is np.ndarray and x.dtype is signature.real and x.ndim and x.shape[-1] == n:
        return x  # the usual case, in little time
    try:
        array = read_array(name, x)
    except (TypeError, ValueError) as error:
        if isinstance(error, KinloopError):
            raise
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fiub":
        received = f"dtype {array.dtype}" if isinstance(x, np.ndarray) else f"{type(x).__name__} {str(x)[:40]!r}"
        raise ShapeError(
            f"input {name!r} of kernel {signature} must be real numbers of shape (..., {n}), received {received}"
        )
    if array.ndim < 1 or array.shape[-1] != n:
        raise ShapeError(f"input {name!r} of kernel {signature} must have shape (..., {n}), received {array.shape}")
    with np.errstate(over="ignore"):
        return array.astype(signature.dtype, copy=False)


def _batch_shape(signature: Signature, inputs: list[np.ndarray]) -> tuple[int, ...]:
    shapes = {x.shape[:-1] for x in inputs} - {()}
    if len(shapes) < 2:
        return shapes.pop() if shapes else ()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        received = ", ".join(f"{k} {x.shape}" for k, x in zip(signature.inputs, inputs))
        raise ShapeError(
            f"the leading axes of the inputs of kernel {signature} do not broadcast: {received}; "
            "give each input one row, or the same number of rows"
        ) from None


def _rows(x: np.ndarray, batch: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """`x` as rows in memory, and the bytes from one to the next: 0 for a row that serves the whole batch."""
    lead = x.shape[:-1]
    if all(n == 1 for n in lead):
        return np.require(x.reshape(x.shape[-1]), requirements=["C", "A"]), 0
    if lead == batch:
        # Rows of a wider array (a slice of columns) are read in place.
        if x.ndim == 2 and x.shape[1] and x.strides[1] == x.itemsize and x.flags.aligned:
            return x, x.strides[0]
        return np.require(x, requirements=["C", "A"]), x.shape[-1] * x.itemsize
    full = np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1])))
    return full, x.shape[-1] * x.itemsize


def _outputs(signature: Signature, out: Any) -> Sequence[Any]:
    count = len(signature.outputs)
    if out is None:
        return (None,) * count
    given = out if isinstance(out, tuple | list) else (out,)
    if len(given) != count:
        raise TypeError(
            f"out= of kernel {signature} must be "
            + ("one array" if count == 1 else f"a tuple of {count} arrays ({', '.join(signature.outputs)})")
            + f", received {len(given)}"
        )
    return given


def _output(signature: Signature, name: str, batch: tuple[int, ...], x: Any) -> np.ndarray:
    shape = (*batch, *signature.outputs[name])
    if x is None:
        return RESULTS.array(shape, signature.real)
    expected = f"a writeable {signature.dtype} array of shape {shape}"
    given, x = x, x if isinstance(x, np.ndarray) else shared_array(name, x)
    if x is None:
        raise ShapeError(f"output {name!r} of kernel {signature} must be {expected}, received {type(given).__name__}")
    if x.shape != shape or x.dtype != signature.dtype or not x.flags.writeable:
        lock = "" if x.flags.writeable else ", read-only"
        raise ShapeError(
            f"output {name!r} of kernel {signature} must be {expected}, received {x.dtype} {x.shape}{lock}"
        )
    return x


def _writable(x: np.ndarray, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
    """`x` itself if machine code can write it row by row, else an array of its own to be copied from."""
    flags = x.flags
    if flags.c_contiguous and flags.aligned and x.dtype.isnative and not any(np.may_share_memory(x, y) for y in inputs):
        return x
    return np.empty(x.shape, dtype=x.dtype.newbyteorder("="))


def non_finite(signature: Signature, call: Call, row: int) -> NonFiniteInput:
    """The error for the first row with an input that is not finite."""
    place = tuple(int(i) for i in np.unravel_index(row, call.batch)) if len(call.batch) > 1 else row
    where = f" in row {place}" if call.batch else ""
    for name, x in zip(signature.inputs, call.inputs):
        values = x if x.ndim == 1 else x.reshape(-1, x.shape[-1])[row]
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            return NonFiniteInput(
                f"input {name!r} of kernel {signature} is {values[bad[0]]} at index {bad[0]}{where}; "
                "give finite numbers, or on_nonfinite='nan' to get nan for such rows"
            )
    return NonFiniteInput(f"an input of kernel {signature} is not finite{where}; give finite numbers")


_buffer: Any = ctypes.c_char.from_buffer  # of an array too, which NumPy's types do not say


def data_address(x: np.ndarray) -> int:
    """Where an array's numbers begin."""
    if x.size and x.flags.carray:  # four times as fast
        return ctypes.addressof(_buffer(x))
    address: int = x.__array_interface__["data"][0]
    return address
