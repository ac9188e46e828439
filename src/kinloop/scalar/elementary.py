"""Elementary functions on numbers, symbols, and arrays of either or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinloop.scalar import graph


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == object


def _elementwise(f: Callable, *args: Any) -> Any:
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
    if any(isinstance(a, graph.Symbol) or _is_array(a) or isinstance(a, list | tuple) for a in args):
        call = graph.unary if len(args) == 1 else graph.binary
        return _elementwise(lambda *a: call(op, *a), *args)
    return graph.numeric(op, *args)


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
    out = start
    for x in values:
        if isinstance(x, graph.Symbol) or isinstance(out, graph.Symbol):
            out = maximum(out, absolute(x))
        else:
            out = float(np.maximum(out, abs(x)))
    return out


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`, element by element."""
    if any(isinstance(x, graph.Symbol) or _is_array(x) for x in (condition, a, b)):
        return _elementwise(graph.where, condition, a, b)
    if isinstance(condition, np.ndarray) or isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b


def logical_and(a: Any, b: Any) -> Any:
    return graph.logical("and", a, b)


def logical_or(a: Any, b: Any) -> Any:
    return graph.logical("or", a, b)


def logical_not(a: Any) -> Any:
    return graph.logical("not", a)


def is_symbolic(*arrays: Any) -> bool:
    """True if any argument is a symbol or an object array (which may hold symbols)."""
    return any(isinstance(a, graph.Symbol) or _is_array(np.asarray(a)) for a in arrays)
