"""Derivatives on the graph: forward (tangents) and reverse (adjoints), exact and symbolic.

Both give new symbols of the same graph, so a derivative folds, counts and compiles like its function.
Loops have to be written out first (`unrolled`). A branch that `where` does not take has no part in a derivative, not
even where its slopes are not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from kinloop.scalar import elementary as fn
from kinloop.scalar.graph import Graph, reachable
from kinloop.scalar.indexed import take
from kinloop.scalar.symbol import Array, Symbol, binary_node, known

Vector = Sequence[Any] | Array
Rule = Callable[[Symbol, Any, Any], list[Any]]

RULES: dict[str, Rule] = {
    "add": lambda s, a, b: [1.0, 1.0],
    "sub": lambda s, a, b: [1.0, -1.0],
    "mul": lambda s, a, b: [b, a],
    "div": lambda s, a, b: [1.0 / b, -s / b],
    "neg": lambda s, a, b: [-1.0],
    "same": lambda s, a, b: [1.0],
    "sin": lambda s, a, b: [fn.cos(a)],
    "cos": lambda s, a, b: [-fn.sin(a)],
    "tan": lambda s, a, b: [1.0 + s * s],
    "asin": lambda s, a, b: [1.0 / fn.sqrt(1.0 - a * a)],
    "acos": lambda s, a, b: [-1.0 / fn.sqrt(1.0 - a * a)],
    "atan": lambda s, a, b: [1.0 / (1.0 + a * a)],
    "atan2": lambda s, a, b: [b / (a * a + b * b), -a / (a * a + b * b)],
    "sqrt": lambda s, a, b: [0.5 / s],
    "exp": lambda s, a, b: [s],
    "log": lambda s, a, b: [1.0 / a],
    "abs": lambda s, a, b: [fn.where(a < 0.0, -1.0, 1.0)],
}
"""Derivatives of a node s with respect to its arguments, of which a and b are the first two."""

Case = tuple[int, bool]
"""A condition by its number, and whether it holds."""


class Choice(NamedTuple):
    """What a node chooses: its argument `yes` where the condition holds, else `no`."""

    condition: Symbol
    yes: Symbol
    no: Symbol


def choice(s: Symbol) -> Choice | None:
    """The choice that `where`, `minimum` and `maximum` make; None for nodes that compute."""
    if s.op == "where":
        return Choice(*s.args)
    if s.op in ("minimum", "maximum"):
        a, b = s.args
        return Choice(binary_node("lt", b, a) if s.op == "minimum" else binary_node("lt", a, b), b, a)
    return None


def partials(s: Symbol) -> list[tuple[Symbol, Any]]:
    """The arguments of a node that computes, and its derivative with respect to each; none where that is zero."""
    if s.op == "loop" or (s.op == "pick" and s.args[0].op == "loop"):
        raise ValueError("a rolled loop has no derivative of its own; call kinloop.scalar.unrolled first")
    if s.op == "table" or (s.op == "take" and s.args[0].args):
        raise ValueError("a table that is read by an index has no adjoint unless all its entries are numbers")
    rule = RULES.get(s.op)
    if rule is None:  # inputs, constants, truth values, floor, numbers of the nearest
        return []
    return list(zip(s.args, rule(s, known(s.args[0]), known(s.args[1]) if len(s.args) > 1 else None), strict=True))


class Tangents:
    """Derivatives of nodes along one direction in input space (forward mode), found as they are asked for.

    Those of nodes on the way may be told, where a formula knows them better than the rules of their operations.
    """

    def __init__(self, inputs: Vector, directions: Vector) -> None:
        self._found: dict[int, Any] = {}
        self.tell(inputs, directions)

    def tell(self, nodes: Any, changes: Any) -> None:
        """The derivatives of some nodes; numbers among these do not change."""
        for x, d in zip(nodes, changes, strict=True):
            if isinstance(x, Symbol):
                self._found[x.index] = d

    def of(self, outputs: Array) -> Array:
        """Derivatives of an array of numbers and symbols."""
        for s in self._unknown(np.asarray(outputs, dtype=object).flat):
            self._found[s.index] = self._change(s)
        out = np.zeros(np.shape(outputs), dtype=object)
        for k in np.ndindex(out.shape):
            x = outputs[k]
            out[k] = self._found[x.index] if isinstance(x, Symbol) else 0.0
        return out

    def _unknown(self, outputs: Iterable[Any]) -> list[Symbol]:
        """Nodes whose derivatives are needed and not known yet, in an order of evaluation."""
        seen: dict[int, Symbol] = {}
        stack = [s for s in outputs if isinstance(s, Symbol)]
        while stack:
            s = stack.pop()
            if s.index not in self._found and s.index not in seen:
                seen[s.index] = s
                stack += _chosen(s)
        return [seen[k] for k in sorted(seen)]

    def _change(self, s: Symbol) -> Any:
        found = self._found
        if all(_is_zero(found[a.index]) for a in _chosen(s)):
            return 0.0
        if s.op == "table":  # read by an index, its tangents are read by the same
            return [found[a.index] for a in s.args]
        if s.op == "take":
            return take(np.array(found[s.args[0].index], dtype=object), s.args[1])
        if (chosen := choice(s)) is not None:
            return fn.where(chosen.condition, found[chosen.yes.index], found[chosen.no.index])
        total: Any = 0.0
        for argument, slope in partials(s):
            if not _is_zero(found[argument.index]):
                total = total + slope * found[argument.index]
        return total


def _chosen(s: Symbol) -> Sequence[Symbol]:
    """Arguments through which a node changes: of a choice those that it chooses from, of a table's entry the table."""
    return s.args[1:] if s.op == "where" else s.args[:1] if s.op == "take" else s.args


