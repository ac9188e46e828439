"""Traced functions to native kernels: segments, lanes, threads, a cache on disk, C and CasADi export."""

from kinloop.compiler.make import compile_function, load_or_compile
from kinloop.compiler.run.host import available
from kinloop.compiler.run.kernel import Kernel

__all__ = ["Kernel", "available", "compile_function", "load_or_compile"]
