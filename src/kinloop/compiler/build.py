"""From a traced function to object code: plan, LLVM IR, machine code, and what has to be known to call it.

Only kernels that are not in the cache need this module and the planner and emitter behind it, so `core` imports
it when it meets the first of them: a program whose kernels are all in the cache starts 10 ms sooner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinloop.compiler.common import ending
from kinloop.compiler.emit.kernel_layout import Layout, scratch_bytes
from kinloop.compiler.emit.kernel_module import common_text, library_text, module_text
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.plan.stage_types import Move, Plan, Series
from kinloop.compiler.run import builtin
from kinloop.compiler.run.compilation import Compilation
from kinloop.compiler.run.threads import SINGLE_THREAD_WORK
from kinloop.compiler.signature import Signature
from kinloop.compiler.target import Target
from kinloop.scalar import Function
from kinloop.scalar.tracing import kept_objects

MODULE_END = "; another module\n"


class Build:
    """A function and its plans for a target, one for a single state, one for lanes; its code for either."""

    def __init__(self, function: Function, operations: dict[str, int], signature: Signature, target: Target) -> None:
        self._operations, self._signature, self._target = operations, signature, target
        self._function = function
        self._plans: dict[bool, Plan] = {}

    def _plan(self, lanes: int) -> Plan:
        one = lanes == 1
        if one not in self._plans:
            self._plans[one] = make_plan(self._function, self._target.fma, one=one)
        return self._plans[one]

    def _layout(self, lanes: int, common: str) -> Layout:
        s = self._signature
        sizes, shapes = tuple(s.inputs.values()), tuple(s.outputs.values())
        together = any(isinstance(stage, Series | Move) for stage in self._plan(lanes).stages)
        target = self._target
        return Layout(sizes, shapes, s.dtype, lanes, target.lanes(s.dtype), together, target.straight, common)

    def text(self, lanes: int) -> str:
        """LLVM IR of the code for `lanes` states side by side, module after module."""
        texts: list[str] = []
        self._write(lanes, texts.append)
        return MODULE_END.join(texts)

    def _write(self, lanes: int, send: Callable[[str], None]) -> None:
        rows = SINGLE_THREAD_WORK // max(self._operations["total"], 1) if builtin.usable() else 0
        with kept_objects():
            common = ending(self._target, self._signature.dtype)
            send(module_text(self._plan(lanes), self._layout(lanes, common), rows, send))

    def library_code(self, function: str) -> bytes:
        """Object code of one C function for one state, to be linked with libm."""
        with kept_objects():
            text = library_text(self._plan(1), self._layout(1, ""), self._target.fma, function)
        with Compilation(self._target) as compilation:
            compilation.add(text)
        return compilation.codes[0]

    def object_code(self, lanes: int) -> tuple[dict[str, Any], bytes]:
        """Metadata, as the cache keeps it, and object code for `lanes` states side by side.

        Modules are compiled as soon as they are written, side by side where there are cores for it.
        """
        with Compilation(self._target) as compilation:
            self._write(lanes, compilation.add)
        codes = compilation.codes
        s = self._signature
        metadata = {
            "inputs": list(s.inputs.items()),
            "outputs": [(k, list(v)) for k, v in s.outputs.items()],
            "dtype": s.dtype,
            "operations": self._operations,
            "lanes": lanes,
            "scratch": scratch_bytes(self._plan(lanes), self._layout(lanes, "").vector),
            "code": [len(code) for code in codes],
        }
        return metadata, b"".join(codes)


def common_code(target: Target, dtype: str) -> str:
    """LLVM IR of what kernels of a precision have in common."""
    lanes = target.lanes(dtype)
    layout = Layout((), (), dtype, lanes, lanes, straight=target.straight, common=ending(target, dtype))
    return common_text(layout, target.fma)
