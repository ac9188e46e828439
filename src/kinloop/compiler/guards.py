"""Guarded builtins: one state in ready arrays, at once where nothing is doubtful, by another callable where it is.

Their machine code (`emit/guarded_call.py`) is one function for all kernels, compiled once and kept on disk like them.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinloop.compiler import cache, keys
from kinloop.compiler.abi import CACHE_LINE, Word
from kinloop.compiler.run.arguments import data_address
from kinloop.compiler.run.builtin import make_builtin
from kinloop.compiler.run.host import host
from kinloop.compiler.run.library import Library, compile_text
from kinloop.compiler.run.variant import Variant
from kinloop.compiler.signature import Signature

Code = tuple[Signature, Variant]
"""A kernel's machine code for one state, and what goes in and out of it."""


def guarded(
    code: Code, limits: Sequence[float], judge: Code | None, judged: int, other: Callable[..., Any]
) -> Callable[..., Any]:
    """A guarded builtin; see `kinloop.compiler.Kernel.guarded`.

    The scratch arrays are its own: a call holds the interpreter lock from its beginning to its end.
    """
    signature, variant = code
    scratch, shapes = _scratch(variant), [np.array(shape, dtype=np.intp) for shape in signature.outputs.values()]
    lists: list[int] = []
    for n, limit in zip(signature.inputs.values(), limits, strict=True):
        lists += [n, int(np.float64(limit).view(np.int64))]
    for shape in shapes:
        lists += [math.prod(shape), len(shape), data_address(shape)]
    words = np.zeros(Word.LISTS + len(lists), dtype=np.int64)
    words[Word.LISTS :] = lists
    words[Word.KERNEL], words[Word.SCRATCH] = variant.library.address("batch"), _begin(scratch)
    words[Word.INPUTS], words[Word.OUTPUTS] = len(signature.inputs), len(shapes)
    kept: list[Any] = [variant, scratch, shapes]
    if judge is not None:
        (shape,) = judge[0].outputs.values()
        own, out = _scratch(judge[1]), np.empty(shape)
        words[Word.JUDGE], words[Word.JUDGE_SCRATCH] = judge[1].library.address("batch"), _begin(own)
        words[Word.JUDGED], words[Word.JUDGE_OUTPUT] = judged, data_address(out)
        words[Word.JUDGE_TABLE : Word.LISTS] = 0, 0, data_address(out), 0
        kept += [judge[1], own, out]
    return make_builtin(_library().address("guarded"), (other, words, kept))


def _scratch(variant: Variant) -> np.ndarray:
    return np.empty(variant.scratch_bytes + CACHE_LINE, dtype=np.uint8)


def _begin(scratch: np.ndarray) -> int:
    """The first address on a cache line."""
    return data_address(scratch) + (-data_address(scratch)) % CACHE_LINE


@functools.cache
def _library() -> Library:
    """The machine code of all guarded builtins: from disk, or compiled."""
    target = host()
    file = keys.variant_key("guarded", target, "float64", 1)
    entry = cache.load(file)
    if entry is not None:
        with contextlib.suppress(RuntimeError):
            return Library(entry[1], target)
    from kinloop.compiler.emit.guarded_call import guard_text  # here, since it is needed once on a machine

    code = compile_text(guard_text(target.lanes("float64"), target.fma), target)
    cache.store(file, {"lanes": 1, "code": len(code)}, code)
    return Library(code, target)
