"""Whether XLA's foreign functions here are what our handlers know, and the handlers that are registered with it.

Handlers read XLA's call frame at the offsets of `kinloop.compiler.abi.Frame`. None of these is promised for good, so
before any handler is used a function in Python looks at one true frame and compares. Where something is different,
JAX calls back into Python instead: right, and slower.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import warnings
from typing import Any

import jax
import numpy as np

from kinloop.compiler import Kernel
from kinloop.compiler.abi import Frame
from kinloop.compiler.xla import XlaHandler
from kinloop.learn.array_functions import ArrayKernel

PROBE = "kinloop_probe"
_SIZES = {"frame": 120, "buffer": 48, "api": 144}
"""Bytes of what handlers read, as struct_size says at least; a later version may have more."""

_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_SHAPE, _SINGLE = (2, 3), 11  # XLA's number of float32


@functools.cache
def usable() -> bool:
    """Whether handlers can be used; if not, says so once."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:  # of its own: this one may be tracing something
        try:
            wrong = thread.submit(_probe().wrong).result()
        except Exception as error:  # whatever it is that this version of JAX does not do
            wrong = f"{type(error).__name__}: {error}"
    if wrong:
        warnings.warn(
            f"jax {jax.__version__} hands over arrays in a way that kinloop does not know ({wrong[:200]}); "
            "kinloop.jax calls back into Python instead, which is right but slower; see docs/jax-and-torch.md",
            RuntimeWarning,
            stacklevel=2,
        )
    return not wrong


@functools.cache
def _probe() -> Probe:
    """The probe, kept: XLA knows it by its address."""
    return Probe()


class Probe:
    """A handler in Python that looks at one call frame; `target` is its name."""

    def __init__(self, target: str = PROBE) -> None:
        self.target = target
        self.given, self.seen = np.arange(6, dtype=np.float32).reshape(_SHAPE), list[str]()
        self.handler: Any = _HANDLER(self._look)

    def wrong(self) -> str:
        """What is different from what handlers know; '' if nothing is."""
        jax.ffi.register_ffi_target(self.target, jax.ffi.pycapsule(self.handler), platform="cpu")
        call = jax.ffi.ffi_call(self.target, jax.ShapeDtypeStruct(_SHAPE, np.float32))
        with jax.default_device(jax.devices("cpu")[0]):
            answer = np.asarray(jax.jit(call)(self.given))
        if not self.seen:
            return "the handler was not called"
        right = np.array_equal(answer, self.given + 1.0)
        return self.seen[0] or ("" if right else "numbers that were written are not those read")

    def _look(self, frame: int) -> None:
        try:
            if _word(frame + Frame.EXTENSION):
                _tell_version(_word(frame + Frame.EXTENSION))
            elif _int(frame + Frame.STAGE) == Frame.EXECUTE:
                self.seen.append(_compare(frame, self.given))
        except Exception as error:  # nothing may be raised through XLA
            self.seen.append(str(error))


def _tell_version(extension: int) -> None:
    """Answer which version of the call frame is known."""
    if _int(extension + Frame.EXTENSION_TYPE) == Frame.METADATA:
        metadata = _word(extension + Frame.METADATA_PLACE)
        for at, value in ((Frame.MAJOR_PLACE, Frame.MAJOR), (Frame.MINOR_PLACE, Frame.MINOR), (Frame.TRAITS, 0)):
            ctypes.c_int32.from_address(metadata + at).value = int(value)


def _compare(frame: int, given: np.ndarray) -> str:
    """What of a frame with one input and one output is not as expected; writes the input plus one to the output."""
    api = _word(frame + Frame.API)
    buffers = [_word(_word(frame + at)) for at in (Frame.ARGUMENTS, Frame.RESULTS)]
    sizes = {"frame": _word(frame), "buffer": min(map(_word, buffers)), "api": _word(api)}
    for name, least in _SIZES.items():
        if sizes[name] < least:
            return f"the {name} has {sizes[name]} bytes, {least} are known"
    version = _int(api + Frame.VERSION_MAJOR), _int(api + Frame.VERSION_MINOR)
    if version[0] != Frame.MAJOR or version[1] < Frame.MINOR:
        return f"version {version[0]}.{version[1]} of XLA's interface, {Frame.MAJOR}.{Frame.MINOR} is known"
    if (_word(frame + Frame.ARGUMENT_COUNT), _word(frame + Frame.RESULT_COUNT)) != (1, 1):
        return "inputs and outputs are not counted where they were"
    numbers = []
    for buffer in buffers:
        shape = [_word(_word(buffer + Frame.SIZES) + 8 * k) for k in range(_word(buffer + Frame.RANK))]
        if _int(buffer + Frame.BUFFER_TYPE) != _SINGLE or tuple(shape) != given.shape:
            return f"a buffer of shape {given.shape} says that it has the shape {tuple(shape)}"
        numbers.append((ctypes.c_float * given.size).from_address(_word(buffer + Frame.BUFFER_DATA)))
    if [*numbers[0]] != given.ravel().tolist():
        return "numbers are not where they were"
    numbers[1][:] = [x + 1.0 for x in numbers[0]]
    return ""


def _word(address: int) -> int:
    return int(ctypes.c_int64.from_address(address).value)


def _int(address: int) -> int:
    return int(ctypes.c_int32.from_address(address).value)


class Targets:
    """Handlers that are registered with XLA, by name, for as long as this process lives: XLA forgets none.

    Equal handlers, of two robots made from one file, are registered once.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, XlaHandler] = {}
        self._names: dict[tuple[ArrayKernel, bool, bool], str] = {}
        self._lock = threading.Lock()

    def name(self, kernel: ArrayKernel, rows: bool, single: bool) -> str:
        """The name under which XLA finds a kernel for one state, or for rows; '' where it has no machine code."""
        with self._lock:
            key = (kernel, rows, single)
            if key not in self._names:
                self._names[key] = self._registered(kernel, rows, single)
            return self._names[key]

    def _registered(self, kernel: ArrayKernel, rows: bool, single: bool) -> str:
        judge = kernel.judge
        if not isinstance(kernel.kernel, Kernel) or not isinstance(judge, Kernel | None):
            return ""
        handler = kernel.kernel.xla_handler(rows, single, judge, kernel.judged)
        if handler.name not in self._handlers:
            function: Any = _HANDLER(handler.address)
            jax.ffi.register_ffi_target(handler.name, jax.ffi.pycapsule(function), platform="cpu")
            self._handlers[handler.name] = handler
        return handler.name


TARGETS = Targets()
