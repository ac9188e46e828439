"""The handle of a compiled kernel: calls, steps in one call, facts about it, export."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.compiler.core import Core
from kinloop.compiler.guards import Code, Guard, guarded
from kinloop.compiler.run import builtin
from kinloop.compiler.run.iteration import Stepping
from kinloop.compiler.run.variant import First
from kinloop.compiler.signature import Signature
from kinloop.compiler.xla import XlaHandler, make_handler
from kinloop.scalar import Function

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Recipe = tuple[Callable[..., Any], tuple[Any, ...]]


class Kernel:
    """A compiled function of named vectors.

    `kernel(q, v, tau, a)` with ready arrays for one state is a CPython builtin: it checks type, dtype,
    shape and layout, computes, and returns `a`. `kernel(q, v, tau)` allocates the outputs. Rows (rows, n) go through a
    builtin too, with `out=` and `threads=1` if you like; the latter leaves the interpreter to other threads meanwhile.
    Lists, batches `(..., n)` with broadcasting, more `threads=` and `on_nonfinite="nan"` (nan for batch rows whose
    inputs are not finite, instead of an error) are allowed as well.
    """

    __slots__ = ("__weakref__", "_core", "_recipe")
    _core: Core
    _recipe: Recipe | None

    def __call__(
        self,
        *args: ArrayLike,
        out: np.ndarray | Sequence[np.ndarray] | None = None,
        threads: int | None = None,
        on_nonfinite: str = "raise",
    ) -> Any:  # one array, or a tuple of them: only a kernel knows
        return self._core.call(*args, out=out, threads=threads, on_nonfinite=on_nonfinite)

    def iterate(
        self,
        *inputs: ArrayLike,
        steps: int,
        feedback: Mapping[str, str],
        stepped: Sequence[str] = (),
        every: int = 1,
        threads: int | None = None,
    ) -> dict[str, np.ndarray]:
        """Many steps in one native call, for one state or a batch of them.

        `feedback` maps state inputs to the outputs that replace them after each step; inputs named in
        `stepped` have a time axis, (rows, steps, n) or (steps, n). Returns by name the final value of
        every fed-back output, (rows, ...), and of the other outputs a record every `every` steps,
        (rows, steps // every, ...).
        """
        return self._core.iterate(inputs, steps, feedback, stepped, every, threads)

    def stepping(self, rows: int, feedback: Mapping[str, str]) -> Stepping:
        """Arrays of inputs for so many rows, on which `advance` takes steps; `feedback` is as in `iterate`."""
        return Stepping(self._core.signature, rows, feedback)

    def advance(
        self, stepping: Stepping, steps: int, every: int = 1, threads: int | None = None, first: First | None = None
    ) -> int:
        """Steps of a batch on its own arrays, with records every `every` steps: `iterate` for who calls it often.

        Before rows a to b take steps, the thread that takes them calls `first(a, b)`. It says -1, or the first row that
        it cannot do, and then these rows stay. The first row that could not be done, or -1.
        """
        return self._core.advance(stepping, steps, every, threads, first)

    def over(self, *args: np.ndarray) -> First:
        """What computes rows a to b of inputs and outputs that stay where they are, as `advance` calls it `first`.

        It cannot do rows that are not finite.
        """
        return self._core.over(args)

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

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel:
        return self

    @property
    def name(self) -> str:
        """What it computes."""
        return self._core.signature.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 or float32."""
        return self._core.signature.real

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
        return self._core.build().text(self.lanes)

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

    def guarded(
        self,
        other: Callable[..., Any],
        limits: Sequence[float],
        judge: Kernel | None = None,
        judged: int = 0,
        *,
        shapes: Sequence[tuple[int, ...]] = (),
        hidden: Sequence[float] = (),
        rows: bool = False,
        as_row: bool = False,
    ) -> Callable[..., Any]:
        """A builtin for one state, or for `rows`, in ready arrays that hands whatever is doubtful to `other`.

        Doubtful are numbers of an input beyond its limit, a first input for which one of the first `judged` outputs
        of the kernel `judge` is above 1, outputs that are not finite, further arguments.
        `shapes` are those of the inputs of one state, vectors if not given. The last outputs, of which `hidden` gives
        the limits, are looked at and not handed over. With `as_row`, outputs of one state are rows (1, ...). Where
        there are no builtins, and for single precision, it is `other` itself.
        """
        if not builtin.usable() or self._core.signature.dtype != "float64":
            return other
        judges = None if judge is None else judge._core.code(rows)
        guard = Guard(limits, judges, judged, shapes, hidden, as_row)
        return guarded(self._core.code(rows), guard, other, self._core.work if rows else 0)

    def xla_handler(self, rows: bool, single: bool = False, judge: Kernel | None = None, judged: int = 0) -> XlaHandler:
        """This kernel as a foreign function of XLA's, for one state or for `rows`, of `single` precision or not.

        Where one of the first `judged` outputs of the kernel `judge` is above 1 for the first input, outputs are nan.
        """
        judges = None if judge is None else judge._core
        return make_handler(self._core, rows, single, judges, judged)

    @property
    def function(self) -> Function:
        """The traced graph."""
        return self._core.function()

    def export_c(self, folder: str | Path) -> list[Path]:
        """Write standalone C99 into `folder`: source, header and an example `main.c`; the paths."""
        from kinloop.compiler.exported import export_one  # here, since few programs export

        return export_one(self, folder)

    def export_object(self, folder: str | Path, target: str = "aarch64-linux-gnu", cpu: str = "generic") -> list[Path]:
        """Write object code for another machine into `folder`, its header and an example `main.c`; the paths.

        `target` is LLVM's triple of that machine, `cpu` its name of the processor ("cortex-a72", ...). The function is
        that of `export_c`, computes what the kernel does here with sine and cosine of its own, and gives nan where an
        input is not finite. Link it with libm.
        """
        from kinloop.compiler.exported import export_one

        return export_one(self, folder, target, cpu)

    def to_casadi(self) -> Any:
        """The same computation as a `casadi.Function`."""
        from kinloop.compiler.export.casadi_graph import to_casadi  # here, since few programs export

        return to_casadi(self.function, self.name)

    def compile(self, batch: bool = False) -> Kernel:
        """Make (or load) the machine code now instead of at the first call."""
        self._core.variant(self.lanes if batch else 1)
        return self


def guarded_check(
    other: Callable[..., Any], size: int, limit: float, judge: Kernel | None, judged: int, rows: bool = False
) -> Callable[..., Any]:
    """A builtin that computes nothing: None for a vector, or rows, beyond doubt, all else to `other`; see `guarded`."""
    if not builtin.usable():
        return other
    guard = Guard([limit], None if judge is None else judge._core.code(rows), judged)
    work = 0 if not rows else 1 if judge is None else judge._core.work
    return guarded(Code(Signature("check", {"x": size}, {}, "float64"), None), guard, other, work)


def new_kernel(core: Core, recipe: Recipe | None) -> Kernel:
    """A kernel with a class of its own: its `__call__` becomes the builtin once there is one.

    A builtin in a class is no method, so that calling the kernel calls it without `self`.
    """
    own: Any = type("Kernel", (Kernel,), {"__slots__": (), "__module__": __name__, "__doc__": Kernel.__doc__})
    kernel: Kernel = own()
    kernel._core, kernel._recipe = core, recipe
    core.on_builtin = lambda f: setattr(own, "__call__", f)
    return kernel
