"""A traced computation: named inputs, named outputs, and the graph between them."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from kinloop.scalar import elementary as fn
from kinloop.scalar.graph import Graph, reachable
from kinloop.scalar.symbol import Array, Symbol, constant_value, known

LEAVES = ("input", "const", "pick")


class Function:
    """Outputs as a graph over inputs. Calling it replays the graph on numbers, symbols or batches.

    `inputs` maps a name to the size of that input vector, `outputs` a name to an array of numbers and
    symbols. `Function.nodes` lists what the outputs need, in an order of evaluation.
    """

    def __init__(self, inputs: Mapping[str, int], outputs: Mapping[str, Any], graph: Graph) -> None:
        self.graph = graph
        self.inputs = dict(inputs)
        self.outputs = {name: np.asarray(value, dtype=object) for name, value in outputs.items()}
        self.nodes = reachable(x for out in self.outputs.values() for x in out.flat)

    @property
    def operations(self) -> dict[str, int]:
        """Count of each operation in one evaluation, and their 'total'; loops count every usual round."""
        return dict(self._count())

    def _count(self) -> Counter[str]:
        count: Counter[str] = Counter()
        for s in self.nodes:
            if s.op == "loop":
                for op, n in s.payload.body._count().items():
                    if op != "total":
                        count[op] += n * s.payload.usual
            elif s.op not in LEAVES:
                count[s.op] += 1
        count["total"] = sum(count.values())
        return count

    def __call__(self, *args: Any) -> Any:
        """Outputs for the given inputs, each a sequence of numbers, symbols or equal-shaped batches."""
        if len(args) != len(self.inputs):
            raise TypeError(f"expected {len(self.inputs)} inputs ({', '.join(self.inputs)}), received {len(args)}")
        given = dict(zip(self.inputs, args, strict=True))
        value: dict[int, Any] = {}
        for s in self.nodes:
            value[s.index] = evaluate(s, given, value)

        results = tuple(_settle(filled(out, value)) for out in self.outputs.values())
        return results[0] if len(results) == 1 else results


def filled(outputs: Array, value: Mapping[int, Any]) -> Array:
    """An array with its symbols replaced by their values."""
    out = np.empty(outputs.shape, dtype=object)
    for k in np.ndindex(out.shape):
        x: Any = outputs[k]
        out[k] = value[x.index] if isinstance(x, Symbol) else x
    return out


def _settle(out: Array) -> Array:
    """Plain floats where nothing symbolic or batched is left."""
    if any(isinstance(x, Symbol | np.ndarray) for x in out.flat):
        return out
    return out.astype(float)


_CALLS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "and": fn.logical_and,
    "or": fn.logical_or,
    "not": fn.logical_not,
    "where": fn.where,
    "abs": fn.absolute,
}


def _divide(a: Any, b: Any) -> Any:
    if isinstance(a, Symbol) or isinstance(b, Symbol):
        return a / b
    with np.errstate(all="ignore"):
        return np.divide(a, b)


_CALLS["div"] = _divide


def evaluate(s: Symbol, given: Mapping[str, Any], value: Mapping[int, Any]) -> Any:
    """The value of a node, from the inputs by name and the values of its arguments by number."""
    if s.op == "input":
        name, k = s.payload
        return given[name][k]
    if s.op == "const":
        return constant_value(s)
    args = [value[a.index] for a in s.args]
    if s.op == "loop":
        return s.payload(args[: s.payload.carried], args[s.payload.carried :])
    if s.op == "pick":
        return args[0][s.payload]
    call = _CALLS.get(s.op) or getattr(fn, s.op)
    return call(*args)


def substitute(outputs: Array, replacements: Mapping[Symbol, Any]) -> Array:
    """`outputs` with some symbols replaced by others, or by numbers; what does not depend on them stays."""
    value: dict[int, Any] = {s.index: x for s, x in replacements.items()}
    for s in reachable(outputs.flat):
        if s.index not in value and any(a.index in value for a in s.args):
            given = {a.index: value[a.index] if a.index in value else known(a) for a in s.args}
            value[s.index] = evaluate(s, {}, given)
    return filled(outputs, {s.index: s for s in reachable(outputs.flat)} | value)


@contextlib.contextmanager
def kept_objects() -> Iterator[None]:
    """For work that makes many objects and keeps them all: Python does not look for garbage among them as they grow.

    It would look at all of them time and again, which takes a fifth of the trace of a robot, and finds nothing.
    """
    looks = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looks:
            gc.enable()


def trace(f: Callable[..., Any], inputs: Mapping[str, int]) -> Function:
    """Run `f` on symbols, one object array per input, and keep what it computes.

    `f` returns an array, which is called "out", or a dict of arrays by name.
    """
    graph = Graph()
    with kept_objects():
        result = f(*[graph.inputs(name, size) for name, size in inputs.items()])
        return Function(inputs, result if isinstance(result, dict) else {"out": result}, graph)
