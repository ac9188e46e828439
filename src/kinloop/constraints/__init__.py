"""Closure mathematics: (phi, K, k) of every loop and (gamma, G, g) of every coupling."""

from __future__ import annotations

from kinloop.constraints.functions import coupling_rows, explicit, function_rows
from kinloop.constraints.rows import Rows, joint_rows, rod_rows
from kinloop.model.parts import Coupling, Loop, LoopFunction, LoopJoint, Rod
from kinloop.model.topology import Topology
from kinloop.spatial.transform import Array

__all__ = ["Rows", "coupling_rows", "explicit", "function_rows", "joint_rows", "rod_rows", "rows_of"]


def rows_of(top: Topology, part: Loop | Coupling, q: Array, qd: Array | None = None) -> Rows:
    """The rows of any loop or coupling at position q and spanning velocity qd."""
    match part:
        case LoopJoint():
            return joint_rows(top, part, q, qd)
        case Rod():
            return rod_rows(top, part, q, qd)
        case LoopFunction():
            return function_rows(top, part, q, qd)
        case Coupling():
            return coupling_rows(top, part, q, qd)
    raise TypeError(f"{type(part).__name__} is not a loop or a coupling")
