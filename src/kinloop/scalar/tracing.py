"""A traced computation: named inputs, named outputs, and the graph between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kinloop.scalar import elementary as fn
from kinloop.scalar.graph import Graph, Symbol, constant_value, reachable

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

    def _count(self) -> Counter:
        count: Counter = Counter()
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
            value[s.index] = _evaluate(s, given, value)

        results = tuple(_settle(_filled(out, value)) for out in self.outputs.values())
        return results[0] if len(results) == 1 else results


def _filled(out: np.ndarray, value: dict[int, Any]) -> np.ndarray:
    """An output array with its symbols replaced by their values."""
    filled = np.empty(out.shape, dtype=object)
    for k in np.ndindex(out.shape):
        x: Any = out[k]
        filled[k] = value[x.index] if isinstance(x, Symbol) else x
    return filled


def _settle(out: np.ndarray) -> np.ndarray:
    """Plain floats where nothing symbolic or batched is left."""
    if any(isinstance(x, Symbol | np.ndarray) for x in out.flat):
        return out
    return out.astype(float)


_CALLS: dict[str, Callable] = {
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


def _evaluate(s: Symbol, given: dict[str, Any], value: dict[int, Any]) -> Any:
    if s.op == "input":
        name, k = s.payload
        return given[name][k]
    if s.op == "const":
        return constant_value(s)
    args = [value[a.index] for a in s.args]
    if s.op == "loop":
        loop, n = s.payload, s.payload.carried
        return _loop(loop.rounds, loop.body, args[:n], args[n:], loop.gate, loop.usual)
    if s.op == "pick":
        return args[0][s.payload]
    call = _CALLS.get(s.op) or getattr(fn, s.op)
    return call(*args)


def substitute(outputs: np.ndarray, replacements: Mapping[Symbol, Any]) -> np.ndarray:
    """`outputs` with some symbols replaced by others, or by numbers; what does not depend on them stays."""
    value: dict[int, Any] = {s.index: x for s, x in replacements.items()}
    for s in reachable(outputs.flat):
        if s.index not in value and any(a.index in value for a in s.args):
            known = {a.index: constant_value(a) if a.op == "const" else a for a in s.args}
            value[s.index] = _evaluate(s, {}, known | {k: value[k] for k in known if k in value})
    return _filled(outputs, {s.index: s for s in reachable(outputs.flat)} | value)


def trace(f: Callable, inputs: Mapping[str, int], output: str = "out") -> Function:
    """Run `f` on symbols, one object array per input, and keep what it computes.

    `f` returns an array, or a dict of arrays by name.
    """
    graph = Graph()
    result = f(*[graph.inputs(name, size) for name, size in inputs.items()])
    return Function(inputs, result if isinstance(result, dict) else {output: result}, graph)


class _Loop:
    """What a loop node repeats: `body(carry, given) -> carry`, `rounds` times at most, of which `usual` count.

    With a `gate`, the number of one of its inputs, a kernel stops before a round in which that input is zero in
    all its states.
    """

    __slots__ = ("body", "carried", "gate", "rounds", "usual")

    def __init__(self, body: Function, rounds: int, carried: int, gate: int | None, usual: int) -> None:
        self.body, self.rounds, self.carried, self.gate, self.usual = body, rounds, carried, gate, usual


def repeat(
    rounds: int,
    body: Callable,
    carry: Any,
    given: Any = (),
    when: Any = True,
    until: Callable[[Any], Any] | None = None,
    usual: int | None = None,
) -> Any:
    """`carry` after `rounds` times `carry = body(carry, given)`, as one rolled loop where symbolic.

    `carry` and `given` are vectors; everything the body uses from outside goes through `given`. Where `when`
    does not hold, `carry` stays as it is; after a round in which `until(carry)` holds it stays as it is then. A
    kernel leaves out rounds that none of its states wants, and what only they need. `usual` is the number of rounds
    to count as operations.
    """
    n, usual = len(carry), rounds if usual is None else usual
    if until is not None:
        done = _loop(rounds, _ending(body, until), [*carry, when], given, n, usual)
        return done[:-1]
    if not isinstance(when, Symbol | np.ndarray):
        return _loop(rounds, body, carry, given, None, usual) if when else carry
    done = _loop(rounds, lambda c, g: body(c, g[:-1]), carry, [*given, when], n + len(given), usual)
    return _choose(when, done, carry)


def _ending(body: Callable, until: Callable[[Any], Any]) -> Callable:
    """`body` with one more carried value: whether a state goes on."""

    def ending(carry: Any, given: Any) -> Any:
        wants = carry[-1]
        new = _choose(wants, body(carry[:-1], given), carry[:-1])
        return np.array([*new, fn.logical_and(wants, fn.logical_not(until(new)))], dtype=object)

    return ending


def _choose(when: Any, a: Any, b: Any) -> np.ndarray:
    out = np.empty(len(a), dtype=object)
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        out[k] = fn.where(when, x, y)
    return out


def _loop(rounds: int, body: Callable, carry: Any, given: Any, gate: int | None, usual: int) -> Any:
    symbols = [x for x in (*carry, *given) if isinstance(x, Symbol)]
    if not symbols:
        for _ in range(rounds):
            if gate is not None and not np.any((*carry, *given)[gate]):
                break
            carry = body(carry, given)
        return carry
    if not isinstance(body, Function):
        n, m = len(carry), len(given)
        body = trace(body, {"carry": n, "given": m})
    graph = symbols[0].graph
    lifted = tuple(x if isinstance(x, Symbol) else graph.constant(x) for x in (*carry, *given))
    node = graph.node("loop", lifted, _Loop(body, rounds, len(carry), gate, usual))
    out = np.empty(len(carry), dtype=object)
    for k in range(len(carry)):
        out[k] = graph.node("pick", (node,), k)
    return out


def unrolled(function: Function) -> Function:
    """The same function with every loop written out, round after round."""
    if not any(s.op == "loop" for s in function.nodes):
        return function
    graph = Graph()
    value: dict[int, Any] = {}
    given = {name: graph.inputs(name, size) for name, size in function.inputs.items()}
    for s in function.nodes:
        if s.op == "loop":
            carry, rest = [value[a.index] for a in s.args[: s.payload.carried]], s.args[s.payload.carried :]
            body = unrolled(s.payload.body)
            for _ in range(s.payload.rounds):
                carry = body(carry, [value[a.index] for a in rest])
            value[s.index] = carry
        else:
            value[s.index] = _evaluate(s, given, value)
    outputs = {name: _filled(out, value) for name, out in function.outputs.items()}
    return Function(function.inputs, outputs, graph)
