"""The machine and the process that kernels run in: the vector unit, libm, CPython and NumPy."""

from __future__ import annotations

import ctypes
import functools
import importlib
import sys
from typing import Any

import numpy as np

from kinloop.compiler.abi import LIBM, PYTHON, TYPE_NUMBER, symbol
from kinloop.compiler.target import Target
from kinloop.errors import CompileError

_LIBM_FILES = {"darwin": ("libSystem.B.dylib",), "win32": ("ucrtbase.dll", "msvcrt.dll")}
_PYARRAY_NEW = 93  # its place in the table, fixed by NumPy's ABI
_OLDEST_LLVM = 20
_ONE = int("1")  # CPython has one object for it
_KEYWORDS = tuple(map(sys.intern, ("out", "threads")))  # the very strings that calls are compiled with; kept here


@functools.cache
def bindings() -> Any:
    """llvmlite's bindings, or None where they cannot be imported: kinloop's NumPy path works without.

    They are imported with the first kernel, since that takes a fifth of `import kinloop`.
    """
    try:
        return importlib.import_module("llvmlite.binding")
    except ImportError:
        return None


def available() -> bool:
    """Whether kernels can be compiled here."""
    return bindings() is not None


@functools.cache
def host() -> Target:
    """The machine of this process, asked once: it does not change."""
    llvm = bindings()
    if llvm is None:
        raise CompileError(
            "kernels need llvmlite, which is not installed here; run `pip install llvmlite`, "
            "or use backend='numpy' for the slower NumPy path"
        )
    llvmlite = importlib.import_module("llvmlite")
    if llvm.llvm_version_info[0] < _OLDEST_LLVM:
        raise CompileError(f"llvmlite {llvmlite.__version__} is too old for kernels; run `pip install -U llvmlite`")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _register_symbols()
    features = llvm.get_host_cpu_features()
    flat = features.flatten() if features else ""
    triple = llvm.get_process_triple()
    arm = triple.startswith(("aarch64", "arm64"))
    versions = f"llvmlite {llvmlite.__version__} llvm {'.'.join(map(str, llvm.llvm_version_info))}"
    cpu = llvm.get_host_cpu_name()
    return Target(
        triple, cpu, flat, arm or "+fma," in flat + ",", register_bits(flat), versions, cpu.startswith("znver")
    )


@functools.cache
def other_machine(triple: str, cpu: str) -> Target:
    """A machine to make code for that runs elsewhere, by its triple and LLVM's name of its processor."""
    here, llvm = host(), bindings()
    arm = triple.startswith(("aarch64", "arm64"))
    if not arm and not triple.startswith("x86_64"):
        raise CompileError(
            f"code for {triple!r} cannot be made; give a triple of a 64-bit machine such as 'aarch64-linux-gnu', "
            "'arm64-apple-macos' or 'x86_64-linux-gnu', or export C"
        )
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return Target(triple, cpu, "", arm, 128, here.llvm)


def register_bits(features: str) -> int:
    """The width of the vector registers to use on a processor with these features of LLVM's.

    The first processors with 512 bits, those without VBMI2, run slower while they use them.
    """
    has = features.split(",")
    return 512 if "+avx512f" in has and "+avx512vbmi2" in has else 256 if "+avx" in has or "+avx2" in has else 128


def machine(target: Target) -> Any:
    """LLVM's target machine; object code of it can be loaded at any address.

    Code generation at level 1 takes 15 % less time than at 2, for code that is as fast.
    """
    return (
        bindings()
        .Target.from_triple(target.triple)
        .create_target_machine(cpu=target.cpu, features=target.features, opt=1, reloc="pic", codemodel="small")
    )


def _register_symbols() -> None:
    """Give a fixed name to every address that object code refers to, so that none is baked into it."""
    libm = _libm()
    addresses = {name: _address(getattr(libm, name)) for name in LIBM}
    addresses |= {name: _address(getattr(ctypes.pythonapi, name)) for name in PYTHON}
    addresses |= {"PyArray_New": array_constructor(), "ndarray": id(np.ndarray)}
    addresses |= {"None": id(None), "one": id(_ONE), "tuple": id(tuple)} | {x: id(x) for x in _KEYWORDS}
    addresses["yield"] = _address(_yield_processor())
    addresses |= {dtype: id(np.dtype(dtype)) for dtype in TYPE_NUMBER}
    for name, address in addresses.items():
        bindings().add_symbol(symbol(name), address)


def array_constructor() -> int:
    """The address of NumPy's PyArray_New, from the table NumPy exports to C extensions; 0 if there is none."""
    core = getattr(np, "_core", None) or np.core
    table = getattr(getattr(core, "_multiarray_umath", None), "_ARRAY_API", None)
    if table is None:
        return 0
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_void_p.from_address(get(table, None) + 8 * _PYARRAY_NEW).value or 0


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _yield_processor() -> Any:
    """The system's function that lets other threads run."""
    return ctypes.CDLL("kernel32").SwitchToThread if sys.platform == "win32" else ctypes.CDLL(None).sched_yield


def _libm() -> ctypes.CDLL:
    for name in (*_LIBM_FILES.get(sys.platform, ("libm.so.6", "libm.so")), None):
        try:
            library = ctypes.CDLL(name)
            if all(hasattr(library, f) for f in LIBM):
                return library
        except (OSError, TypeError):
            continue
    raise CompileError("no math library was found on this system; use backend='numpy' for the slower NumPy path")
