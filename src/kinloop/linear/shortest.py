"""The shortest solution of fewer equations than unknowns, by orthogonalisation one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.linear.elimination import reciprocal
from kinloop.scalar import Array


def shortest_solution(A: Array, b: Array, rank: int | None = None) -> Array:
    """The shortest x with A x = b, for rows of A that are independent, or of which `rank` are.

    Those are then chosen on the way, the longest that is left each time, and the others follow from them.

    Each row less its parts along the rows before, u_j = A_j - sum_k r_jk u_k, is orthogonal to these, and x is
    sum_j z_j u_j. That sum is formed from its end on, each time with what of z_j is there already, so that x is as good
    as the rows allow even where rounding keeps them from being quite orthogonal.
    """
    U: list[Array] = list(A)
    lengths = []
    z = list(b)
    for j in range(len(U) if rank is None else rank):
        if rank is not None and rank < len(U):
            _longest_first(U, z, j)
        u = U[j]
        lengths.append(reciprocal(u @ u))
        for i in range(j + 1, len(U)):
            part = (u @ U[i]) * lengths[j]
            U[i], z[i] = U[i] - part * u, z[i] - part * z[j]
    x = np.zeros(A.shape[1])
    for j in reversed(range(len(lengths))):
        x = x + ((z[j] - U[j] @ x) * lengths[j]) * U[j]
    return x


def _longest_first(U: list[Array], z: list[Any], j: int) -> None:
    """Exchange rows j, j + 1, ... so that the longest of them comes first."""
    size = U[j] @ U[j]
    for i in range(j + 1, len(U)):
        other = U[i] @ U[i]
        longer = size < other
        U[j], U[i] = sc.where(longer, U[i], U[j]), sc.where(longer, U[j], U[i])
        z[j], z[i] = sc.where(longer, z[i], z[j]), sc.where(longer, z[j], z[i])
        size = sc.where(longer, other, size)
