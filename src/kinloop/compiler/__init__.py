"""Traced functions to native kernels: segments, lanes, threads, a cache on disk, C and CasADi export."""

from kinloop.compiler.kernel import Kernel
from kinloop.compiler.make import compile_function, load_or_compile
from kinloop.compiler.run.host import available

__all__ = ["Kernel", "available", "compile_function", "load_or_compile"]
