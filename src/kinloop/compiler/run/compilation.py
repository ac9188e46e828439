"""LLVM IR to object code, modules side by side where there are cores for it."""

from __future__ import annotations

import ctypes
import functools
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kinloop.compiler.run.host import bindings, machine
from kinloop.compiler.run.threads import allowed_threads
from kinloop.compiler.target import Target
from kinloop.errors import CompileError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


def compile_text(text: str, target: Target) -> bytes:
    """Relocatable object code of LLVM IR. It contains no address of this process.

    LLVM's part needs neither the interpreter's lock nor llvmlite's: it works on a context and a machine of its own.
    """
    llvm = bindings()
    try:
        with llvm.create_context() as context, _parsed(text, context) as module:
            module.triple = target.triple
            return _object_code(machine(target), module)
    except RuntimeError as error:
        raise CompileError(f"LLVM refused a kernel, which is a bug in kinloop; please report it: {error}") from error


class Compilation:
    """Modules of a kernel, compiled while later ones are written; `codes` has their object code when it ends.

    Threads are started with the second module, if this process may use several. No code depends on them.
    """

    def __init__(self, target: Target) -> None:
        self.codes: list[bytes] = []
        self._target, self._threads = target, allowed_threads()
        self._texts: list[str] = []
        self._pool: ThreadPoolExecutor | None = None
        self._futures: list[Future[bytes]] = []

    def __enter__(self) -> Compilation:
        return self

    def add(self, text: str) -> None:
        """Compile another module."""
        self._texts.append(text)
        if len(self._texts) > 1 and self._threads > 1:
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor  # here, since few programs need it

                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="kinloop")
            waiting = self._texts[len(self._futures) :]
            self._futures += [self._pool.submit(compile_text, text, self._target) for text in waiting]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if error is None and self._pool is None:
                self.codes = [compile_text(text, self._target) for text in self._texts]
            elif error is None:
                self.codes = [future.result() for future in self._futures]
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)


def _parsed(text: str, context: Any) -> Any:
    """The module of a text, as llvmlite's parse_assembly makes it."""
    llvm = bindings()
    with llvm.ffi.OutputString() as error:
        module = llvm.ModuleRef(_unlocked("LLVMPY_ParseAssembly")(context, text.encode(), error), context)
        if error:
            module.close()
            raise RuntimeError(str(error))
    return module


def _object_code(target_machine: Any, module: Any) -> bytes:
    """The object code of a module, as llvmlite's emit_object makes it."""
    library = bindings().ffi.lib
    with bindings().ffi.OutputString() as error:
        memory = _unlocked("LLVMPY_TargetMachineEmitToMemory")(target_machine, module, 1, error)
        if not memory:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(library.LLVMPY_GetBufferStart(memory), library.LLVMPY_GetBufferSize(memory))
    finally:
        library.LLVMPY_DisposeMemoryBuffer(memory)


@functools.cache
def _unlocked(name: str) -> Any:
    """A function of llvmlite's library without the lock that it puts around all of them.

    LLVM may work in several threads, each on its own context, as long as none of them changes its settings.
    """
    library = bindings().ffi.lib
    locked = getattr(library, name)
    function = getattr(ctypes.CDLL(library._name, handle=library._handle), name)
    function.argtypes, function.restype = locked.argtypes, locked.restype
    return function
