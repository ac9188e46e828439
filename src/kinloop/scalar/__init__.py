"""Symbolic scalars for NumPy object arrays: the language algorithms are traced in."""

from kinloop.scalar.differentiation import jacobian, jvp, vjp
from kinloop.scalar.elementary import absolute as abs
from kinloop.scalar.elementary import (
    acos,
    asin,
    atan,
    atan2,
    cos,
    exp,
    floor,
    is_symbolic,
    largest,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    sin,
    sqrt,
    tan,
    where,
)
from kinloop.scalar.graph import Graph, Symbol
from kinloop.scalar.tracing import Function, repeat, substitute, trace, unrolled

__all__ = [
    "Function", "Graph", "Symbol", "abs", "acos", "asin", "atan", "atan2", "cos", "exp", "floor", "is_symbolic",
    "jacobian", "jvp", "largest", "log", "logical_and", "logical_not", "logical_or", "maximum", "minimum", "repeat",
    "sin", "sqrt", "substitute", "tan", "trace", "unrolled", "vjp", "where",
]  # fmt: skip
