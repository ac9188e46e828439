"""A traced computation: named inputs, named outputs, and the graph between them."""

from __future__ import annotations

import contextlib
import gc
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop.scalar import elementary as fn
from kinloop.scalar.graph import Graph, reachable
from kinloop.scalar.indexed import take_number
from kinloop.scalar.symbol import Array, Symbol, constant_value, known

LEAVES = ("input", "const", "pick", "table")


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
        count = Counter([s.op for s in self.nodes])
        if "loop" in count:
            for loop in [s.payload for s in self.nodes if s.op == "loop"]:
                for op, n in loop.body._count().items():
                    if op != "total":
                        count[op] += n * loop.usual
        for op in (*LEAVES, "loop"):
            del count[op]
        count["total"] = sum(count.values())
        return count

    def named(self, *args: Any) -> dict[str, Array]:
        """Outputs by name, as a call gives them."""
        results = self(*args)
        return dict(zip(self.outputs, results if len(self.outputs) != 1 else (results,), strict=True))

    def __call__(self, *args: Any) -> Any:
        """Outputs for the given inputs, each a sequence of numbers, symbols or equal-shaped batches."""
        if len(args) != len(self.inputs):
            raise TypeError(f"expected {len(self.inputs)} inputs ({', '.join(self.inputs)}), received {len(args)}")
        given = dict(zip(self.inputs, args, strict=True))
        values = [x if name is None else given[name][x] for name, x in self._replay.leaves]
        for call, take in self._replay.calls:
            values.append(call(*take(values)))
        results = tuple(_settle(_filled(out, places, values)) for out, places in self._replay.outputs)
        return results[0] if len(results) == 1 else results

    @cached_property
    def _replay(self) -> _Replay:
        """The graph as a list of calls: found once, since functions of loops are called thousands of times."""
        leaves = [s for s in self.nodes if s.op in ("input", "const")]
        others = [s for s in self.nodes if s.op not in ("input", "const")]
        place = {s.index: k for k, s in enumerate([*leaves, *others])}
        calls = [(_call_of(s), _taking([place[a.index] for a in s.args])) for s in others]
        outputs = []
        for out in self.outputs.values():
            places = [(k, place[x.index]) for k, x in enumerate(out.flat) if isinstance(x, Symbol)]
            outputs.append((out, places))
        return _Replay([s.payload if s.op == "input" else (None, constant_value(s)) for s in leaves], calls, outputs)


class _Replay(NamedTuple):
    """What a call of a function does: inputs by name and index, or constants (None, number); calls, each with what it
    takes of the values before; the outputs, with the places of their symbols and of these symbols' values."""

    leaves: list[tuple[str | None, Any]]
    calls: list[tuple[Callable[..., Any], Callable[[list[Any]], Any]]]
    outputs: list[tuple[Array, list[tuple[int, int]]]]


def _taking(places: list[int]) -> Callable[[list[Any]], Any]:
    """What takes the values at some places, as a tuple."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    if not places:
        return lambda values: ()
    return operator.itemgetter(slice(places[0], places[0] + 1))


def _filled(outputs: Array, places: list[tuple[int, int]], values: list[Any]) -> Array:
    """An array with its symbols replaced by their values."""
    out = outputs.copy()
    flat = out.reshape(-1)  # a view: new arrays are contiguous
    for k, place in places:
        flat[k] = values[place]
    return out


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
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "lt": operator.lt,
    "le": operator.le,
    "and": fn.logical_and,
    "or": fn.logical_or,
    "not": fn.logical_not,
    "where": fn.where,
    "abs": fn.absolute,
    "same": lambda x: x,
    "table": lambda *entries: entries,
    "take": take_number,
}


def _divide(a: Any, b: Any) -> Any:
    if isinstance(a, Symbol) or isinstance(b, Symbol):
        return a / b
    with np.errstate(all="ignore"):
        return np.divide(a, b)


_CALLS["div"] = _divide


def _flat(found: Any) -> list[Any]:
    """What `nearest` found, as a list: the numbers of the chosen, then how many there are."""
    return [*found[0], found[1]] if isinstance(found, tuple) else list(found)


def evaluate(s: Symbol, given: Mapping[str, Any], value: Mapping[int, Any]) -> Any:
    """The value of a node, from the inputs by name and the values of its arguments by number."""
    if s.op == "input":
        name, k = s.payload
        return given[name][k]
    if s.op == "const":
        return constant_value(s)
    return _call_of(s)(*[value[a.index] for a in s.args])


def _call_of(s: Symbol) -> Callable[..., Any]:
    """What gives the value of a node from those of its arguments."""
    if s.op == "loop":
        loop, n = s.payload, s.payload.carried
        return lambda *args: loop(args[:n], args[n:])
    if s.op == "pick":
        return operator.itemgetter(s.payload)
    if s.op == "table" and s.payload is not None:
        return lambda: s.payload.entries
    if s.op == "nearest":
        return lambda *keys: _flat(s.payload(*keys))
    call: Callable[..., Any] = _CALLS.get(s.op) or getattr(fn, s.op)
    return call if s.payload is None else lambda *args: fn.usually(call(*args))


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

    It would look at all of them time and again, which takes a fifth of the trace of a robot, and finds nothing. Behind
    it they count as old, as if they had been looked at; nothing else is held frozen meanwhile.
    """
    looks = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looks:
            if gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def trace(f: Callable[..., Any], inputs: Mapping[str, int]) -> Function:
    """Run `f` on symbols, one object array per input, and keep what it computes.

    `f` returns an array, which is called "out", or a dict of arrays by name.
    """
    graph = Graph()
    with kept_objects():
        result = f(*[graph.inputs(name, size) for name, size in inputs.items()])
        return Function(inputs, result if isinstance(result, dict) else {"out": result}, graph)
