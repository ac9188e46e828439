"""Rolled loops: a body that is repeated is traced once and becomes one node of the graph.

The node "loop" takes the vector that is carried from round to round and what the body is given in every round; nodes
"pick" take the entries of what it leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop.scalar import elementary as fn
from kinloop.scalar.graph import Graph
from kinloop.scalar.symbol import Array, Symbol, lift
from kinloop.scalar.tracing import Function, evaluate, filled, trace


class Loop:
    """What a loop node repeats: `body(carry, given) -> carry`, `rounds` times at most, of which `usual` count.

    With a `gate`, the number of one of its inputs, a kernel stops before a round in which that input is zero in
    all its states.
    """

    __slots__ = ("body", "carried", "gate", "rounds", "usual")

    def __init__(self, body: Callable[..., Any], rounds: int, carried: int, gate: int | None, usual: int) -> None:
        self.body, self.rounds, self.carried, self.gate, self.usual = body, rounds, carried, gate, usual

    def __call__(self, carry: Any, given: Any) -> Any:
        """`carry` after all rounds: on numbers round after round, on symbols as a node of their graph."""
        symbols = [x for x in (*carry, *given) if isinstance(x, Symbol)]
        if symbols:
            return self.node(symbols[0].graph, carry, given)
        for _ in range(self.rounds):
            if self.gate is not None and not np.any((*carry, *given)[self.gate]):
                break
            carry = self.body(carry, given)
        return carry

    def node(self, graph: Graph, carry: Any, given: Any) -> Array:
        """The loop as a node, and one node for every entry of what it leaves."""
        body = self.body
        if not isinstance(body, Function):
            body = trace(body, {"carry": len(carry), "given": len(given)})
        lifted = tuple(lift(graph, x) for x in (*carry, *given))
        node = graph.node("loop", lifted, Loop(body, self.rounds, len(carry), self.gate, self.usual))
        out = np.empty(len(carry), dtype=object)
        for k in range(len(carry)):
            out[k] = graph.node("pick", (node,), k)
        return out


def repeat(
    rounds: int,
    body: Callable[[Any, Any], Any],
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
        return Loop(_ending(body, until), rounds, n + 1, n, usual)([*carry, when], given)[:-1]
    if not isinstance(when, Symbol | np.ndarray):
        return Loop(body, rounds, n, None, usual)(carry, given) if when else carry
    gated = Loop(lambda c, g: body(c, g[:-1]), rounds, n, n + len(given), usual)
    return _choose(when, gated(carry, [*given, when]), carry)


def _ending(body: Callable[[Any, Any], Any], until: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """`body` with one more carried value: whether a state goes on."""

    def ending(carry: Any, given: Any) -> Any:
        wants = carry[-1]
        new = _choose(wants, body(carry[:-1], given), carry[:-1])
        return np.array([*new, fn.logical_and(wants, fn.logical_not(until(new)))], dtype=object)

    return ending


def _choose(when: Any, a: Any, b: Any) -> Array:
    out = np.empty(len(a), dtype=object)
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        out[k] = fn.where(when, x, y)
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
            value[s.index] = evaluate(s, given, value)
    outputs = {name: filled(out, value) for name, out in function.outputs.items()}
    return Function(function.inputs, outputs, graph)
