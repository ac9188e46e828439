"""The symbolic scalar, and what its arithmetic folds.

A `Symbol` is a node of a `Graph`. Arithmetic on symbols grows the graph and folds what is known at once (0, 1, -1,
constants, double negatives, a value against its own reciprocal), so that the structure of a robot disappears from
the arithmetic. Numbers and symbols mix freely: an operation whose result is known returns a plain Python float.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kinloop.scalar.graph import Graph

Scalar: TypeAlias = Union[float, "Symbol"]
Array: TypeAlias = NDArray[Any]
"""An array of floats, or an object array whose entries are numbers and symbols."""


def constant_value(s: Symbol) -> float:
    """The number a constant node stands for."""
    x: float | str = s.payload[0]
    return math.nan if isinstance(x, str) else x


def _method(op: str) -> Callable[[Symbol], Any]:
    return lambda symbol: unary(op, symbol)


class Symbol:
    """A scalar that is not known yet."""

    __slots__ = ("args", "graph", "index", "op", "payload")

    def __init__(self, graph: Graph, index: int, op: str, args: tuple[Symbol, ...], payload: Any) -> None:
        self.graph, self.index, self.op, self.args, self.payload = graph, index, op, args, payload

    def __repr__(self) -> str:
        if self.op == "input":
            return f"{self.payload[0]}[{self.payload[1]}]"
        return f"%{self.index}:{self.op}"

    def __bool__(self) -> bool:
        raise TypeError(
            "a symbol has no truth value while an algorithm is being traced; "
            "use kinloop.scalar.where(condition, a, b) instead of if"
        )

    def __float__(self) -> float:
        raise TypeError("a symbol has no value while an algorithm is being traced; keep it in an object array")

    def __deepcopy__(self, memo: dict[int, Any]) -> Symbol:
        return self

    def __add__(self, other: Any) -> Any:
        if type(other) is Symbol:
            return add(self, other)
        return NotImplemented if isinstance(other, np.ndarray) else add(self, other)

    def __radd__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else add(other, self)

    def __sub__(self, other: Any) -> Any:
        if type(other) is Symbol:
            return sub(self, other)
        return NotImplemented if isinstance(other, np.ndarray) else sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else sub(other, self)

    def __mul__(self, other: Any) -> Any:
        if type(other) is Symbol:
            return mul(self, other)
        return NotImplemented if isinstance(other, np.ndarray) else mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else div(other, self)

    def __neg__(self) -> Any:
        return neg(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return unary("abs", self)

    def __pow__(self, n: Any) -> Any:
        if isinstance(n, Symbol) or n != int(n):
            return unary("sqrt", self) if n is not None and n == 0.5 else unary("exp", mul(n, unary("log", self)))
        if n < 0:
            return div(1.0, self**-n)
        out: Any = 1.0
        base: Any = self
        n = int(n)
        while n:
            if n & 1:
                out = mul(out, base)
            n >>= 1
            if n:
                base = mul(base, base)
        return out

    def __lt__(self, other: Any) -> Any:
        return compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return compare("lt", other, self)

    def __ge__(self, other: Any) -> Any:
        return compare("le", other, self)

    def conjugate(self) -> Symbol:
        return self

    # what np.sin(x) and the like call, so that functions written with NumPy can be traced
    sin, cos, tan = _method("sin"), _method("cos"), _method("tan")
    arcsin, arccos, arctan = _method("asin"), _method("acos"), _method("atan")
    sqrt, exp, log = _method("sqrt"), _method("exp"), _method("log")


def lift(graph: Graph, x: Any) -> Symbol:
    """A symbol of `graph` for a number or a symbol."""
    if isinstance(x, Symbol):
        if x.graph is not graph:
            raise ValueError("symbols of two different traces were mixed; trace both in one kinloop.scalar.trace call")
        return x
    return graph.constant(x)


def binary_node(op: str, a: Any, b: Any) -> Symbol:
    """The node `op(a, b)` of two arguments of which one at least is a symbol."""
    if isinstance(a, Symbol):
        return a.graph.pair(op, a, lift(a.graph, b))
    graph: Graph = b.graph
    return graph.pair(op, lift(graph, a), b)


def _commuting(op: str, a: Any, b: Symbol) -> Symbol:
    """Constants first, then by age: equal sums and products become one node."""
    graph = b.graph
    x = a if type(a) is Symbol and a.graph is graph else lift(graph, a)
    if b.op == "const" or (x.op != "const" and x.index > b.index):
        return graph.pair(op, b, x)
    return graph.pair(op, x, b)


def known(s: Symbol) -> Scalar:
    """The number a constant node stands for; any other node as it is."""
    return constant_value(s) if s.op == "const" else s


def add(a: Any, b: Any) -> Any:
    sa, sb = type(a) is Symbol, type(b) is Symbol
    if not sa and not sb:
        return a + b
    if not sa and a == 0:
        return b
    if not sb and b == 0:
        return a
    if sb and b.op == "neg":
        return sub(a, b.args[0])
    if sa and a.op == "neg":
        return sub(b, a.args[0])
    if sa and sb:
        # (x - y) + y = x
        if a.op == "sub" and a.args[1] is b:
            return known(a.args[0])
        if b.op == "sub" and b.args[1] is a:
            return known(b.args[0])
    else:
        # constants meet: c + (d + x), c + (d - x)
        number, x = (b, a) if sa else (a, b)
        if x.op in ("add", "sub") and x.args[0].op == "const":
            total = number + constant_value(x.args[0])
            return add(total, x.args[1]) if x.op == "add" else sub(total, x.args[1])
    return _commuting("add", a, b) if sb else _commuting("add", b, a)


def sub(a: Any, b: Any) -> Any:
    sa, sb = type(a) is Symbol, type(b) is Symbol
    if not sa and not sb:
        return a - b
    if not sb:
        return a if b == 0 else add(-b, a)
    if not sa and a == 0:
        return neg(b)
    if a is b:
        return 0.0
    if b.op == "neg":
        return add(a, b.args[0])
    if not sa:
        if b.op in ("add", "sub") and b.args[0].op == "const":
            rest = a - constant_value(b.args[0])
            return sub(rest, b.args[1]) if b.op == "add" else add(rest, b.args[1])
        return binary_node("sub", a, b)
    if a.op == "neg":
        return neg(add(a.args[0], b))
    # (x + y) - y = x;  (x - y) - x = -y;  x - (x - y) = y;  x - (x + y) = -y
    if a.op == "add" and b in a.args:
        return known(a.args[1] if a.args[0] is b else a.args[0])
    if a.op == "sub" and a.args[0] is b:
        return neg(known(a.args[1]))
    if b.op == "sub" and b.args[0] is a:
        return known(b.args[1])
    if b.op == "add" and a in b.args:
        return neg(known(b.args[1] if b.args[0] is a else b.args[0]))
    return binary_node("sub", a, b)


_QUOTIENTS = frozenset(("div", "mul"))


def _without(x: Symbol, y: Symbol) -> Scalar | None:
    """x y, where y divides x, which is a quotient or a product."""
    first, second = x.args
    if x.op == "div":
        return known(first) if second is y else None
    if first.op == "div" and _is_reciprocal(first, y):
        return known(second)
    return known(first) if second.op == "div" and _is_reciprocal(second, y) else None


def _is_reciprocal(a: Symbol, b: Any) -> bool:
    return a.args[1] is b and a.args[0].op == "const" and constant_value(a.args[0]) == 1.0


def mul(a: Any, b: Any) -> Any:
    sa, sb = type(a) is Symbol, type(b) is Symbol
    if not sa and not sb:
        return a * b
    if not sb:
        a, b, sa = b, a, False
    if not sa:
        if a == 0:
            return 0.0
        if a == 1:
            return b
        if a == -1:
            return neg(b)
        if b.op == "neg":
            return mul(-a, b.args[0])
        if b.op in ("mul", "div") and b.args[0].op == "const":
            c = a * constant_value(b.args[0])
            return mul(c, b.args[1]) if b.op == "mul" else div(c, b.args[1])
        return _commuting("mul", a, b)
    p, q = a.op, b.op
    if p == "neg":
        return neg(mul(a.args[0], b))
    if q == "neg":
        return neg(mul(a, b.args[0]))
    # A value against its own reciprocal: this is how an articulated inertia learns that it does not
    # feel its own joint.
    if p in _QUOTIENTS:
        rest = _without(a, b)
        if rest is not None:
            return rest
    if q in _QUOTIENTS:
        rest = _without(b, a)
        if rest is not None:
            return rest
    return _commuting("mul", a, b)


def div(a: Any, b: Any) -> Any:
    sa, sb = isinstance(a, Symbol), isinstance(b, Symbol)
    if not sa and not sb:
        with np.errstate(all="ignore"):
            return float(np.divide(float(a), float(b)))
    if not sb:
        return mul(a, 1.0 / b) if b != 0 else binary_node("div", a, b)
    if not sa and a == 0:
        return 0.0
    if a is b:
        return 1.0
    if b.op == "neg":
        return neg(div(a, b.args[0]))
    if sa and a.op == "neg":
        return neg(div(a.args[0], b))
    return binary_node("div", a, b)


def neg(a: Any) -> Any:
    if not isinstance(a, Symbol):
        return -a
    if a.op == "neg":
        return a.args[0]
    if a.op == "sub":
        return sub(known(a.args[1]), known(a.args[0]))
    if a.op == "mul" and a.args[0].op == "const":
        return mul(-constant_value(a.args[0]), a.args[1])
    return a.graph.node("neg", (a,))


_NUMERIC = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "abs": np.abs, "floor": np.floor,
    "atan2": np.arctan2, "minimum": np.minimum, "maximum": np.maximum,
}  # fmt: skip
_ODD = frozenset(("sin", "tan", "asin", "atan"))
_EVEN = frozenset(("cos", "abs"))


def numeric(op: str, *args: Any) -> Any:
    """`op` on plain numbers, with the floating-point answers (nan, inf) instead of exceptions."""
    if op in ("sin", "cos") and isinstance(args[0], float) and math.isfinite(args[0]):
        return float(_NUMERIC[op](args[0]))  # nothing to keep silent
    with np.errstate(all="ignore"):
        out = _NUMERIC[op](*args)
    return out if isinstance(out, np.ndarray) else float(out)


def unary(op: str, a: Any) -> Any:
    """`op(a)` for a number or a symbol."""
    if not isinstance(a, Symbol):
        return numeric(op, a)
    if a.op == "neg":
        if op in _ODD:
            return neg(unary(op, a.args[0]))
        if op in _EVEN:
            return unary(op, a.args[0])
    if op == "abs" and a.op in ("abs", "sqrt", "exp"):
        return a
    return a.graph.node(op, (a,))


def compare(op: str, a: Any, b: Any) -> Any:
    """`a < b` ("lt") or `a <= b` ("le"); a truth value, or a symbol for one."""
    if not isinstance(a, Symbol) and not isinstance(b, Symbol):
        return (a < b) if op == "lt" else (a <= b)
    if a is b and op == "lt":  # x <= x is false for nan: only the strict one is known
        return False
    return binary_node(op, a, b)
