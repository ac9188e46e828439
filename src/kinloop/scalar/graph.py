"""The graph that symbols live in: equal nodes are one node.

Nodes are numbered in the order of their making: every argument of a node has a smaller number, and increasing numbers
are an order of evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from kinloop.scalar.symbol import Array, Symbol


class Graph:
    """Nodes of one trace; equal nodes are one node."""

    __slots__ = ("memo", "nodes")

    def __init__(self) -> None:
        self.nodes: list[Symbol] = []
        self.memo: dict[tuple[Any, ...], Symbol] = {}

    def node(self, op: str, args: tuple[Symbol, ...], payload: Any = None) -> Symbol:
        """The node `op(args)`, made once. `payload` tells apart leaves and loops."""
        if payload is None and len(args) == 2:
            return self.pair(op, *args)
        key = (op, payload, *args)
        found = self.memo.get(key)
        if found is None:
            found = Symbol(self, len(self.nodes), op, args, payload)
            self.nodes.append(found)
            self.memo[key] = found
        return found

    def pair(self, op: str, x: Symbol, y: Symbol) -> Symbol:
        """The node `op(x, y)`, made once: `node` for most of them, which takes two thirds of its time."""
        key = (op, x, y)
        found = self.memo.get(key)
        if found is None:
            nodes = self.nodes
            found = self.memo[key] = Symbol(self, len(nodes), op, (x, y), None)
            nodes.append(found)
        return found

    def input(self, name: str, k: int) -> Symbol:
        return self.node("input", (), (name, k))

    def inputs(self, name: str, size: int) -> Array:
        """An object array of `size` input symbols."""
        out = np.empty(size, dtype=object)
        for k in range(size):
            out[k] = self.input(name, k)
        return out

    def constant(self, x: float) -> Symbol:
        x = float(x)
        # The sign keeps 0.0 and -0.0 apart, the name keeps nan equal to itself.
        return self.node("const", (), (x if x == x else "nan", math.copysign(1.0, x)))


def reachable(outputs: Iterable[Any]) -> list[Symbol]:
    """The nodes that `outputs` depend on, in an order of evaluation."""
    seen: dict[int, Symbol] = {}
    stack = [s for s in outputs if isinstance(s, Symbol)]
    while stack:
        s = stack.pop()
        if s.index not in seen:
            seen[s.index] = s
            stack += s.args
    return [seen[i] for i in sorted(seen)]
