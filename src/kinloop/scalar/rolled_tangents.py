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
        if not s.payload.plain:
            raise ValueError("a loop over the rows of a table has no derivative")
        picked = _tangents(s, change)
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


def _with_tangents(body: Any, n: int, given: int, kept: list[int]) -> Function:
    """One round of a loop and of its tangents, of which those of what is given are the `kept` ones."""

    def both(carry: Array, rest: Array) -> Array:
        x, held = carry[:n], rest[:given]
        end = np.asarray(body(x, held), dtype=object)
        change = rolled_jvp(end, [*x, *(held[k] for k in kept)], [*carry[n:], *rest[given:]])
        return np.concatenate([end, change])

    return trace(both, {"carry": 2 * n, "given": given + len(kept)})
