"""Symbolic scalars in NumPy object arrays: the language algorithms are traced in.

- `symbol`: the symbolic scalar, and what its arithmetic folds.
- `graph`: the graph that symbols live in, where equal nodes are one node.
- `elementary`: sin, sqrt, where, maximum, ... on numbers, symbols, and arrays of either.
- `indexed`: tables read by an index, and the numbers of the least of many values.
- `tracing`: a traced computation, `Function`, and how to replay it.
- `rolled_loops`: a body that is repeated, as one node of the graph.
- `differentiation`: forward and reverse derivatives, as new symbols of the same graph.
- `rolled_tangents`: forward derivatives through rolled loops.
"""

from kinloop.scalar.differentiation import Tangents, jacobian, jvp, vjp
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
    opaque,
    sin,
    sqrt,
    squared,
    tan,
    usually,
    where,
)
from kinloop.scalar.graph import Graph
from kinloop.scalar.indexed import nearest, take
from kinloop.scalar.rolled_loops import repeat, scan, unrolled
from kinloop.scalar.rolled_tangents import rolled_jvp
from kinloop.scalar.symbol import Array, Symbol
from kinloop.scalar.tracing import Function, substitute, trace

__all__ = [
    "Array", "Function", "Graph", "Symbol", "Tangents", "abs", "acos", "asin", "atan", "atan2", "cos", "exp", "floor",
    "is_symbolic", "jacobian", "jvp", "largest", "log", "logical_and", "logical_not", "logical_or", "maximum",
    "minimum", "nearest", "opaque", "repeat", "rolled_jvp", "scan", "sin", "sqrt", "squared", "substitute", "take",
    "tan", "trace", "unrolled", "usually", "vjp", "where",
]  # fmt: skip
