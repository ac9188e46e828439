"""Functions that all kernels have in common: what they are called and take.

The machine code of these, of one precision, is a module of its own, compiled once on a machine, since a small kernel
would otherwise be little else. Where a layout has no `common` ending, in code for another machine, they are written
beside the kernel's own functions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.kernel_layout import Layout

_ROWS = ("ptr %base", "i64 %stride", "i64 %n")  # of an array of n columns


def _signatures(layout: Layout) -> dict[str, tuple[str, ...]]:
    """What each function returns, and its parameters."""
    I = layout.register.bits
    out: dict[str, tuple[str, ...]] = {
        "fill": ("void", *_ROWS, "i64 %row"),
        "angles": ("void", "ptr %at", "ptr %sin", "ptr %cos", "i64 %blocks"),
    }
    if layout.lanes == 1:
        out["take"] = (I, "ptr %from", "i64 %n", "ptr %to", f"{I} %alarm")
        out["give"] = ("void", "ptr %to", "i64 %n", "ptr %from")
    else:
        out["gather"] = (I, *_ROWS, "i64 %row", "i64 %last", "ptr %to", f"{I} %alarm")
        out["scatter"] = ("void", *_ROWS, "i64 %row", "i64 %rows", "ptr %places", "ptr %same", "ptr %scratch")
    return out


@contextlib.contextmanager
def define(module: Module, layout: Layout, name: str) -> Iterator[Writer]:
    """Define one of them; what the writer writes is its body."""
    result, *parameters = _signatures(layout)[name]
    with module.function(result, layout.function(name), *parameters, public=bool(layout.common)) as w:
        yield w


def declare_common(module: Module, layout: Layout) -> None:
    """Declare those that lie in another module."""
    for name, (result, *parameters) in _signatures(layout).items():
        module.declare(result, layout.function(name), *parameters)
