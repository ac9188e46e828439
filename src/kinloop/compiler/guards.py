"""Guarded builtins: ready arrays, at once where nothing is doubtful, by another callable where something is.

Their machine code (`emit/guarded_call.py`) is the same for all kernels, compiled once and kept on disk like them.
"""

from __future__ import annotations

import ctypes
import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.compiler.abi import BLOCK, CACHE_LINE, OTHER, SPARE, SPARES, THREADED, WORDS, Word
from kinloop.compiler.common import kept_library
from kinloop.compiler.run.arguments import data_address
from kinloop.compiler.run.builtin import make_builtin
from kinloop.compiler.run.host import host
from kinloop.compiler.run.library import Library
from kinloop.compiler.run.spare_results import RESULTS
from kinloop.compiler.run.threads import SINGLE_THREAD_WORK, run_chunks, threads_for
from kinloop.compiler.run.variant import Variant
from kinloop.compiler.signature import Signature


class Code(NamedTuple):
    """What goes in and out of a kernel, and its machine code; None where inputs are looked at and nothing computed."""

    signature: Signature
    variant: Variant | None


class Guard(NamedTuple):
    """What a guarded builtin looks at; see `kinloop.compiler.Kernel.guarded`."""

    limits: Sequence[float]
    judge: Code | None = None
    judged: int = 0
    shapes: Sequence[tuple[int, ...]] = ()
    hidden: Sequence[float] = ()
    as_row: bool = False


def guarded(code: Code, guard: Guard, other: Callable[..., Any], work: int = 0) -> Callable[..., Any]:
    """A guarded builtin for one state, or for rows if the `work` of one is given (operations).

    Its memory is its own: a call holds the interpreter lock from its beginning to its end.
    """
    lead = (0,) if work else (1,) if guard.as_row else ()
    shapes = [np.array((*lead, *shape), dtype=np.intp) for shape in code.signature.outputs.values()]
    shown = len(shapes) - len(guard.hidden)
    places = shapes if work else [*shapes[:shown], *(np.empty(n) for n in code.signature.output_sizes[shown:])]
    lists: list[int] = []
    vectors = [(n,) for n in code.signature.inputs.values()]
    for shape, limit in zip(guard.shapes or vectors, guard.limits, strict=True):
        lists += [math.prod(shape), _bits(limit), len(shape), shape[0], shape[-1]]
    limits = [0.0] * shown + [*guard.hidden]
    for n, limit, axes, place in zip(code.signature.output_sizes, limits, shapes, places, strict=True):
        lists += [n, _bits(limit), len(axes), data_address(place)]
    words = np.zeros(Word.LISTS + len(lists), dtype=np.int64)
    words[Word.LISTS :] = lists
    words[Word.INPUTS], words[Word.OUTPUTS] = len(code.signature.inputs), len(shapes)
    words[Word.SHOWN], words[Word.MOST] = shown, SINGLE_THREAD_WORK // work if work else 0
    size = _address(words, code.variant, guard)
    memory = np.empty(size, dtype=np.uint8)
    words[Word.MEMORY] = _begin(memory)
    threaded = _Threaded(code, guard, other, words, size, work) if work else other
    held = {OTHER: other, THREADED: threaded, WORDS: words, SPARE: [None] * (SPARES * shown)}
    kept = (code, guard, places, memory)  # as long as the builtin
    return make_builtin(_library().address("guarded"), (*(held[k] for k in sorted(held)), kept))


def _bits(x: float) -> int:
    return int(np.float64(x).view(np.int64))


def _address(words: np.ndarray, variant: Variant | None, guard: Guard) -> int:
    """Write down where the code of the kernel and of its judge is, and lay out their memory; its size in bytes."""
    end = CACHE_LINE
    if variant is not None:
        words[Word.KERNEL] = variant.library.address("batch")
        end += _lines(variant.scratch_bytes)
    if guard.judge is not None:
        judge, (shape,) = guard.judge.variant, guard.judge.signature.outputs.values()
        assert judge is not None
        words[Word.JUDGE], words[Word.JUDGED] = judge.library.address("batch"), guard.judged
        words[Word.JUDGE_SCRATCH], words[Word.JUDGE_STRIDE] = end - CACHE_LINE, 8 * math.prod(shape)
        words[Word.JUDGE_OUTPUT] = end - CACHE_LINE + _lines(judge.scratch_bytes)
        end += _lines(judge.scratch_bytes) + 8 * math.prod(shape) * BLOCK
    return end


def _lines(size: int) -> int:
    """So many bytes in whole cache lines."""
    return -(-size // CACHE_LINE) * CACHE_LINE


def _begin(memory: np.ndarray) -> int:
    """The first address on a cache line."""
    return data_address(memory) + (-data_address(memory)) % CACHE_LINE


class _Threaded:
    """Rows that are worth several threads, in the arrays that a guarded builtin found ready."""

    def __init__(
        self, code: Code, guard: Guard, other: Callable[..., Any], words: np.ndarray, size: int, work: int
    ) -> None:
        self._code, self._other, self._words, self._size, self._work = code, other, words, size, work
        self._axes = [len(shape) for shape in guard.shapes] or [1] * len(code.signature.inputs)
        self._shown = len(code.signature.outputs) - len(guard.hidden)
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        self._rows = _library().function("rows", number, number, number, pointer, pointer, pointer)
        self._local = threading.local()

    def __call__(self, *given: Any) -> Any:
        inputs = list(zip(given, self._axes, strict=True))
        rows = max(len(x) for x, axes in inputs if x.ndim > axes)
        signature = self._code.signature
        outputs = [RESULTS.array((rows, *shape), signature.real) for shape in signature.outputs.values()]
        entries = [y for x, axes in inputs for y in (data_address(x), x.nbytes // rows if x.ndim > axes else 0)]
        entries += [y for x in outputs for y in (data_address(x), x.nbytes // rows)]
        table, words = (ctypes.c_int64 * len(entries))(*entries), data_address(self._words)
        lanes = self._code.variant.lanes if self._code.variant else 1
        doubtful = run_chunks(
            lambda a, b: self._rows(a, b, words, table, self._memory()),
            rows,
            lanes,
            threads_for(None, rows * self._work),
        )
        if doubtful >= 0:
            return self._other(*given)
        return outputs[0] if self._shown == 1 else tuple(outputs[: self._shown]) or None

    def _memory(self) -> int:
        """The address of this thread's memory."""
        own = self._local
        if not hasattr(own, "address"):
            own.memory = np.empty(self._size, dtype=np.uint8)
            own.address = _begin(own.memory)
        address: int = own.address
        return address


@functools.cache
def _library() -> Library:
    """The machine code of all guarded builtins: from disk, or compiled."""
    target = host()

    def text() -> str:
        from kinloop.compiler.emit.guarded_call import guard_text  # here, since it is needed once on a machine

        return guard_text(target.lanes("float64"), target.fma)

    return kept_library("guarded", target, "float64", text)
