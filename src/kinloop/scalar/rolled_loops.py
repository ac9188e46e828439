"""Rolled loops: a body that is repeated is traced once and becomes one node of the graph.

The node "loop" takes the vector that is carried from round to round and what the body is given in every round; nodes
"pick" take the entries of what it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinloop.scalar import elementary as fn
from kinloop.scalar.graph import Graph
from kinloop.scalar.symbol import Array, Symbol, lift
from kinloop.scalar.tracing import Function, evaluate, filled, trace


class Loop:
    """What a loop node repeats: `body(carry, given) -> carry`, `rounds` times at most, of which `usual` count.

    With a `gate`, the number of one of its inputs, a kernel stops before a round in which that input is zero in
    all its states. A loop over tables, `body(carry, given, shared, row) -> carry and what is left`, reads a row of each
    in every round, `widths` values of them, and leaves `left` values. Rounds that are left out leave zero in the
    columns `cleared`, and in others nothing that anyone may read. Of
    what is `shared`, some groups of so many values, a kernel makes no copy for the body.
    """

    __slots__ = ("body", "carried", "cleared", "gate", "left", "rounds", "shared", "usual", "widths")

    def __init__(
        self, body: Callable[..., Any], rounds: int, carried: int, gate: int | None, usual: int,
        shared: tuple[int, ...] = (), widths: tuple[int, ...] = (), left: int = 0,
        cleared: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        self.body, self.rounds, self.carried, self.gate, self.usual = body, rounds, carried, gate, usual
        self.shared, self.widths, self.left, self.cleared = shared, widths, left, cleared

    @property
    def sizes(self) -> tuple[tuple[int, ...], tuple[int, ...], int, tuple[int, ...]]:
        """What only loops over tables have: `shared`, `widths`, `left` and `cleared`."""
        return self.shared, self.widths, self.left, self.cleared

    @property
    def plain(self) -> bool:
        """Whether the body takes nothing but what is carried and given."""
        return not (self.shared or self.widths or self.left)

    @property
    def width(self) -> int:
        """How many values a round reads from tables."""
        return sum(self.widths)

    def __call__(self, carry: Any, given: Any) -> Any:
        """`carry` after all rounds, and what they left: on numbers round after round, on symbols as a node.

        `given` has what is given, what is shared and the rows of the table, one after the other.
        """
        symbols = [x for x in (*carry, *given) if isinstance(x, Symbol)]
        if symbols:
            return self.node(symbols[0].graph, carry, given)
        left: list[Any] = [0.0] * (self.rounds * self.left)
        for k in range(self.rounds):
            if self.gate is not None and not np.any((*carry, *given)[self.gate]):
                break
            out = self.round(carry, given, k)
            carry, left[k * self.left : (k + 1) * self.left] = out[: self.carried], list(out[self.carried :])
        return carry if not self.left else [*carry, *left]

    def round(self, carry: Any, given: Any, k: int) -> Any:
        """What round k makes of `carry`, and what it leaves."""
        if self.plain:
            return self.body(carry, given)
        rows = len(given) - self.rounds * self.width
        shared = sum(self.shared)
        held, values = given[: rows - shared], given[rows - shared : rows]
        row: list[Any] = []
        for width in self.widths:
            row += list(given[rows + k * width : rows + (k + 1) * width])
            rows += self.rounds * width
        return self.body(carry, held, values, joined(row))

    def node(self, graph: Graph, carry: Any, given: Any) -> Array:
        """The loop as a node, and one node for every entry of what it leaves."""
        body, shared = self.body, sum(self.shared)
        held = len(given) - shared - self.rounds * self.width
        sizes = {"carry": len(carry), "given": held, "shared": shared, "row": self.width}
        if not isinstance(body, Function):
            body = trace(body, {name: sizes[name] for name in (("carry", "given") if self.plain else sizes)})
        lifted = tuple(lift(graph, x) for x in (*carry, *given))
        kept = Loop(body, self.rounds, len(carry), self.gate, self.usual, *self.sizes)
        node = graph.node("loop", lifted, kept)
        out = np.empty(len(carry) + self.rounds * self.left, dtype=object)
        for k in range(len(out)):
            out[k] = graph.node("pick", (node,), k)
        return out


def repeat(
    rounds: int,
    body: Callable[..., Any],
    carry: Any,
    given: Any = (),
    when: Any = True,
    until: Callable[[Any], Any] | None = None,
    usual: int | None = None,
    shared: Any = (),
    chooses: bool = False,
) -> Any:
    """`carry` after `rounds` times `carry = body(carry, given)`, as one rolled loop where symbolic.

    `carry` and `given` are vectors; everything the body uses from outside goes through `given`, or through `shared`,
    its third argument then, where many values are meant that a kernel should not copy: an array, or a list of some,
    which the body gets as one vector. Where `when`
    does not hold, `carry` stays as it is; after a round in which `until(carry)` holds it stays as it is then. A
    kernel leaves out rounds that none of its states wants, and what only they need. `usual` is the number of rounds
    to count as operations. A body with an `until` that `chooses` gets as its last argument whether a state wants the
    round, and itself leaves `carry` as it is where not.
    """
    n, usual = len(carry), rounds if usual is None else usual
    groups = shared if isinstance(shared, list) else [shared]
    many, shared = tuple(len(x) for x in groups if len(x)), [x for group in groups for x in group]
    values = joined([*given, *shared]) if many else given
    if until is not None:
        ending = _ending(body, until, chooses)
        return Loop(_shared(ending) if many else ending, rounds, n + 1, n, usual, many)([*carry, when], values)[:-1]
    if not isinstance(when, Symbol | np.ndarray):
        plain = Loop(_shared(body) if many else body, rounds, n, None, usual, many)
        return plain(carry, values) if when else carry
    m = len(given)
    if many:
        gated = Loop(lambda c, g, s, _: body(c, g[:-1], s), rounds, n, n + m, usual, many)
    else:
        gated = Loop(lambda c, g: body(c, g[:-1]), rounds, n, n + m, usual)
    return _choose(when, gated(carry, joined([*given, when, *shared]) if many else [*given, when]), carry)


def scan(
    body: Callable[..., Any],
    carry: Any,
    tables: Any,
    shared: Any = (),
    count: Any = None,
    usual: int = 0,
    cleared: Sequence[int] | None = None,
) -> tuple[Any, Array]:
    """`carry, left = body(carry, row, shared)` for every row of a table (n, k): the last `carry`, and what they left.

    `tables` is one such table, or a list of some with as many rows, which are read side by side. `shared` is an array
    or tuple, or a list of some, which the body gets as one vector. `left` is a vector of equal length in every round;
    together they are a table (n, m). Where a `count` is given, only the first so many rows are looked at: what is left
    of others is zero, and a kernel leaves out those that none of its states has. If `cleared` is given, it is zero in
    these columns only (counted from the end where negative), and others must not be read there. `usual` is the number
    of rows to count as operations, 0 for all.
    """
    tables = [np.asarray(t) for t in (tables if isinstance(tables, list) else [tables])]
    rounds, widths, left_by = len(tables[0]), tuple(t.shape[1] for t in tables), _Left()
    groups = shared if isinstance(shared, list) else [shared]
    shared = [x for group in groups for x in group]

    def every(c: Any, given: Any, held: Any, row: Any) -> Array:
        new, left = body(c, row, held)
        left_by.round = len(left)
        return joined([*new, *left])

    def some(c: Any, given: Any, held: Any, row: Any) -> Array:
        place, wants, before = c[0], c[1], c[2:]
        new, left = body(before, row, held)
        left_by.round = len(left)
        on = [place + 1.0, place + 1.0 < given[0]]
        blank = _columns(cleared, len(left))
        left = [fn.where(wants, x, 0.0) if k in blank else x for k, x in enumerate(left)]
        return joined([*on, *_choose(wants, new, before), *left])

    begin = list(carry) if count is None else [0.0, count > 0.0, *carry]
    given = [] if count is None else [count]
    sizes = {"carry": len(begin), "given": len(given), "shared": len(shared), "row": sum(widths)}
    function = trace(every if count is None else some, sizes)
    gate = None if count is None else 1
    blank = _columns(cleared, left_by.round)
    loop = Loop(
        function, rounds, len(begin), gate, usual or rounds, tuple(map(len, groups)), widths, left_by.round, blank
    )
    end = loop(begin, joined([*given, *shared, *(x for t in tables for x in t.flat)]))
    return end[len(begin) - len(carry) : len(begin)], joined(end[len(begin) :]).reshape(rounds, left_by.round)


def _columns(cleared: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """Columns of so many, counted from the end where negative; all of them for None."""
    return tuple(range(count)) if cleared is None else tuple(k % count for k in cleared)


class _Left:
    """How many values a round leaves: known when its body was traced."""

    round = 0


def joined(values: Any) -> Array:
    """Values, each of which may be an array of a batch, as one vector."""
    out = np.empty(len(values), dtype=object)
    for k, x in enumerate(values):
        out[k] = x
    return out


def _shared(body: Callable[..., Any]) -> Callable[..., Any]:
    """A body of (carry, given, shared) as one that also takes the row of a table, of which there is none."""
    return lambda carry, given, shared, _: body(carry, given, shared)


def _ending(body: Callable[..., Any], until: Callable[[Any], Any], chooses: bool) -> Callable[..., Any]:
    """`body` with one more carried value: whether a state goes on."""

    def ending(carry: Any, *given: Any) -> Any:
        wants = carry[-1]
        old = carry[:-1]
        new = body(old, *given, wants) if chooses else _choose(wants, body(old, *given), old)
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
    inputs = {name: graph.inputs(name, size) for name, size in function.inputs.items()}
    for s in function.nodes:
        if s.op == "loop":
            given = [value[a.index] for a in s.args]
            value[s.index] = _written_out(s.payload, given[: s.payload.carried], given[s.payload.carried :])
        elif s.op == "same":
            value[s.index] = fn.opaque(value[s.args[0].index])
        else:
            value[s.index] = evaluate(s, inputs, value)
    outputs = {name: filled(out, value) for name, out in function.outputs.items()}
    return Function(function.inputs, outputs, graph)


def _unrolled_body(body: Callable[..., Any]) -> Function:
    assert isinstance(body, Function), "loops in graphs have traced bodies"
    return unrolled(body)


def _written_out(loop: Loop, carry: Any, given: Any) -> Any:
    """What a loop leaves, round after round; rounds that may be left out leave what they found."""
    left: list[Any] = []
    whole = Loop(
        _unrolled_body(loop.body), loop.rounds, loop.carried, None, loop.usual, loop.shared, loop.widths, loop.left
    )
    for k in range(loop.rounds):
        out = whole.round(carry, given, k)
        carry, left = out[: loop.carried], [*left, *out[loop.carried :]]
    return [*carry, *left]
