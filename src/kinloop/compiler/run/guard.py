"""Guarded builtins: one state in ready arrays, at once where nothing is doubtful, by another callable where it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.compiler.abi import (
    CACHE_LINE,
    JUDGE,
    JUDGE_OUTPUTS,
    JUDGE_SCRATCH,
    JUDGE_TABLE,
    JUDGED,
    LIMITS,
)
from kinloop.compiler.run.arguments import data_address
from kinloop.compiler.run.builtin import make_builtin
from kinloop.compiler.run.variant import Variant


class Judge(NamedTuple):
    """Machine code of one input and one output for one state, the output's size, and how many of its numbers count."""

    variant: Variant
    size: int
    counted: int


def guarded(
    variant: Variant, limits: Sequence[float], judge: Judge | None, other: Callable[..., Any]
) -> Callable[..., Any]:
    """The guarded builtin of machine code for one state (`emit/guarded_call.py`).

    The judge's memory is the builtin's own: a call holds the interpreter lock from its beginning to its end.
    """
    words = np.zeros(LIMITS + len(limits), dtype=np.int64)
    words[LIMITS:] = np.array(limits, dtype=float).view(np.int64)
    kept: tuple[Any, ...] = ()
    if judge is not None:
        scratch = np.empty(judge.variant.scratch_bytes + CACHE_LINE, dtype=np.uint8)
        out = np.empty(judge.size)
        words[JUDGE] = judge.variant.library.address("batch")
        words[JUDGE_SCRATCH] = data_address(scratch) + (-data_address(scratch)) % CACHE_LINE
        words[JUDGED], words[JUDGE_OUTPUTS] = judge.counted, data_address(out)
        words[JUDGE_TABLE : JUDGE_TABLE + 4] = 0, 0, data_address(out), out.nbytes
        kept = (scratch, out, judge.variant)
    return make_builtin(variant.library.address("guarded"), (other, words, variant, *kept))
