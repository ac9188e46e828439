"""Kernels as C or as object code for another machine: one with an example, or many with one header.

Nothing that is written allocates memory: what a kernel needs while it runs lies on the stack.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from kinloop.compiler.build import Build
from kinloop.compiler.export.c99 import source_text
from kinloop.compiler.export.c_interface import function_name, header_text, identifiers, main_text
from kinloop.compiler.kernel import Kernel
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.run.host import other_machine
from kinloop.compiler.signature import Signature
from kinloop.errors import MethodError


def export_library(
    kernels: Mapping[str, Kernel], folder: str | Path, name: str = "kinloop", target: str | None = None,
    cpu: str = "generic",
) -> list[Path]:  # fmt: skip
    """Write kernels under names of choice into `folder`, with one header `<name>.h`; the paths, the header first.

    They are C99 sources, or with a `target` object code for that machine (see `Kernel.export_object`).
    """
    for key, kernel in kernels.items():
        if not isinstance(kernel, Kernel):
            raise MethodError(f"{key!r} is {type(kernel).__name__}, not a kernel; give kernels of a compiled robot")
    words = identifiers(kernels, "kl_")
    functions = dict(zip(words, kernels.values(), strict=True))
    (header,) = identifiers([name])
    signatures = {word: _signature(kernel) for word, kernel in functions.items()}
    written = {f"{header}.h": header_text(header, signatures).encode("ascii")}
    for word, kernel in functions.items():
        file, code = _code(kernel, word, header, target, cpu)
        written[file] = code
    return _write(written, folder)


def export_one(kernel: Kernel, folder: str | Path, target: str | None = None, cpu: str = "generic") -> list[Path]:
    """Write a kernel into `folder`, its own header and an example `main.c`; the paths."""
    word, signature = function_name(kernel.name), _signature(kernel)
    file, code = _code(kernel, word, word, target, cpu)
    texts = {f"{word}.h": header_text(word, {word: signature}), "main.c": main_text(word, signature)}
    return _write({file: code} | {name: text.encode("ascii") for name, text in texts.items()}, folder)


def _signature(kernel: Kernel) -> Signature:
    inputs = {name: n for name, (n,) in kernel.inputs.items()}
    return Signature(kernel.name, inputs, kernel.outputs, str(kernel.dtype))


def _code(kernel: Kernel, function: str, header: str, target: str | None, cpu: str) -> tuple[str, bytes]:
    """The name and content of the file that computes a kernel."""
    signature = _signature(kernel)
    if target is None:
        plan = make_plan(kernel.function, fuse=False, large=math.inf)
        return f"{function}.c", source_text(function, header, signature, plan).encode("ascii")
    build = Build(kernel.function, kernel.operations, signature, other_machine(target, cpu))
    return f"{function}.o", build.library_code(function)


def _write(contents: Mapping[str, bytes], folder: str | Path) -> list[Path]:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]
