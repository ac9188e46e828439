"""A kernel's parts: the signature, the traced function, its plan, and machine code, made when first needed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.compiler import cache, keys
from kinloop.compiler.emit.kernel_layout import Layout, scratch_bytes
from kinloop.compiler.emit.kernel_module import module_text
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.plan.stage_types import Plan
from kinloop.compiler.run import builtin
from kinloop.compiler.run.arguments import non_finite, read_call
from kinloop.compiler.run.host import host
from kinloop.compiler.run.iteration import IterationReader
from kinloop.compiler.run.library import compile_text
from kinloop.compiler.run.threads import SINGLE_THREAD_WORK, threads_for
from kinloop.compiler.run.variant import Variant
from kinloop.compiler.signature import Signature
from kinloop.errors import MethodError
from kinloop.scalar import Function


class Core:
    """What a kernel is made of. Safe to use from many threads.

    `source` makes the traced function, `key` names the kernel in the cache (None: it is not kept there), `found`
    holds metadata and object code, by lanes, that were read from the cache already.
    """

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
        self._iterations = IterationReader(signature)
        self._found = dict(found)
        self.builtin: Callable[..., Any] | None = None
        self.on_builtin: Callable[[Callable[..., Any]], None] = lambda f: None

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

    @property
    def lanes(self) -> int:
        """States computed side by side in a batch."""
        return self.target.lanes(self.signature.dtype)

    @property
    def work(self) -> int:
        """Operations for one state, at least 1."""
        return max(self.operations["total"], 1)

    def _layout(self, lanes: int) -> Layout:
        s = self.signature
        return Layout(tuple(s.inputs.values()), tuple(s.outputs.values()), s.dtype, lanes, self.lanes)

    def text(self, lanes: int) -> str:
        """LLVM IR of the code for `lanes` states side by side."""
        rows = SINGLE_THREAD_WORK // self.work if builtin.usable() else 0
        return module_text(self.plan(), self._layout(lanes), self.target.fma, rows)

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
        head: Callable[..., Any] = self.call
        for lanes in sorted(self.variants, reverse=True):
            head = builtin.make_builtin(self.variants[lanes].library.address("call"), head)
        self.builtin = head
        self.on_builtin(head)

    def _make(self, lanes: int) -> Variant:
        file = self.key and keys.variant_key(self.key, self.target, self.signature.dtype, lanes)
        entry = self._found.pop(lanes, None) or (cache.load(file) if file else None)
        if entry is not None:
            with contextlib.suppress(RuntimeError, LookupError, TypeError, ValueError):
                return Variant(entry[1], entry[0], self.target)
        code = compile_text(self.text(lanes), self.target)
        metadata = {**self._metadata(lanes), "code": len(code)}
        if file:
            cache.store(file, metadata, code)
        return Variant(code, metadata, self.target)

    def _metadata(self, lanes: int) -> dict[str, Any]:
        s = self.signature
        return {
            "inputs": list(s.inputs.items()),
            "outputs": [(k, list(v)) for k, v in s.outputs.items()],
            "dtype": s.dtype,
            "operations": self.operations,
            "lanes": lanes,
            "scratch": scratch_bytes(self.plan(), self._layout(lanes).vector),
        }

    def call(self, *args: Any, out: Any = None, threads: int | None = None, on_nonfinite: str = "raise") -> Any:
        """The convenient forms: lists, missing outputs, out=, batches that broadcast, threads."""
        if on_nonfinite not in ("raise", "nan"):
            raise MethodError(f"on_nonfinite {on_nonfinite!r} is not one of 'raise', 'nan'")
        call = read_call(self.signature, args, out)
        if call.rows:
            variant = self.variant(1 if call.rows == 1 else self.lanes)
            bad = variant.run(call, threads_for(threads, call.rows * self.work))
            if bad >= 0 and on_nonfinite == "raise":
                raise non_finite(self.signature, call, bad)
        return call.finish()

    def iterate(
        self,
        inputs: Sequence[ArrayLike],
        steps: int,
        feedback: Mapping[str, str],
        stepped: Sequence[str],
        every: int,
        threads: int | None,
    ) -> dict[str, np.ndarray]:
        """Many steps in one native call; see `Kernel.iterate`."""
        iteration = self._iterations.read(inputs, steps, feedback, stepped, every)
        variant = self.variant(1 if iteration.rows == 1 else self.lanes)
        variant.iterate(iteration, threads_for(threads, iteration.rows * steps * self.work))
        return iteration.finish()
