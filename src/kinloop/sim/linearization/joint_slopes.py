"""How the subspace and velocity products of one joint change along a direction, each joint differentiated by itself.

The joint is traced with symbols of its own: where its positions and rates are expressions, what is computed from them
need not contain them as such any more.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.model.joints import JointType
from kinloop.scalar import Array


class JointSlope(NamedTuple):
    """Along a direction: dS (6, nv), dS qd, and dS qdd with the change of the velocity products (6,)."""

    S: Array
    w: Array
    c: Array


def joint_slope(kind: JointType, q: Array, qd: Array, qdd: Array, dq: Array, dqd: Array) -> JointSlope | None:
    """The slope of a joint at (q, qd) along (dq, dqd), dq a step of its coordinates; None where nothing changes."""
    function = _slopes(kind)
    if function is None:
        return None
    S, w, c = function(q, qd, qdd, kind.rate(q, dq), dqd)
    return JointSlope(S, w, c)


@cache
def _slopes(kind: JointType) -> sc.Function | None:
    """(q, qd, qdd, dq/dt, dqd) -> a `JointSlope`."""

    def call(q: Array, qd: Array, qdd: Array, step: Array, rate: Array) -> dict[str, Array]:
        S, bias = kind.subspace(q).astype(object), np.asarray(kind.subspace_bias(q, qd), dtype=object)
        dS = sc.jvp(S, q, step)
        return {"S": dS, "w": dS @ qd, "c": dS @ qdd + sc.jvp(bias, [*q, *qd], [*step, *rate])}

    function = sc.trace(call, {"q": kind.nq, "qd": kind.nv, "qdd": kind.nv, "step": kind.nq, "rate": kind.nv})
    changes = any(isinstance(x, sc.Symbol) or x != 0.0 for out in function.outputs.values() for x in out.flat)
    return function if changes else None
