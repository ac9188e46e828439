"""Forward derivatives through rolled loops: the derivative of a loop is a loop that carries tangents besides.

With x' = body(x, given) in every round, the tangents follow dx' = d body(x, given; dx, dgiven) in the same rounds. The
loop of both is one node, as long as its function's: nothing is written out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.scalar.differentiation import Vector, jvp
from kinloop.scalar.graph import reachable
from kinloop.scalar.rolled_loops import Loop
from kinloop.scalar.symbol import Array, Symbol, known
from kinloop.scalar.tracing import Function, trace


def rolled_jvp(outputs: Array, inputs: Vector, directions: Vector) -> Array:
    """Derivative of `outputs` along one direction in input space, where some of them may come out of rolled loops."""
    moving, tangents = list(inputs), list(directions)
    for s in reachable(np.asarray(outputs, dtype=object).flat):
        if s.op != "loop":
            continue
        change = jvp(np.array(s.args, dtype=object), moving, tangents)
        if all(not isinstance(d, Symbol) and d == 0 for d in change):
            continue
        picked = _tangents(s, change) if s.payload.plain else _table_tangents(s, change)
        moving += [s, *(s.graph.node("pick", (s,), k) for k in range(len(picked)))]
        tangents += [0.0, *picked]
    return jvp(outputs, moving, tangents)


def _tangents(s: Symbol, change: Array) -> Array:
    """Tangents of what a loop leaves, for the tangents `change` of what it begins with and is given."""
    loop: Loop = s.payload
    n, values = loop.carried, [known(a) for a in s.args]
    kept = [k for k, d in enumerate(change[n:]) if isinstance(d, Symbol) or d != 0]  # of what is given, what changes
    given = len(values) - n
    gate = None if loop.gate is None else loop.gate if loop.gate < n else loop.gate + n
    both = Loop(_with_tangents(loop.body, n, given, kept), loop.rounds, 2 * n, gate, loop.usual)
    end = both.node(s.graph, [*values[:n], *change[:n]], [*values[n:], *(change[n + k] for k in kept)])
    return end[n:]


def _table_tangents(s: Symbol, change: Array) -> Array:
    """The same of a loop over the rows of tables: what changes of shared values and rows becomes one more of each."""
    loop: Loop = s.payload
    n, left, rounds = loop.carried, loop.left, loop.rounds
    values, shared = [known(a) for a in s.args], sum(loop.shared)
    first = len(values) - rounds * loop.width
    parts = slice(n, first - shared), slice(first - shared, first)
    kept = [[k for k, d in enumerate(change[part]) if _moves(d)] for part in parts]
    rows = _rows(change[first:], loop.widths, rounds)
    columns = [k for k in range(loop.width) if any(_moves(d) for d in rows[:, k])]
    sizes = {"carry": n, "given": parts[0].stop - n, "shared": shared, "row": loop.width}
    body = _row_with_tangents(loop.body, sizes, [*kept, columns])
    gate = None if loop.gate is None else loop.gate if loop.gate < n else loop.gate + n
    groups, widths = (
        (*own, len(more)) if more else own for own, more in ((loop.shared, kept[1]), (loop.widths, columns))
    )
    cleared = (*loop.cleared, *(left + k for k in loop.cleared))
    both = Loop(body, rounds, 2 * n, gate, loop.usual, groups, widths, 2 * left, cleared)
    moved = [[change[part][k] for k in ks] for part, ks in zip(parts, kept, strict=True)]
    given = [*values[parts[0]], *moved[0], *values[parts[1]], *moved[1], *values[first:], *rows[:, columns].flat]
    end = both.node(s.graph, [*values[:n], *change[:n]], given)
    return np.concatenate([end[n : 2 * n], end[2 * n :].reshape(rounds, 2 * left)[:, left:].ravel()])


def _moves(d: Any) -> bool:
    return isinstance(d, Symbol) or d != 0


def _rows(values: Array, widths: tuple[int, ...], rounds: int) -> Array:
    """Values of tables one after the other as one table."""
    parts, first = [], 0
    for width in widths:
        parts.append(values[first : first + rounds * width].reshape(rounds, width))
        first += rounds * width
    return np.concatenate(parts, axis=1) if parts else np.zeros((rounds, 0), dtype=object)


def _row_with_tangents(body: Any, sizes: dict[str, int], kept: list[list[int]]) -> Function:
    """One round of a loop over tables and of its tangents; `kept` of what is given, shared and in the row change."""
    n, counts = sizes["carry"], [sizes[name] for name in ("given", "shared", "row")]

    def both(carry: Array, *rest: Array) -> Array:
        held = [x[:count] for x, count in zip(rest, counts, strict=True)]
        end = np.asarray(body(carry[:n], *held), dtype=object)
        moving = [*carry[:n], *(x[k] for x, ks in zip(held, kept, strict=True) for k in ks)]
        along = [*carry[n:], *(x for given, count in zip(rest, counts, strict=True) for x in given[count:])]
        change = rolled_jvp(end, moving, along)
        return np.concatenate([end[:n], change[:n], end[n:], change[n:]])

    more = dict(zip(("given", "shared", "row"), map(len, kept), strict=True))
    return trace(both, {name: size * (2 if name == "carry" else 1) + more.get(name, 0) for name, size in sizes.items()})


def _with_tangents(body: Any, n: int, given: int, kept: list[int]) -> Function:
    """One round of a loop and of its tangents, of which those of what is given are the `kept` ones."""

    def both(carry: Array, rest: Array) -> Array:
        x, held = carry[:n], rest[:given]
        end = np.asarray(body(x, held), dtype=object)
        change = rolled_jvp(end, [*x, *(held[k] for k in kept)], [*carry[n:], *rest[given:]])
        return np.concatenate([end, change])

    return trace(both, {"carry": 2 * n, "given": given + len(kept)})