def _is_zero(x: Any) -> bool:
    return not isinstance(x, Symbol | list) and bool(x == 0)


def jvp(outputs: Array, inputs: Vector, directions: Vector) -> Array:
    """Derivative (any shape) of `outputs` along one direction (n,) in input space (forward mode)."""
    return Tangents(inputs, directions).of(outputs)


def vjp(outputs: Vector, inputs: Vector, weights: Vector) -> Array:
    """Gradient (n,) of sum(weights * outputs) (m,) with respect to `inputs` (n,) (reverse mode).

    Adjoints of nodes that only one branch of a choice needs mean nothing where the other one is taken (a slope may be
    infinite there); they become zero where they leave the branch.
    """
    nodes = reachable(outputs)
    cases = _cases([*outputs, *inputs], nodes)
    adjoint: dict[int, Any] = {}
    for x, w in zip(outputs, weights, strict=True):
        if isinstance(x, Symbol):
            adjoint[x.index] = adjoint.get(x.index, 0.0) + w
    for s in reversed(nodes):
        bar = adjoint.get(s.index, 0.0)
        if not s.args or (not isinstance(bar, Symbol) and bar == 0):
            continue
        if (chosen := choice(s)) is not None:
            parts = [(chosen.yes, bar), (chosen.no, bar)]
        else:
            parts = [(argument, bar * slope) for argument, slope in partials(s)]
        for (argument, part), left in zip(parts, _edges(s, cases[s.index]), strict=True):
            for condition, holds in sorted(left - cases[argument.index]):
                node = s.graph.nodes[condition]
                part = fn.where(node, part, 0.0) if holds else fn.where(node, 0.0, part)
            adjoint[argument.index] = adjoint.get(argument.index, 0.0) + part
    out = np.zeros(len(inputs), dtype=object)
    for k, x in enumerate(inputs):
        out[k] = adjoint.get(x.index, 0.0)
    return out


def _cases(ends: Vector, nodes: Sequence[Symbol]) -> dict[int, frozenset[Case]]:
    """Of every node, the conditions without which its adjoint is zero; none of the `ends`, where adjoints are read."""
    found: dict[int, frozenset[Case]] = {x.index: frozenset() for x in ends if isinstance(x, Symbol)}
    for s in reversed(nodes):
        if s.index not in found:  # only conditions need it: it has no adjoint
            continue
        here = found[s.index]
        for argument, there in zip(_followed(s), _edges(s, here), strict=True):
            before = found.get(argument.index)
            found[argument.index] = there if before is None else _either(s.graph, before, there)
    return found


def _either(graph: Graph, a: frozenset[Case], b: frozenset[Case]) -> frozenset[Case]:
    """What holds where all of `a` holds or all of `b`."""
    common, (left, right) = a & b, (a - b, b - a)
    if not left or not right or left == {(condition, not holds) for condition, holds in right if len(right) == 1}:
        return common
    either = fn.logical_or(*(reduce(fn.logical_and, _conditions(graph, cases)) for cases in (left, right)))
    return common | {(either.index, True)}


def _conditions(graph: Graph, cases: frozenset[Case]) -> list[Symbol]:
    """Cases as symbols that are true in them."""
    return [graph.nodes[k] if holds else fn.logical_not(graph.nodes[k]) for k, holds in sorted(cases)]


def _followed(s: Symbol) -> Sequence[Symbol]:
    """The arguments that a node has slopes for."""
    chosen = choice(s)
    return (chosen.yes, chosen.no) if chosen else s.args if s.op in RULES else ()


def _edges(s: Symbol, cases: frozenset[Case]) -> list[frozenset[Case]]:
    """Conditions under which each of a node's slopes counts, in the order of `_followed`."""
    chosen = choice(s)
    if chosen is None:
        return [cases] * len(_followed(s))
    return [cases | {(chosen.condition.index, holds)} for holds in (True, False)]


def jacobian(outputs: Array, inputs: Vector, mode: str | None = None) -> Array:
    """d outputs / d inputs, shape (len(outputs), len(inputs)); the cheaper mode unless told."""
    outputs = np.asarray(outputs, dtype=object)
    n, m = len(outputs), len(inputs)
    if mode is None:
        mode = "forward" if m <= 2 * n else "reverse"
    if mode not in ("forward", "reverse"):
        raise ValueError(f"mode {mode!r} is not one of 'forward', 'reverse'")
    out = np.zeros((n, m), dtype=object)
    if mode == "forward":
        for k in range(m):
            out[:, k] = jvp(outputs, [inputs[k]], [1.0])
    else:
        for k in range(n):
            out[k, :] = vjp([outputs[k]], inputs, [1.0])
    return out
