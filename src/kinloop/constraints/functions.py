"""Constraints given as Python functions: their Jacobians and biases from the graph's derivatives.

The function is traced once on symbols; phi_dot = (d phi / d q) qdot(q, qd) gives K = d phi_dot / d qd
and k = -(d phi_dot / d q) qdot. The derivatives are then replayed on numbers or symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.constraints.rows import Rows
from kinloop.errors import ModelError
from kinloop.model.joints import JointType
from kinloop.model.parts import Coupling, FunctionCoupling, LinearCoupling, LoopFunction, PolynomialCoupling
from kinloop.model.topology import Topology
from kinloop.spatial.transform import Array


@cache
def derivatives(f: Callable, types: tuple[JointType, ...], what: str) -> sc.Function:
    """`f` of joint positions as a graph (q, qd) -> value, Jacobian, rate of the Jacobian times qd."""
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
        value = np.atleast_1d(np.asarray(f(*args), dtype=object))
    except TypeError as error:
        raise ModelError(
            f"the function of {what} could not be traced on symbols ({error}); "
            "write it with kinloop.scalar functions (sin, cos, where, ...) instead of math, numpy or if"
        ) from error
    rate = np.concatenate(rates)
    velocity = sc.jvp(value, q, rate)
    jacobian = sc.jacobian(velocity, qd, "forward")
    bias = sc.jvp(velocity, q, rate)
    return sc.Function({"q": nq, "qd": nv}, {"value": value, "jacobian": jacobian, "bias": bias}, graph)


def _dofs(top: Topology, joints: tuple[str, ...]) -> tuple[list[int], list[int], tuple[JointType, ...]]:
    index = [top.joint_index[name] for name in joints]
    positions = [k for i in index for k in range(top.q_of[i].start, top.q_of[i].stop)]
    velocities = [k for i in index for k in range(top.v_of[i].start, top.v_of[i].stop)]
    return positions, velocities, tuple(top.types[i] for i in index)


def function_rows(top: Topology, loop: LoopFunction, q: Array, qd: Array | None = None) -> Rows:
    """Rows of a user's phi(q1, q2, ...) = 0."""
    positions, dofs, types = _dofs(top, loop.joints)
    f = derivatives(loop.phi, types, f"loop {loop.name!r}")
    rates = np.zeros(len(dofs)) if qd is None else qd[dofs]
    phi, K, bias = f(q[positions], rates)
    return Rows(dofs, phi, K, -bias)


def explicit(top: Topology, c: Coupling, q: Array, qd: Array | None = None) -> tuple[Any, Any, Any]:
    """(gamma, G, g) of a coupling: q_dep = gamma, qd_dep = G qd_ind, qdd_dep = G qdd_ind + g."""
    positions, dofs, types = _dofs(top, c.independent)
    y = q[positions]
    yd = np.zeros(len(dofs)) if qd is None else qd[dofs]
    match c:
        case LinearCoupling():
            ratios = top.ratios[c.name]
            return ratios @ y + c.offset, ratios, np.zeros(len(c.dependent))
        case PolynomialCoupling():
            value, slope, curve = (_polynomial(c.coefficients, y[0], k) for k in range(3))
            return np.array([value]), np.array([[slope]]), np.array([curve * yd[0] * yd[0]])
        case FunctionCoupling():
            gamma, G, g = derivatives(c.gamma, types, f"coupling {c.name!r}")(y, yd)
            if len(gamma) != len(c.dependent):
                raise ModelError(
                    f"the function of coupling {c.name!r} returns {len(gamma)} values for "
                    f"{len(c.dependent)} dependent joints; return one value each"
                )
            return gamma, G, g
    raise ModelError(f"coupling {c.name!r} has the unknown type {type(c).__name__}")


def _polynomial(coefficients: tuple[float, ...], x: Any, order: int) -> Any:
    """The order-th derivative of sum c_k x^k, by Horner's rule."""
    c = list(coefficients)
    for _ in range(order):
        c = [k * a for k, a in enumerate(c)][1:]
    out: Any = 0.0
    for a in reversed(c):
        out = out * x + a
    return out


def coupling_rows(top: Topology, c: Coupling, q: Array, qd: Array | None = None) -> Rows:
    """A coupling as rows q_dep - gamma(q_ind) = 0, K = [1, -G], k = g."""
    gamma, G, g = explicit(top, c, q, qd)
    positions, dofs, _ = _dofs(top, c.dependent)
    _, others, _ = _dofs(top, c.independent)
    K = np.concatenate([np.eye(len(dofs)), -G], axis=1)
    return Rows(dofs + others, q[positions] - gamma, K, g)
