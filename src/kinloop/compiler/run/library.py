"""LLVM IR to object code, and object code to callable addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from kinloop.compiler.run.host import bindings, machine
from kinloop.compiler.target import Target
from kinloop.errors import CompileError


def compile_text(text: str, target: Target) -> bytes:
    """Relocatable object code of LLVM IR. It contains no address of this process."""
    llvm = bindings()
    try:
        with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
            module.triple = target.triple
            code: bytes = machine(target).emit_object(module)
            return code
    except RuntimeError as error:
        raise CompileError(f"LLVM refused a kernel, which is a bug in kinloop; please report it: {error}") from error


class Library:
    """Object code loaded into this process, for as long as this object lives."""

    def __init__(self, code: bytes, target: Target) -> None:
        self._machine, llvm = machine(target), bindings()
        empty = llvm.parse_assembly("")
        empty.triple = target.triple
        self._engine = llvm.create_mcjit_compiler(empty, self._machine)
        held = llvm.ObjectFileRef.from_data(code)
        self.code_size: int = sum(s.size() for s in held.sections() if s.is_text())
        self._engine.add_object_file(held)
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        address: int = self._engine.get_function_address(name)
        return address

    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """A ctypes function; calling it releases the interpreter lock."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.address(name))
