"""Derivatives on the graph: forward (tangents) and reverse (adjoints), exact and symbolic.

Both give new symbols of the same graph, so a derivative folds, counts and compiles like its function.
Loops have to be written out first (`unrolled`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinloop.scalar import elementary as fn
from kinloop.scalar.graph import reachable
from kinloop.scalar.symbol import Array, Symbol, known

Vector = Sequence[Any] | Array
Rule = Callable[[Symbol, Any, Any], list[Any]]

RULES: dict[str, Rule] = {
    "add": lambda s, a, b: [1.0, 1.0],
    "sub": lambda s, a, b: [1.0, -1.0],
    "mul": lambda s, a, b: [b, a],
    "div": lambda s, a, b: [1.0 / b, -s / b],
    "neg": lambda s, a, b: [-1.0],
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
    "minimum": lambda s, a, b: [fn.where(b < a, 0.0, 1.0), fn.where(b < a, 1.0, 0.0)],
    "maximum": lambda s, a, b: [fn.where(a < b, 0.0, 1.0), fn.where(a < b, 1.0, 0.0)],
    "where": lambda s, a, b: [0.0, fn.where(s.args[0], 1.0, 0.0), fn.where(s.args[0], 0.0, 1.0)],
}
"""Derivatives of a node s with respect to its arguments, of which a and b are the first two."""


def partials(s: Symbol) -> list[Any]:
    """The derivative of a node with respect to each of its arguments."""
    if s.op in ("loop", "pick"):
        raise ValueError("a rolled loop has no derivative of its own; call kinloop.scalar.unrolled first")
    rule = RULES.get(s.op)
    if rule is None:  # inputs, constants, truth values, floor
        return [0.0] * len(s.args)
    return rule(s, known(s.args[0]), known(s.args[1]) if len(s.args) > 1 else None)


def jvp(outputs: Array, inputs: Vector, directions: Vector) -> Array:
    """Derivative of `outputs` along one direction in input space (forward mode)."""
    tangent: dict[int, Any] = {x.index: d for x, d in zip(inputs, directions, strict=True)}
    for s in reachable(np.asarray(outputs, dtype=object).flat):
        if s.index in tangent or not any(a.index in tangent for a in s.args):
            continue
        total: Any = 0.0
        for argument, slope in zip(s.args, partials(s), strict=True):
            if argument.index in tangent:
                total = total + slope * tangent[argument.index]
        if isinstance(total, Symbol) or total != 0:
            tangent[s.index] = total
    out = np.zeros(np.shape(outputs), dtype=object)
    for k in np.ndindex(out.shape):
        x = outputs[k]
        out[k] = tangent.get(x.index, 0.0) if isinstance(x, Symbol) else 0.0
    return out


def vjp(outputs: Vector, inputs: Vector, weights: Vector) -> Array:
    """Gradient of sum(weights * outputs) with respect to `inputs` (reverse mode)."""
    adjoint: dict[int, Any] = {}
    for x, w in zip(outputs, weights, strict=True):
        if isinstance(x, Symbol):
            adjoint[x.index] = adjoint.get(x.index, 0.0) + w
    for s in reversed(reachable(outputs)):
        bar = adjoint.get(s.index, 0.0)
        if not s.args or (not isinstance(bar, Symbol) and bar == 0):
            continue
        for argument, slope in zip(s.args, partials(s), strict=True):
            adjoint[argument.index] = adjoint.get(argument.index, 0.0) + bar * slope
    out = np.zeros(len(inputs), dtype=object)
    for k, x in enumerate(inputs):
        out[k] = adjoint.get(x.index, 0.0)
    return out


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
