"""Object code to callable addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from kinloop.compiler.run.host import bindings, machine
from kinloop.compiler.target import Target


class Library:
    """Object code of modules loaded into this process, for as long as this object lives; each may call those before.

    Code and constants of a module reach each other over less than 2 GB, and LLVM ends the process where they do not:
    llvmlite's own memory manager has both in one piece, LLVM's puts them wherever there is room in the address space.
    """

    def __init__(self, codes: Sequence[bytes], target: Target) -> None:
        self._machine, llvm = machine(target), bindings()
        empty = llvm.parse_assembly("")
        empty.triple = target.triple
        self._engine = llvm.create_mcjit_compiler(empty, self._machine, use_lmm=True)
        self.code_size = 0
        for code in codes:
            held = llvm.ObjectFileRef.from_data(code)
            self.code_size += sum(s.size() for s in held.sections() if s.is_text())
            self._engine.add_object_file(held)
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        address: int = self._engine.get_function_address(name)
        return address

    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """A ctypes function; calling it releases the interpreter lock."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.address(name))
