"""Machine code of a kernel for one number of lanes, and the calls into it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from kinloop.compiler.abi import CACHE_LINE
from kinloop.compiler.run.arguments import Call, data_address
from kinloop.compiler.run.iteration import Iteration, Stepping
from kinloop.compiler.run.library import Library
from kinloop.compiler.run.threads import run_chunks
from kinloop.compiler.target import Target

First = Callable[[int, int], int]
"""What is done with rows a to b before their steps, by the thread that takes them; -1, or a row it cannot do."""


class Variant:
    """Machine code that computes `lanes` states side by side."""

    def __init__(self, code: bytes, metadata: Mapping[str, Any], target: Target) -> None:
        self.lanes, self.scratch_bytes = int(metadata["lanes"]), int(metadata["scratch"])
        ends = list(accumulate(map(int, metadata["code"])))
        if not ends or ends[-1] != len(code):
            raise ValueError("metadata of another kernel")
        self.library = Library([code[a:b] for a, b in pairwise([0, *ends])], target)
        self._local = threading.local()
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        self._batch = self.library.function("batch", number, number, number, pointer, pointer)
        shape = (number, number, pointer, pointer, number, number, pointer)
        self._iterate = self.library.function("iterate", None, *shape)

    def run(self, call: Call, threads: int) -> int:
        """Compute all rows; the first row with an input that is not finite, or -1."""
        return run_chunks(self.over(call), call.rows, self.lanes, threads)

    def over(self, call: Call) -> First:
        """What computes rows a to b of a call and answers as `run` does, in any thread."""
        rows = call.rows
        entries = [x for pair in zip(call.inputs, call.strides, strict=True) for x in (data_address(pair[0]), pair[1])]
        entries += [x for y in call.outputs for x in (data_address(y), y.nbytes // rows)]
        table = (ctypes.c_int64 * len(entries))(*entries)

        def chunk(a: int, b: int, kept: Call = call) -> int:  # the arrays of the call stay as long as this does
            row: int = self._batch(a, b, table, self._scratch())
            return row

        return chunk

    def iterate(self, iteration: Iteration, threads: int) -> None:
        """Take all rows through all steps."""
        table = (ctypes.c_int64 * len(iteration.table))(*iteration.table)
        more = (ctypes.c_int64 * len(iteration.more))(*iteration.more)
        self._steps(iteration.rows, table, more, iteration.steps, iteration.every, threads)

    def step(self, stepping: Stepping, steps: int, every: int, threads: int, first: First | None) -> int:
        """Take all rows through steps, on their own arrays; the first row that `first` cannot do, or -1."""
        return self._steps(stepping.rows, stepping.table, stepping.more, steps, every, threads, first)

    def _steps(
        self, rows: int, table: Any, more: Any, steps: int, every: int, threads: int, first: First | None = None
    ) -> int:
        def chunk(a: int, b: int) -> int:
            bad = -1 if first is None else first(a, b)
            if bad < 0:
                self._iterate(a, b, table, self._scratch(), steps, every, more)
            return bad

        return chunk(0, rows) if threads == 1 else run_chunks(chunk, rows, self.lanes, threads)

    def _scratch(self) -> int:
        """The address of this thread's scratch array, on a cache line."""
        own = self._local
        if "address" not in own.__dict__:
            own.memory = np.empty(self.scratch_bytes + CACHE_LINE, dtype=np.uint8)
            own.address = data_address(own.memory) + (-data_address(own.memory)) % CACHE_LINE
        address: int = own.address
        return address
