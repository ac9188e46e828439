"""The two ways to a kernel: from a traced function, or from a recipe that need not be traced when cached."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from kinloop.compiler import cache, keys
from kinloop.compiler.core import Core
from kinloop.compiler.kernel import Kernel, Recipe, new_kernel
from kinloop.compiler.run.host import host
from kinloop.compiler.signature import Signature
from kinloop.errors import MethodError
from kinloop.progress import working
from kinloop.scalar import Function

DTYPES = ("float64", "float32")


def compile_function(
    function: Function,
    *,
    name: str = "kernel",
    dtype: str = "float64",
    recipe: Recipe | None = None,
    cache: bool = True,
) -> Kernel:
    """A kernel that computes what `function` computes.

    `recipe` is `(callable, args)` such that `callable(*args)` makes the kernel again: what it pickles as.
    Machine code is made at the first call and kept on disk unless `cache` is False.
    """
    dtype = _dtype(dtype)
    host()
    key = f"graph {keys.function_digest(function)}" if cache else None
    core = Core(_signature(function, name, dtype), function.operations, lambda: function, key, {})
    return new_kernel(core, recipe)


def load_or_compile(
    key_parts: Any,
    make: Callable[[], Function],
    *,
    name: str = "kernel",
    dtype: str = "float64",
    recipe: Recipe | None = None,
    cache: bool = True,
    sources: tuple[str, ...] = (),
) -> Kernel:
    """The kernel that `key_parts` describe; `make()` traces it only if the cache does not have it.

    `key_parts` holds everything the trace depends on (nested tuples, lists, dicts, arrays, numbers,
    strings, bytes, None), `sources` names the files and folders of kinloop whose functions it runs; the
    compiler's own sources, the machine and the versions are added here.
    """
    dtype = _dtype(dtype)
    key = f"recipe {keys.parts_digest(key_parts)} {keys.source_digest(sources)}" if cache else None
    found = _find(key, dtype) if key else {}
    if found:
        with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
            metadata = next(iter(found.values()))[0]
            outputs = {k: tuple(v) for k, v in metadata["outputs"]}
            signature = Signature(name, dict(metadata["inputs"]), outputs, dtype)
            return new_kernel(Core(signature, dict(metadata["operations"]), make, key, found), recipe)
    with working(f"tracing {name}"):
        function = make()
    core = Core(_signature(function, name, dtype), function.operations, lambda: function, key, {})
    return new_kernel(core, recipe)


def _find(key: str, dtype: str) -> dict[int, tuple[Mapping[str, Any], bytes]]:
    """The first variant of a kernel that is on disk; it carries the signature of all."""
    target = host()
    for lanes in (1, target.lanes(dtype)):
        entry = cache.load(keys.variant_key(key, target, dtype, lanes))
        if entry is not None:
            return {lanes: entry}
    return {}


def _dtype(dtype: Any) -> str:
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    if name not in DTYPES:
        raise MethodError(f"dtype {name!r} is not one of {', '.join(map(repr, DTYPES))}")
    return name


def _signature(function: Function, name: str, dtype: str) -> Signature:
    outputs = {k: tuple(v.shape) for k, v in function.outputs.items()}
    return Signature(str(name), dict(function.inputs), outputs, dtype)
