"""Many steps in one native call: the arguments of `Kernel.iterate`, checked and laid out for machine code.

And `Stepping`, for who makes such calls again and again on arrays that stay where they are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinloop.compiler.run.arguments import data_address
from kinloop.compiler.signature import Signature
from kinloop.errors import MethodError, NonFiniteInput, ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NOT_FED = -1  # in place of an input slot: this output is recorded, not fed back


@dataclass(frozen=True)
class Iteration:
    """One call: what `@iterate` reads (emit/iteration_loop.py), and the arrays to hand back."""

    rows: int
    steps: int
    every: int
    table: list[int]
    more: list[int]
    inputs: list[np.ndarray]  # kept alive while machine code reads them
    results: dict[str, np.ndarray]
    single: bool

    def finish(self) -> dict[str, np.ndarray]:
        """Final values of fed-back outputs and records of the others, by name."""
        return {name: y[0] for name, y in self.results.items()} if self.single else self.results


class IterationReader:
    """Reads the calls of one kernel; what feedback and stepped inputs came down to is kept for the next call."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._last: tuple[object, list[int]] | None = None

    def read(
        self,
        inputs: Sequence[ArrayLike],
        steps: int,
        feedback: Mapping[str, str],
        stepped: Sequence[str],
        every: int,
    ) -> Iteration:
        """Check arguments and lay them out; raises naming the argument, what is expected and what came."""
        s = self._signature
        if len(inputs) != len(s.inputs):
            raise MethodError(f"iterate takes {len(s.inputs)} inputs ({', '.join(s.inputs)}), received {len(inputs)}")
        if steps < 1 or every < 1:
            raise MethodError(f"steps={steps!r} and every={every!r} must be whole numbers from 1 on")
        slots = self.slots(feedback, stepped)
        given = [np.asarray(x, dtype=s.real) for x in inputs]
        single, rows = _rows(s, given, steps, stepped)
        given = [np.ascontiguousarray(x) for x in given]
        table: list[int] = []
        more: list[int] = []
        for x, (name, n) in zip(given, s.inputs.items(), strict=True):
            table += [data_address(x), x.nbytes // rows if x.ndim > 1 + (name in stepped) else 0]
            more.append(n * x.itemsize if name in stepped else 0)
        results: dict[str, np.ndarray] = {}
        for (name, shape), slot, size in zip(s.outputs.items(), slots, s.output_sizes, strict=True):
            recorded = () if slot != NOT_FED else (steps // every,)
            y = results[name] = np.empty((rows, *recorded, *shape), dtype=s.real)
            table += [data_address(y), y.nbytes // rows]
            more.append(size * y.itemsize if recorded else 0)
        return Iteration(rows, steps, every, table, [*more, *slots], given, results, single)

    def slots(self, feedback: Mapping[str, str], stepped: Sequence[str] = ()) -> list[int]:
        """For every output the slot of the input it becomes after a step, or NOT_FED."""
        last, key = self._last, (tuple(feedback.items()), tuple(stepped))
        if last is None or last[0] != key:
            _check(self._signature, feedback, stepped)
            sizes = list(self._signature.inputs.values())
            first = {name: sum(sizes[:k]) for k, name in enumerate(self._signature.inputs)}
            target = {out: first[name] for name, out in feedback.items()}
            last = self._last = (key, [target.get(name, NOT_FED) for name in self._signature.outputs])
        return last[1]


class Stepping:
    """Steps of a batch on arrays that stay where they are.

    `arrays` has an array (rows, n) for every input, all in one piece of memory. `table` and `more` say where they lie
    as `@iterate` reads it: outputs that are fed back are written over the inputs that they become. Whoever fills the
    arrays sees to it that their numbers are finite.
    """

    def __init__(self, signature: Signature, rows: int, feedback: Mapping[str, str]) -> None:
        self.rows, self._signature = rows, signature
        slots = IterationReader(signature).slots(feedback)
        memory = np.zeros(rows * sum(signature.inputs.values()), dtype=signature.real)
        address, unit, start = data_address(memory), memory.itemsize, 0
        self.arrays: dict[str, np.ndarray] = {}
        own: dict[str, tuple[int, int]] = {}
        for name, n in signature.inputs.items():
            self.arrays[name] = memory[start : start + rows * n].reshape(rows, n)
            own[name] = (address + start * unit, n * unit)
            start += rows * n
        fed = {out: own[name] for name, out in feedback.items()}
        entries = [*own.values(), *(fed.get(name, (0, 0)) for name in signature.outputs)]
        table, more = [x for entry in entries for x in entry], [*([0] * len(entries)), *slots]
        self.table, self.more = (ctypes.c_int64 * len(table))(*table), (ctypes.c_int64 * len(more))(*more)
        self._own = list(own.values())
        self._places = {name: k for k, name in enumerate((*signature.inputs, *signature.outputs))}
        self._units = [n * unit for n in (*signature.inputs.values(), *signature.output_sizes)]
        self._known: dict[str, tuple[np.ndarray, int]] = {}

    def read_table(self, name: str, x: np.ndarray | None) -> None:
        """Let an input be x (rows or 1, steps, n), another in every step; None for what `arrays` has in all of them."""
        k = self._places[name]
        if x is None:
            (self.table[2 * k], self.table[2 * k + 1]), self.more[k] = self._own[k], 0
            return
        x = x if x.strides[2] == x.itemsize else np.ascontiguousarray(x)
        self._point(name, x, 0)
        self.table[2 * k + 1], self.more[k] = x.strides[0] if len(x) > 1 else 0, x.strides[1]

    def record(self, name: str, x: np.ndarray | None, first: int = 0) -> None:
        """Let an output be recorded in x (rows, times, ...) from the time `first` on; None for no record."""
        k = self._places[name]
        if x is None:
            self.more[k] = 0
            return
        self._point(name, x, first * self._units[k])
        self.table[2 * k + 1], self.more[k] = x.nbytes // len(x), self._units[k]

    def forget(self) -> None:
        """Let go of tables and records."""
        for name in self._known:
            if name in self._signature.inputs:
                self.read_table(name, None)
            else:
                self.record(name, None)
        self._known = {}

    def _point(self, name: str, x: np.ndarray, offset: int) -> None:
        """Let an entry of the table begin so many bytes behind the beginning of x, which is kept alive."""
        known = self._known.get(name)
        if known is None or known[0] is not x:
            known = self._known[name] = (x, data_address(x))
        self.table[2 * self._places[name]] = known[1] + offset


def _check(s: Signature, feedback: Mapping[str, str], stepped: Sequence[str]) -> None:
    sizes = dict(zip(s.outputs, s.output_sizes, strict=True))
    for inp, out in feedback.items():
        if inp not in s.inputs or out not in s.outputs:
            raise MethodError(f"feedback {inp!r}: {out!r} does not pair an input with an output of this kernel")
        if s.inputs[inp] != sizes[out]:
            raise MethodError(f"feedback {inp!r}: {out!r} pairs {s.inputs[inp]} numbers with shape {s.outputs[out]}")
    for name in stepped:
        if name not in s.inputs or name in feedback:
            raise MethodError(f"stepped input {name!r} is not an input of this kernel, or is fed back")


def _rows(s: Signature, given: list[np.ndarray], steps: int, stepped: Sequence[str]) -> tuple[bool, int]:
    """Whether all inputs are single, and the number of rows they agree on."""
    rows = None
    for x, (name, n) in zip(given, s.inputs.items(), strict=True):
        tail = (steps, n) if name in stepped else (n,)
        if x.shape[x.ndim - len(tail) :] != tail or x.ndim > len(tail) + 1:
            raise ShapeError(
                f"input {name!r} must have shape {tail} or (rows, {', '.join(map(str, tail))}), received {x.shape}"
            )
        if not np.isfinite(x).all():
            raise NonFiniteInput(f"input {name!r} holds nan or infinity; give finite numbers")
        if x.ndim > len(tail):
            if rows not in (None, x.shape[0]):
                raise ShapeError(f"input {name!r} has {x.shape[0]} rows where others have {rows}; give equal numbers")
            rows = x.shape[0]
    return rows is None, 1 if rows is None else rows
