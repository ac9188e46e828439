"""Elementary functions on numbers, symbols, and arrays of either or both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from kinloop.scalar.symbol import Symbol, binary_node, lift, numeric, unary

CHOICES = ("where", "minimum", "maximum")
"""Operations that give one of two values."""

USUAL = "usual"
"""The payload of a choice that mostly gives the first of its values."""


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == object


def _elementwise(f: Callable[..., Any], *args: Any) -> Any:
    """`f` over broadcast arguments, into an object array; over scalars, a scalar."""
    args = tuple(np.asarray(a, dtype=object) if isinstance(a, list | tuple) else a for a in args)
    if not any(isinstance(a, np.ndarray) and a.ndim for a in args):
        return f(*[a.item() if isinstance(a, np.ndarray) else a for a in args])
    broadcast = np.broadcast_arrays(*[a if isinstance(a, np.ndarray) else np.array(a, dtype=object) for a in args])
    out = np.empty(broadcast[0].shape, dtype=object)
    for k in np.ndindex(out.shape):
        out[k] = f(*[b[k] for b in broadcast])
    return out


def _apply(op: str, *args: Any) -> Any:
    if isinstance(args[0], float) and len(args) == 1:  # what numbers mostly are
        return numeric(op, args[0])
    if any(isinstance(a, Symbol) or _is_array(a) or isinstance(a, list | tuple) for a in args):
        call = unary if len(args) == 1 else _binary
        return _elementwise(lambda *a: call(op, *a), *args)
    return numeric(op, *args)


def _binary(op: str, a: Any, b: Any) -> Any:
    """`op(a, b)` for atan2, minimum, maximum on numbers or symbols."""
    if not isinstance(a, Symbol) and not isinstance(b, Symbol):
        return numeric(op, a, b)
    if a is b and op in ("minimum", "maximum"):
        return a
    return binary_node(op, a, b)


def _logical(op: str, a: Any, b: Any = None) -> Any:
    """`and`, `or`, `not` of truth values, known or symbolic."""
    if op == "not":
        return a.graph.node("not", (a,)) if isinstance(a, Symbol) else np.logical_not(a)
    if not isinstance(a, Symbol) and not isinstance(b, Symbol):
        return np.logical_and(a, b) if op == "and" else np.logical_or(a, b)
    for x, y in ((a, b), (b, a)):
        if not isinstance(x, Symbol):
            return (y if x else False) if op == "and" else (True if x else y)
    return a.graph.node(op, (a, b))


def _where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; scalars."""
    if not isinstance(condition, Symbol):
        return a if condition else b
    if a is b or (not isinstance(a, Symbol) and not isinstance(b, Symbol) and a == b):
        return a
    graph = condition.graph
    return graph.node("where", (condition, lift(graph, a), lift(graph, b)))


def sin(x: Any) -> Any:
    return _apply("sin", x)


def cos(x: Any) -> Any:
    return _apply("cos", x)


def tan(x: Any) -> Any:
    return _apply("tan", x)


def asin(x: Any) -> Any:
    return _apply("asin", x)


def acos(x: Any) -> Any:
    return _apply("acos", x)


def atan(x: Any) -> Any:
    return _apply("atan", x)


def atan2(y: Any, x: Any) -> Any:
    return _apply("atan2", y, x)


def sqrt(x: Any) -> Any:
    return _apply("sqrt", x)


def exp(x: Any) -> Any:
    return _apply("exp", x)


def log(x: Any) -> Any:
    return _apply("log", x)


def absolute(x: Any) -> Any:
    """|x|; exported as `abs`."""
    return _apply("abs", x)


def floor(x: Any) -> Any:
    return _apply("floor", x)


def minimum(a: Any, b: Any) -> Any:
    return _apply("minimum", a, b)


def maximum(a: Any, b: Any) -> Any:
    return _apply("maximum", a, b)


def largest(values: Sequence[Any], start: Any = 0.0) -> Any:
    """max(start, |values|...) that lets a nan through."""
    if any(isinstance(x, Symbol) for x in (*values, start)):
        begun = [start] if isinstance(start, Symbol) or start > 0.0 else []
        return _in_pairs(maximum, [*begun, *map(absolute, values)])
    return float(np.max(np.abs(np.array([start, *values], dtype=float)))) if len(values) else start


def squared(values: Iterable[Any]) -> Any:
    """The sum of squares."""
    return _in_pairs(lambda a, b: a + b, [x * x for x in values] or [0.0])


def _in_pairs(join: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    """All values joined, neighbours first: half of them at a time, so that a processor need not wait for the last."""
    while len(values) > 1:
        pairs = [join(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(values) - len(values) % 2 :]
    return values[0]


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`, element by element."""
    if any(isinstance(x, Symbol) or _is_array(x) for x in (condition, a, b)):
        return _elementwise(_where, condition, a, b)
    if isinstance(condition, np.ndarray) or isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b


def usually(choice: Any) -> Any:
    """What `where`, `minimum` or `maximum` gave, where that mostly is the first of its two values; nothing changes.

    But a kernel of one state goes on with the first value before it knows, and computes the other where it has to.
    """
    return _elementwise(_usually, choice) if isinstance(choice, Symbol) or _is_array(choice) else choice


def _usually(choice: Any) -> Any:
    if not isinstance(choice, Symbol) or choice.op not in CHOICES:  # it was known which
        return choice
    return choice.graph.node(choice.op, choice.args, USUAL)


def logical_and(a: Any, b: Any) -> Any:
    return _logical("and", a, b)


def logical_or(a: Any, b: Any) -> Any:
    return _logical("or", a, b)


def logical_not(a: Any) -> Any:
    return _logical("not", a)


def is_symbolic(*arrays: Any) -> bool:
    """True if any argument is a symbol or an object array (which may hold symbols)."""
    return any(isinstance(a, Symbol) or _is_array(np.asarray(a)) for a in arrays)


def opaque(x: Any) -> Any:
    """x as a node that arithmetic does not look through: its derivative may be told (`differentiation.Tangents`).

    It is gone where its function is called.
    """
    return _elementwise(lambda a: a.graph.node("same", (a,)) if isinstance(a, Symbol) else a, x)
