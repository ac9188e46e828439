"""A kernel's parts: its signature, the traced function, and machine code, made when first needed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.compiler import cache, keys
from kinloop.compiler.common import link_common
from kinloop.compiler.guards import Code
from kinloop.compiler.run import builtin
from kinloop.compiler.run.arguments import non_finite, read_call
from kinloop.compiler.run.host import host
from kinloop.compiler.run.iteration import IterationReader, Stepping
from kinloop.compiler.run.threads import threads_for
from kinloop.compiler.run.variant import First, Variant
from kinloop.compiler.signature import Signature
from kinloop.errors import MethodError
from kinloop.progress import working
from kinloop.scalar import Function

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from kinloop.compiler.build import Build


class Core:
    """What a kernel is made of, and what its calls do. Safe to use from many threads.

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
        self.work = max(operations["total"], 1)  # for one state
        self._source = source
        self._function: Function | None = None
        self._build: Build | None = None
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

    def build(self) -> Build:
        """The function, planned for this machine."""
        with self._lock:
            if self._build is None:
                from kinloop.compiler.build import Build  # here, since kernels from the cache do not need it

                self._build = Build(self.function(), self.operations, self.signature, self.target)
            return self._build

    @property
    def lanes(self) -> int:
        """States computed side by side in a batch."""
        return self.target.lanes(self.signature.dtype)

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
        """Chain the builtins: what the one for a state does not expect goes to the one for small batches, then here."""
        head: Callable[..., Any] = self.call
        for lanes in sorted(self.variants, reverse=True):
            head = builtin.make_builtin(self.variants[lanes].library.address("call"), head)
        self.builtin = head
        self.on_builtin(head)

    def code(self, rows: bool) -> Code:
        """The machine code for one state, or for rows."""
        return Code(self.signature, self.variant(self.lanes if rows else 1))

    def _make(self, lanes: int) -> Variant:
        link_common(self.target, self.signature.dtype)
        file = self.key and keys.variant_key(self.key, self.target, self.signature.dtype, lanes)
        entry = self._found.pop(lanes, None) or (cache.load(file) if file else None)
        if entry is not None:
            with contextlib.suppress(RuntimeError, LookupError, TypeError, ValueError):
                return Variant(entry[1], entry[0], self.target)
        if file is None:
            return self._compiled(lanes, None)
        with cache.alone(file):
            entry = cache.load(file) if entry is None else None  # another process may just have made it
            if entry is not None:
                with contextlib.suppress(RuntimeError, LookupError, TypeError, ValueError):
                    return Variant(entry[1], entry[0], self.target)
            return self._compiled(lanes, file)

    def _compiled(self, lanes: int, file: str | None) -> Variant:
        """Machine code made now, and kept in a file of the cache."""
        with working(f"compiling {self.signature.name}"):
            metadata, code = self.build().object_code(lanes)
        if file:
            cache.store(file, metadata, code)
        return Variant(code, metadata, self.target)

    def call(self, *args: Any, out: Any = None, threads: int | None = None, on_nonfinite: str = "raise") -> Any:
        """Every form of call: lists, missing outputs, out=, batches that broadcast, threads."""
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

    def over(self, args: tuple[Any, ...]) -> First:
        """What computes rows a to b of a call with all of its outputs; see `Kernel.over`."""
        call = read_call(self.signature, args, None)
        assert all(made is wanted for made, wanted in zip(call.outputs, call.results, strict=True))
        return self.variant(self.lanes).over(call)

    def advance(self, stepping: Stepping, steps: int, every: int, threads: int | None, first: First | None) -> int:
        """Steps of a batch on arrays that stay where they are."""
        rows = stepping.rows
        return self.variant(1 if rows == 1 else self.lanes).step(
            stepping, steps, every, threads_for(threads, rows * steps * self.work), first
        )
