"""Kernels as handlers of XLA's foreign functions: machine code that JAX calls without Python."""

from __future__ import annotations

import math

from kinloop.compiler.core import Core
from kinloop.compiler.keys import parts_digest
from kinloop.compiler.run.compilation import compile_text
from kinloop.compiler.run.library import Library
from kinloop.compiler.run.threads import SINGLE_THREAD_WORK, allowed_threads
from kinloop.errors import MethodError

SHARE = 1_000_000
"""Operations that threads take from a batch at a time: about a quarter of a millisecond."""


class XlaHandler:
    """The C function of a handler, at `address`, as long as this object lives.

    `name` is the same in every process for handlers that compute the same.
    """

    def __init__(self, name: str, library: Library, kept: object) -> None:
        self.name, self.address = name, library.address("handler")
        self._kept = (library, kept)


def make_handler(core: Core, rows: bool, single: bool, judge: Core | None, judged: int) -> XlaHandler:
    """The handler of a kernel of double precision; see `Kernel.xla_handler`."""
    from kinloop.compiler.emit.xla_handler import BLOCK, Code, Handler, handler_text  # here, since few programs need it

    if core.signature.dtype != "float64":
        raise MethodError(f"a handler takes a kernel of float64, this one is of {core.signature.dtype}")
    lanes = core.lanes if rows else 1
    code, judging = core.variant(lanes), judge.variant(lanes) if judge else None
    found = math.prod(next(iter(judge.signature.outputs.values()))) if judge else 0
    handler = Handler(
        inputs=tuple(core.signature.inputs.values()),
        outputs=tuple(core.signature.output_sizes),
        kernel=Code(code.library.address("batch"), code.scratch_bytes),
        single=single,
        judge=Code(judging.library.address("batch"), judging.scratch_bytes) if judging else None,
        found=found,
        judged=judged,
        one=not rows,
        threads=allowed_threads() if rows else 1,
        share=-(-max(1, SHARE // core.work) // BLOCK) * BLOCK,
        least=SINGLE_THREAD_WORK // core.work + 1,
    )
    library = Library([compile_text(handler_text(handler), core.target)], core.target)
    keys = (core.key or f"unkept {id(core)}", judge.key if judge else None, judged, rows, single)
    name = f"kinloop_{core.signature.name}_{parts_digest(keys)[:32]}"
    return XlaHandler(name, library, (core, judge, code, judging))
