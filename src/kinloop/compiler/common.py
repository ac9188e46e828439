"""Machine code that many kernels call: compiled once on a machine, kept on disk, loaded once in a process."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable

from kinloop.compiler import cache, keys
from kinloop.compiler.abi import symbol
from kinloop.compiler.run.compilation import compile_text
from kinloop.compiler.run.host import bindings
from kinloop.compiler.run.library import Library
from kinloop.compiler.target import Target

FUNCTIONS = ("fill", "angles", "take", "give", "gather", "scatter")


def kept_library(name: str, target: Target, dtype: str, text: Callable[[], str]) -> Library:
    """A library of this name for a precision: from disk, or compiled from its text and kept there."""
    file = keys.variant_key(name, target, dtype, 1)
    entry = cache.load(file)
    if entry is not None:
        with contextlib.suppress(RuntimeError):
            return Library([entry[1]], target)
    code = compile_text(text(), target)
    cache.store(file, {"lanes": 1, "code": len(code)}, code)
    return Library([code], target)


def ending(target: Target, dtype: str) -> str:
    """The ending of the names of functions that kernels of a precision have in common: one for each code of them."""
    return f"{dtype}_{target.bits}{'_fma' * target.fma}{'_straight' * target.straight}"


_LINKING = threading.Lock()


def link_common(target: Target, dtype: str) -> Library:
    """Load what kernels of a precision have in common, before the first of them is loaded.

    Once in a process, whichever threads ask: kernels call it for as long as they live.
    """
    with _LINKING:
        return _linked(target, dtype)


@functools.cache
def _linked(target: Target, dtype: str) -> Library:
    def text() -> str:
        from kinloop.compiler.build import common_code  # here, since it is needed once on a machine

        return common_code(target, dtype)

    library, names = kept_library("common", target, dtype, text), ending(target, dtype)
    for name in FUNCTIONS:
        where = symbol(f"{name}_{names}")
        bindings().add_symbol(where, library.address(where))
    return library
