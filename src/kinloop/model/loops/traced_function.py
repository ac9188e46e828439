"""A user's function of joint positions: its Jacobian and bias from the graph's derivatives.

The function is traced once on symbols; phi_dot = (d phi / d q) qdot(q, qd) gives K = d phi_dot / d qd
and k = -(d phi_dot / d q) qdot. The derivatives are then replayed on numbers or symbols.
Derivation: docs/algorithms/constraints.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.errors import ModelError
from kinloop.model.joints import JointType

JointFunction = Callable[..., Any]
"""A function of joint positions: a scalar per joint of one coordinate, an array per joint of several."""


def check_function(call: object, what: str) -> None:
    """Refuse what cannot be called, naming the part that has it."""
    if not callable(call):
        raise ModelError(f"the function of {what} is {call!r}; give a Python function of joint positions")


class TracedFunction:
    """A function of joint positions with its derivatives, traced when first asked for and kept.

    One trace is kept, that of the joint types asked for last: a closure belongs to one mechanism, or to
    several with the same joints.
    """

    def __init__(self, call: JointFunction, what: str) -> None:
        self.call, self.what = call, what
        self._types: tuple[JointType, ...] = ()
        self._trace: sc.Function | None = None

    def __reduce__(self) -> tuple[type[TracedFunction], tuple[JointFunction, str]]:
        return TracedFunction, (self.call, self.what)

    def derivatives(self, types: tuple[JointType, ...]) -> sc.Function:
        """The function as a graph (q, qd) -> value, Jacobian, rate of the Jacobian times qd."""
        same = len(types) == len(self._types) and all(a is b for a, b in zip(types, self._types, strict=True))
        if self._trace is None or not same:
            self._types, self._trace = types, self._traced(types)
        return self._trace

    def _traced(self, types: tuple[JointType, ...]) -> sc.Function:
        nq, nv = sum(t.nq for t in types), sum(t.nv for t in types)
        graph = sc.Graph()
        q, qd = graph.inputs("q", nq), graph.inputs("qd", nv)
        args, rates, a, b = [], [], 0, 0
        for t in types:
            position = q[a : a + t.nq]
            args.append(position[0] if t.nq == 1 else position)
            rates.append(t.rate(position, qd[b : b + t.nv]))
            a, b = a + t.nq, b + t.nv
        try:
            value = np.atleast_1d(np.asarray(self.call(*args), dtype=object))
        except TypeError as error:
            raise ModelError(
                f"the function of {self.what} could not be traced on symbols ({error}); "
                "write it with kinloop.scalar functions (sin, cos, where, ...) without math or if"
            ) from error
        rate = np.concatenate(rates)
        velocity = sc.jvp(value, q, rate)
        jacobian = sc.jacobian(velocity, qd, "forward")
        bias = sc.jvp(velocity, q, rate)
        return sc.Function({"q": nq, "qd": nv}, {"value": value, "jacobian": jacobian, "bias": bias}, graph)
