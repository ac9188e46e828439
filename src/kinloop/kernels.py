"""The one place where a function of a robot becomes a kernel: its key, its caches, the backend, the fallback.

Whoever needs a kernel, the front door, the simulator or the viewer, asks the robot's `Kernels`: for a quantity of
the table by `answer` and `compile`, for any other function that runs on symbols by `make`. Where no kernel can be
made, for want of a compiler or because `backend="numpy"`, an `Interpreted` (`kinloop.interpreted`) takes its place
and is called alike.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from kinloop import compiler
from kinloop import scalar as sc
from kinloop.algorithms.differentiated import traced
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import Request, evaluate, input_sizes, make_plan
from kinloop.clusters import ClusterTree
from kinloop.compiler import Kernel
from kinloop.compiler.keys import function_digest, parts_digest
from kinloop.errors import MethodError
from kinloop.interpreted import Interpreted
from kinloop.model.facts import facts, own_functions

BACKENDS = ("kernel", "numpy")

KEPT = 256
"""Kernels that a robot remembers. Every choice of frames, constraints and parameters is one of its own; those that
are forgotten are on disk still."""

TRACED = ("errors.py", "progress.py", "scalar", "linear", "spatial", "meshes", "model", "clusters", "algorithms")
"""The rooms of kinloop that a trace of a robot can reach. A change in one of them is a change of every kernel's key;
a change elsewhere, in the viewer or in a reader of files, is not. `tests/test_kernel_sources.py` keeps it whole."""


Computed = Kernel | Interpreted


class Recent:
    """The most recently used of what was made, at most `size` of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._entries: OrderedDict[Hashable, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Any:
        """What was kept under `key`, or None. The order is kept only where something may be let go soon."""
        found = self._entries.get(key)
        if found is not None and 2 * len(self._entries) > self.size:
            with contextlib.suppress(KeyError):  # another thread may just have let it go
                self._entries.move_to_end(key)
        return found

    def keep(self, key: Hashable, made: Any) -> None:
        self._entries[key] = made
        while len(self._entries) > self.size:
            self._entries.popitem(last=False)


class Kernels:
    """The kernels of a robot in its charts, made when first asked for.

    `backend` is "kernel", or "numpy" to stay with the algorithms as they are written. Of the quantities asked for,
    the `kept` most recently used are remembered.
    """

    def __init__(self, tree: ClusterTree, backend: str = "kernel", kept: int = KEPT) -> None:
        if backend not in BACKENDS:
            raise MethodError(f"backend {backend!r} is not one of {', '.join(map(repr, BACKENDS))}")
        self.tree, self.backend = tree, backend
        self._made = Recent(kept)

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._made)

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernels, (self.tree, self.backend, self._made.size)

    @functools.cached_property
    def compiles(self) -> bool:
        """Whether functions become machine code here; where only llvmlite is missing for it, says so once."""
        if self.backend == "kernel" and not compiler.available():
            warn_once()
        return self.backend == "kernel" and compiler.available()

    def answer(self, asked: Request) -> Computed:
        """What computes a request: a kernel where there can be one, else the algorithm on numbers."""
        if self.compiles and not QUANTITIES[asked.quantity].methods[asked.method].numeric:
            return self.compile(asked)
        return self.interpret(asked)

    def compile(self, asked: Request, dtype: str = "float64", cache: bool = True) -> Kernel:
        """The kernel of a request, whatever the backend."""
        key = (asked.key, dtype, cache)
        found: Kernel | None = self._made.get(key)
        if found is None:
            found = self._compile(asked, dtype, cache)
            self._made.keep(key, found)
        return found

    def interpret(self, asked: Request) -> Interpreted:
        """The same on numbers."""
        key = (asked.key, "numbers")
        found: Interpreted | None = self._made.get(key)
        if found is None:
            call: Callable[..., Any] = functools.partial(evaluate, self.tree, asked)
            sizes = input_sizes(self.tree, asked)
            if asked.derivative:
                function = traced(self.tree, asked, make_plan(self.tree, asked))
                call, sizes = function.named, function.inputs
            found = Interpreted(asked.name, call, sizes)
            self._made.keep(key, found)
        return found

    def make(
        self,
        name: str,
        call: Callable[..., Any],
        inputs: Mapping[str, int],
        *,
        key: Any = (),
        sources: Sequence[str] = (),
        charts: bool = True,
    ) -> Computed:
        """A function of named vectors, on numbers or symbols, as a kernel of this robot.

        `key` holds what `call` depends on besides the robot (nested tuples, lists, dicts, arrays, numbers, strings),
        `sources` names the files and folders of kinloop where it is written, if not in `TRACED`. A function that
        does not depend on the choice of independent coordinates says `charts=False` and is shared by all charts.
        """
        if not self.compiles:
            return Interpreted(name, call, inputs)
        return self._load(name, functools.partial(sc.trace, call, inputs), key, sources, charts, self._own)

    def _compile(self, asked: Request, dtype: str, cache: bool) -> Kernel:
        plan = make_plan(self.tree, asked)
        return self._load(
            asked.name,
            functools.partial(traced, self.tree, asked, plan),
            (tuple(asked.key), repr(plan)),
            own=self._own and all(map(is_own, (p.constraint for p in asked.constraints))),
            dtype=dtype,
            recipe=(Kernels.compile, (self, asked, dtype, cache)),
            cache=cache,
        )

    def _load(
        self,
        name: str,
        trace: Callable[[], sc.Function],
        key: Any,
        sources: Sequence[str] = (),
        charts: bool = True,
        own: bool = True,
        **options: Any,
    ) -> Kernel:
        """A kernel by its key, or by its graph where a part of the robot is written outside kinloop."""
        if not own:
            return compiler.compile_function(trace(), name=name, **options)
        parts = (name, self.digest, charts_key(self.tree) if charts else None, key)
        return compiler.load_or_compile(parts, trace, name=name, sources=(*TRACED, *sources), **options)

    @functools.cached_property
    def digest(self) -> str:
        """Digest of the mechanism and of what its users' functions compute."""
        return parts_digest((facts(self.tree.top.mechanism), function_digests(self.tree)))

    @functools.cached_property
    def _own(self) -> bool:
        """Whether kinloop's sources say all about this mechanism: no kind of joint or loop comes from elsewhere."""
        m = self.tree.top.mechanism
        return all(map(is_own, (*(j.type for j in m.joints), *m.closures)))


def is_own(part: object) -> bool:
    """Whether a joint type, loop or constraint is of a kind that kinloop's sources say all about."""
    package, _, rest = type(part).__module__.partition(".")
    return package == "kinloop" and rest.partition(".")[0] in TRACED


def charts_key(tree: ClusterTree) -> tuple[Any, ...]:
    """What tells the charts of two trees apart."""
    return tuple((c.chart.rows, c.chart.dependent, c.chart.blocks) for c in tree if c.parts)


def function_digests(tree: ClusterTree) -> tuple[str, ...]:
    """What functions and kinds that users wrote compute, by their traces."""
    return tuple(map(function_digest, own_functions(tree.top)))


@functools.cache
def warn_once() -> None:
    """The warning of a machine that cannot make kernels: one per process, not one per robot."""
    warnings.warn(
        "llvmlite is not installed: kinloop computes with NumPy, exactly but slowly; pip install llvmlite",
        RuntimeWarning,
        stacklevel=2,
    )
