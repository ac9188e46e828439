"""Closure mathematics: (phi, K, k) of every loop and (gamma, G, g) of every coupling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.constraints.functions import coupling_rows, explicit, function_rows
from kinloop.constraints.rows import Rows, joint_rows, rod_rows, shift_rows, wrench_basis
from kinloop.model.parts import Coupling, Loop, LoopFunction, LoopJoint, Rod
from kinloop.model.topology import Topology
from kinloop.spatial.transform import Array

__all__ = [
    "Rows", "coupling_rows", "explicit", "function_rows", "joint_rows", "rod_rows", "rows_of", "shift_rows",
    "stacked_rows", "wrench_basis",
]  # fmt: skip


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


def stacked_rows(
    top: Topology, parts: Sequence[Loop | Coupling], dofs: Sequence[int], q: Array, qd: Array | None = None
) -> Rows:
    """Rows of several constraints, over the given coordinates; columns of others are left out."""
    place = {d: k for k, d in enumerate(dofs)}
    phis, Ks, ks = [], [], []
    for part in parts:
        rows = rows_of(top, part, q, qd)
        K = np.zeros((len(rows.phi), len(dofs)), dtype=rows.K.dtype)
        for column, d in enumerate(rows.dofs):
            if d in place:
                K[:, place[d]] = rows.K[:, column]
        phis.append(rows.phi)
        Ks.append(K)
        ks.append(rows.k)
    if not parts:
        return Rows(list(dofs), np.zeros(0), np.zeros((0, len(dofs))), np.zeros(0))
    return Rows(list(dofs), np.concatenate(phis), np.concatenate(Ks), np.concatenate(ks))
