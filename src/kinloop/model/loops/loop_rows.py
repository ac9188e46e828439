"""Equations of closures in numbers or symbols: phi(q) = 0, K qd = 0, K qdd = k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kinloop.scalar import Array

if TYPE_CHECKING:
    from kinloop.model.loops.closure import LoopClosure
    from kinloop.model.topology import Topology


class LoopRows(NamedTuple):
    """Rows over the coordinates `dofs`, places in the spanning velocity: phi (r,), K (r, len(dofs)), k (r,)."""

    dofs: list[int]
    phi: Array
    K: Array
    k: Array

    @staticmethod
    def none(dofs: Sequence[int]) -> LoopRows:
        """No rows at all over these coordinates."""
        return LoopRows(list(dofs), np.zeros(0), np.zeros((0, len(dofs))), np.zeros(0))


def stacked_rows(
    top: Topology, closures: Sequence[LoopClosure], dofs: Sequence[int], q: Array, qd: Array | None = None
) -> LoopRows:
    """Rows of several closures, over the given coordinates; columns of others are left out."""
    if not closures:
        return LoopRows.none(dofs)
    place = {d: k for k, d in enumerate(dofs)}
    phis, Ks, ks = [], [], []
    for closure in closures:
        rows = closure.rows(top, q, qd)
        K = np.zeros((len(rows.phi), len(dofs)), dtype=rows.K.dtype)
        columns = [column for column, d in enumerate(rows.dofs) if d in place]
        K[:, [place[rows.dofs[column]] for column in columns]] = rows.K[:, columns]
        phis.append(rows.phi)
        Ks.append(K)
        ks.append(rows.k)
    return LoopRows(list(dofs), np.concatenate(phis), np.concatenate(Ks), np.concatenate(ks))
