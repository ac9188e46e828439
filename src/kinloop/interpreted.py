"""A function on numbers that is called as a kernel is, where none can be made: one state, a batch, many steps of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array


class Interpreted:
    """A function of named vectors on numbers, row by row of a batch, called as a kernel is.

    It serves machines without llvmlite, methods that need numbers, and debuggers.
    """

    def __init__(self, name: str, call: Callable[..., Any], inputs: Mapping[str, int]) -> None:
        self.name, self._call, self._sizes = name, call, dict(inputs)

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Input names and the shape of one state."""
        return {name: (n,) for name, n in self._sizes.items()}

    @functools.cached_property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Output names and the shape of one state."""
        return {name: out.shape for name, out in sc.trace(self._call, self._sizes).outputs.items()}

    def __call__(self, *inputs: Array, threads: int | None = None) -> Any:
        """The outputs, one array or a tuple of them, for one state or a batch; `threads` has no meaning here."""
        with np.errstate(all="ignore"):
            lead = np.broadcast_shapes(*(np.shape(x)[:-1] for x in inputs))
            if 0 not in lead:
                return rowwise(self._one, *inputs)
            return _single(tuple(np.empty((*lead, *shape)) for shape in self.outputs.values()))

    def _one(self, *inputs: Array) -> Any:
        found = self._call(*inputs)
        values = found.values() if isinstance(found, Mapping) else (found,)
        return _single(tuple(np.asarray(x, dtype=float) for x in values))

    def iterate(
        self,
        *inputs: Array,
        steps: int,
        feedback: Mapping[str, str],
        stepped: Sequence[str] = (),
        every: int = 1,
        threads: int | None = None,
    ) -> dict[str, Array]:
        """Many steps of a batch, as `Kernel.iterate` does them."""
        given = dict(zip(self._sizes, inputs, strict=True))
        kept: dict[str, list[Array]] = {name: [] for name in self.outputs if name not in feedback.values()}
        out: dict[str, Array] = {}
        for k in range(steps):
            now = [x[..., k, :] if name in stepped else x for name, x in given.items()]
            found = self(*now)
            out = dict(zip(self.outputs, found if isinstance(found, tuple) else (found,), strict=True))
            given |= {state: out[after] for state, after in feedback.items()}
            if (k + 1) % every == 0:
                for name, record in kept.items():
                    record.append(out[name])
        lead = np.broadcast_shapes(*(x.shape[: -1 - (name in stepped)] for name, x in given.items()))
        records = {
            name: np.stack(record, axis=len(lead)) if record else np.empty((*lead, 0, *self.outputs[name]))
            for name, record in kept.items()
        }
        return {after: out[after] for after in feedback.values()} | records

    def stepping(self, rows: int, feedback: Mapping[str, str]) -> InterpretedStepping:
        """Arrays of inputs for so many rows, on which `advance` takes steps."""
        arrays = {name: np.zeros((rows, n)) for name, n in self._sizes.items()}
        return InterpretedStepping(arrays, dict(feedback), {}, {})

    def advance(
        self, stepping: InterpretedStepping, steps: int, every: int = 1, threads: int | None = None, first: None = None
    ) -> int:
        """Steps of a batch on its own arrays, as `Kernel.advance` takes them."""
        given = stepping.arrays | stepping.tables
        out = self.iterate(
            *given.values(), steps=steps, feedback=stepping.feedback, stepped=tuple(stepping.tables), every=every
        )
        for name, after in stepping.feedback.items():
            stepping.arrays[name][:] = out[after]
        for name, (x, begin) in stepping.records.items():
            x[:, begin : begin + steps // every] = out[name]
        return -1


class InterpretedStepping(NamedTuple):
    """What `Interpreted.advance` works on: arrays and tables of inputs, records of outputs from a time on."""

    arrays: dict[str, Array]
    feedback: dict[str, str]
    tables: dict[str, Array]
    records: dict[str, tuple[Array, int]]

    @property
    def rows(self) -> int:
        return len(next(iter(self.arrays.values())))

    def forget(self) -> None:
        """Let go of tables and records."""
        self.tables.clear()
        self.records.clear()

    def read_table(self, name: str, x: Array | None) -> None:
        """Let an input be x (rows or 1, steps, n), another in every step; None for what `arrays` has in all of them."""
        if x is None:
            self.tables.pop(name, None)
        else:
            self.tables[name] = np.broadcast_to(x, (len(self.arrays[name]), *x.shape[1:]))

    def record(self, name: str, x: Array | None, first: int = 0) -> None:
        """Let an output be recorded in x (rows, times, ...) from the time `first` on; None for no record."""
        if x is None:
            self.records.pop(name, None)
        else:
            self.records[name] = (x, first)


@overload
def rowwise(f: Callable[..., Array], *arrays: Array) -> Array: ...
@overload
def rowwise(f: Callable[..., tuple[Array, ...]], *arrays: Array) -> tuple[Array, ...]: ...
def rowwise(f: Callable[..., Any], *arrays: Array) -> Any:
    """`f` on every row of the broadcast arrays: its result, or the tuple of its results, with their leading axes."""
    lead = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    if not lead:
        return f(*arrays)
    spread = [np.broadcast_to(a, (*lead, a.shape[-1])) for a in arrays]
    rows = [f(*(a[k] for a in spread)) for k in np.ndindex(lead)]
    if isinstance(rows[0], tuple):
        return tuple(np.array(column).reshape(*lead, *np.shape(column[0])) for column in zip(*rows, strict=True))
    return np.array(rows).reshape(*lead, *np.shape(rows[0]))


def _single(results: tuple[Array, ...]) -> Any:
    return results[0] if len(results) == 1 else results
