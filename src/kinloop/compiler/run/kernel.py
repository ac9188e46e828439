"""Compiled kernels: machine code for one state and for batches, made when first needed, kept on disk."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.compiler import cache, keys
from kinloop.compiler.emit.iterate import run_iterate
from kinloop.compiler.emit.layout import Layout, group_bytes
from kinloop.compiler.emit.module import module_text
from kinloop.compiler.export.c99 import export_c
from kinloop.compiler.export.casadi_graph import to_casadi
from kinloop.compiler.plan import Plan, make_plan
from kinloop.compiler.run import builtin
from kinloop.compiler.run.arguments import Call, Signature, data_address, non_finite, read_call
from kinloop.compiler.run.host import Target, host
from kinloop.compiler.run.library import Library, compile_text
from kinloop.compiler.run.threads import SINGLE_THREAD_WORK, run_chunks, threads_for
from kinloop.errors import MethodError
from kinloop.scalar import Function

Recipe = tuple[Callable[..., Any], tuple[Any, ...]]
GROUPS = 1


class Variant:
    """Machine code for a number of lanes."""

    def __init__(self, code: bytes, metadata: Mapping[str, Any], target: Target) -> None:
        self.lanes, self.groups, self.scratch = (int(metadata[k]) for k in ("lanes", "groups", "scratch"))
        if int(metadata["code"]) != len(code):
            raise ValueError("metadata of another kernel")
        self.library = Library(code, target)
        self._step, self._local = self.lanes * self.groups, threading.local()
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        self.batch = self.library.function("batch", number, number, number, pointer, pointer)
        shape = (number, number, pointer, pointer, number, number, pointer)
        self.iterate = self.library.function("iterate", None, *shape)

    def run(self, call: Call, threads: int) -> int:
        """Compute all rows; the first row with an input that is not finite, or -1."""
        rows = call.rows
        entries = [x for pair in zip(call.inputs, call.strides, strict=True) for x in (data_address(pair[0]), pair[1])]
        entries += [x for y in call.outputs for x in (data_address(y), y.nbytes // rows)]
        table = (ctypes.c_int64 * len(entries))(*entries)
        return run_chunks(lambda a, b: self.batch(a, b, table, self._own_scratch()), rows, self._step, threads)

    def _own_scratch(self) -> int:
        """The address of this thread's scratch array, on a cache line."""
        own = self._local
        if not hasattr(own, "address"):
            own.scratch = np.empty(self.scratch * self.groups + 64, dtype=np.uint8)
            own.address = data_address(own.scratch) + (-data_address(own.scratch)) % 64
        return own.address


class Core:
    """A kernel's parts: signature, source, and the variants made so far. Safe to use from many threads."""

    def __init__(
        self,
        signature: Signature,
        operations: dict[str, int],
        source: Callable[[], Function],
        key: str | None,
        found: Mapping[int, tuple[Mapping[str, Any], bytes]],
    ) -> None:
        self.signature, self.operations, self.key = signature, operations, key
        self._source = source
        self._function: Function | None = None
        self._plan: Plan | None = None
        self._lock = threading.RLock()
        self.target = host()
        self.variants: dict[int, Variant] = {}
        self.wirings: dict[tuple, Any] = {}  # see iterate.py
        self._found = dict(found)
        self.builtin: Any = None
        self.on_builtin: Callable[[Any], None] = lambda f: None

    def function(self) -> Function:
        """The traced function; traced now if the kernel came from the cache."""
        with self._lock:
            if self._function is None:
                self._function = self._source()
            return self._function

    def plan(self) -> Plan:
        with self._lock:
            if self._plan is None:
                self._plan = make_plan(self.function(), self.target.fma)
            return self._plan

    def layout(self, lanes: int) -> Layout:
        s = self.signature
        return Layout(tuple(s.inputs.values()), tuple(s.outputs.values()), s.dtype, lanes, 1 if lanes == 1 else GROUPS)

    @property
    def lanes(self) -> int:
        return self.target.lanes(self.signature.dtype)

    def text(self, lanes: int) -> str:
        rows = SINGLE_THREAD_WORK // max(self.operations["total"], 1) if builtin.usable() else 0
        return module_text(self.plan(), self.layout(lanes), self.target, rows)

    def variant(self, lanes: int) -> Variant:
        """Machine code for `lanes` states side by side: in memory, else from disk, else compiled."""
        made = self.variants.get(lanes)
        if made is not None:
            return made
        with self._lock:
            if lanes not in self.variants:
                self.variants[lanes] = self._make(lanes)
                if builtin.usable():
                    self._link()
            return self.variants[lanes]

    def _link(self) -> None:
        """The builtin for one state, before the one for small batches, before the Python way."""
        head: Any = self.call
        for lanes in sorted(self.variants, reverse=True):
            head = builtin.make_builtin(self.variants[lanes].library.address("call"), head)
        self.builtin = head
        self.on_builtin(head)

    def _make(self, lanes: int) -> Variant:
        layout = self.layout(lanes)
        file = self.key and keys.variant_key(self.key, self.target, layout.dtype, lanes, layout.groups)
        entry = self._found.pop(lanes, None) or (cache.load(file) if file else None)
        if entry is not None:
            with contextlib.suppress(RuntimeError, LookupError, TypeError, ValueError):
                return Variant(entry[1], entry[0], self.target)
        code = compile_text(self.text(lanes), self.target)
        metadata = {**self._metadata(layout), "code": len(code)}
        if file:
            cache.store(file, metadata, code)
        return Variant(code, metadata, self.target)

    def _metadata(self, layout: Layout) -> dict[str, Any]:
        s = self.signature
        return {
            "inputs": list(s.inputs.items()),
            "outputs": [(k, list(v)) for k, v in s.outputs.items()],
            "dtype": s.dtype,
            "operations": self.operations,
            "lanes": layout.lanes,
            "groups": layout.groups,
            "scratch": group_bytes(self.plan(), layout.vector),
        }

    def call(self, *args: Any, out: Any = None, threads: int | None = None, on_nonfinite: str = "raise") -> Any:
        """The convenient forms: lists, missing outputs, out=, batches that broadcast, threads."""
        if on_nonfinite not in ("raise", "nan"):
            raise MethodError(f"on_nonfinite {on_nonfinite!r} is not one of 'raise', 'nan'")
        call = read_call(self.signature, args, out)
        if call.rows:
            variant = self.variant(1 if call.rows == 1 else self.lanes)
            work = call.rows * max(self.operations["total"], 1)
            bad = variant.run(call, threads_for(threads, work))
            if bad >= 0 and on_nonfinite == "raise":
                raise non_finite(self.signature, call, bad)
        return call.finish()


