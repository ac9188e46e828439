"""The traced graph replayed as a CasADi function."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.compiler.export.c_interface import identifiers
from kinloop.errors import CompileError
from kinloop.scalar import Function, Symbol
from kinloop.scalar.symbol import constant_value


def to_casadi(function: Function, name: str) -> Any:
    """`function` as a casadi.Function of column vectors. Loops are written out.

    Outputs of one axis are columns, of two axes matrices; with more axes they are flattened, row-major.
    """
    try:
        import casadi
    except ImportError as error:
        raise CompileError("the CasADi export needs casadi; run `pip install kinloop[casadi]`") from error
    inputs = {k: casadi.SX.sym(word, n) for (k, n), word in zip(function.inputs.items(), identifiers(function.inputs))}
    values = _replay(casadi, function, {k: [x[i] for i in range(x.numel())] for k, x in inputs.items()})
    outputs = [_matrix(casadi, out, values) for out in function.outputs.values()]
    words = identifiers([*function.inputs, *function.outputs])
    n_in = len(inputs)
    (word,) = identifiers([name], "kl_")
    return casadi.Function(word, list(inputs.values()), outputs, words[:n_in], words[n_in:])


def _operations(casadi: Any) -> dict[str, Any]:
    table = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "neg": lambda a: -a, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "and": casadi.logic_and, "or": casadi.logic_or, "not": casadi.logic_not, "where": casadi.if_else,
        "abs": casadi.fabs, "minimum": casadi.fmin, "maximum": casadi.fmax,
    }  # fmt: skip
    for f in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "floor"):
        table[f] = getattr(casadi, f)
    return table


def _replay(casadi: Any, function: Function, given: dict[str, list[Any]]) -> dict[int, Any]:
    """The value of every node."""
    table = _operations(casadi)
    value: dict[int, Any] = {}
    for s in function.nodes:
        args = [value[a.index] for a in s.args]
        if s.op == "input":
            value[s.index] = given[s.payload[0]][s.payload[1]]
        elif s.op == "const":
            value[s.index] = casadi.SX(constant_value(s))
        elif s.op == "pick":
            value[s.index] = args[0][s.payload]
        elif s.op == "loop":
            if not s.payload.plain:
                raise CompileError("CasADi has no graphs that go over rows of tables, as contact between bodies does")
            loop, carry = s.payload, args[: s.payload.carried]
            (out,) = loop.body.outputs.values()
            for _ in range(loop.rounds):
                inner = dict(zip(loop.body.inputs, (carry, args[loop.carried :])))
                inside = _replay(casadi, loop.body, inner)
                carry = [inside[x.index] if isinstance(x, Symbol) else casadi.SX(float(x)) for x in out.flat]
            value[s.index] = carry
        elif s.op in ("table", "nearest"):
            raise CompileError("CasADi has no graphs that read tables by an index, as contact between bodies does")
        else:
            value[s.index] = table[s.op](*args)
    return value


def _matrix(casadi: Any, out: np.ndarray, value: dict[int, Any]) -> Any:
    rows, columns = out.shape if out.ndim == 2 else (out.size, 1)
    matrix = casadi.SX.zeros(rows, columns)
    for k, x in enumerate(out.flat):
        matrix[k // columns, k % columns] = value[x.index] if isinstance(x, Symbol) else float(x)
    return matrix