class Kernel:
    """A compiled function of named vectors.

    `kernel(q, v, tau, a)` with ready arrays for one state is a CPython builtin: it checks type, dtype,
    shape and layout, computes, and returns `a`. `kernel(q, v, tau)` allocates the outputs; lists, batches
    `(..., n)` with broadcasting, `out=`, `threads=` and `on_nonfinite="nan"` are allowed too.
    """

    __slots__ = ("__weakref__", "_core", "_recipe")
    _core: Core
    _recipe: Recipe | None

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._core.call(*args, **options)

    def iterate(
        self,
        *inputs: Any,
        steps: int,
        feedback: Mapping[str, str],
        stepped: Sequence[str] = (),
        every: int = 1,
        threads: int | None = None,
    ) -> dict[str, np.ndarray]:
        """Many steps in one native call, for one state or a batch of rows.

        `feedback` maps state inputs to the outputs that replace them after each step; inputs named in
        `stepped` have a time axis, (rows, steps, n) or (steps, n). Returns by name the final value of
        every fed-back output, (rows, ...), and of the other outputs a record every `every` steps,
        (rows, steps // every, ...).
        """
        return run_iterate(self._core, inputs, steps, feedback, stepped, every, threads)

    def __repr__(self) -> str:
        s = self._core.signature
        inputs = ", ".join(f"{k}: {n}" for k, n in s.inputs.items())
        outputs = ", ".join(f"{k}: {shape}" for k, shape in s.outputs.items())
        return f"<kernel {s.name}({inputs}) -> {outputs}; {self.operations['total']} operations, {s.dtype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is None:
            raise TypeError(
                f"kernel {self.name!r} was compiled without a recipe and cannot be pickled; "
                "pass recipe=(callable, args) to compile_function, where callable(*args) makes the kernel again"
            )
        return self._recipe

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: dict) -> Kernel:
        return self

    @property
    def name(self) -> str:
        return self._core.signature.name

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self._core.signature.dtype)

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Input names and the shape of one state."""
        return {k: (n,) for k, n in self._core.signature.inputs.items()}

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Output names and the shape of one state."""
        return dict(self._core.signature.outputs)

    @property
    def operations(self) -> dict[str, int]:
        """Count of each scalar operation for one state, and their 'total'."""
        return dict(self._core.operations)

    @property
    def lanes(self) -> int:
        """States computed side by side in a batch."""
        return self._core.lanes

    @property
    def ir(self) -> str:
        """LLVM IR of the code for batches."""
        return self._core.text(self.lanes)

    @property
    def nbytes(self) -> int:
        """Bytes of machine code made so far (for one state, if nothing was made yet)."""
        if not self._core.variants:
            self._core.variant(1)
        return sum(v.library.code_size for v in self._core.variants.values())

    @property
    def builtin(self) -> Callable[..., Any]:
        """The builtin itself: the cheapest way to call the kernel on one state in ready arrays."""
        self._core.variant(1)
        return self._core.builtin or self._core.call

    @property
    def function(self) -> Function:
        """The traced graph."""
        return self._core.function()

    def export_c(self, folder: str | Path) -> list[Path]:
        """Write standalone C99 into `folder`: source, header and an example `main.c`; the paths."""
        return export_c(make_plan(self.function, fuse=False), self._core.signature, folder)

    def to_casadi(self) -> Any:
        """The same computation as a `casadi.Function`."""
        return to_casadi(self.function, self.name)

    def compile(self, batch: bool = False) -> Kernel:
        """Make (or load) the machine code now instead of at the first call."""
        self._core.variant(self.lanes if batch else 1)
        return self


def new_kernel(core: Core, recipe: Recipe | None) -> Kernel:
    """A kernel with a class of its own: its `__call__` becomes the builtin once there is one.

    A builtin in a class is no method, so that calling the kernel calls it without `self`.
    """
    own: Any = type("Kernel", (Kernel,), {"__slots__": (), "__module__": __name__, "__doc__": Kernel.__doc__})
    kernel = own()
    kernel._core, kernel._recipe = core, recipe
    core.on_builtin = lambda f: setattr(own, "__call__", f)
    return kernel
