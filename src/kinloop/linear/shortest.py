"""The shortest solution of fewer equations than unknowns, by orthogonalisation one after the other."""

from __future__ import annotations

import numpy as np

from kinloop.linear.elimination import reciprocal
from kinloop.scalar import Array


def shortest_solution(A: Array, b: Array) -> Array:
    """The shortest x with A x = b, for rows of A that are independent.

    Each row less its parts along the rows before, u_j = A_j - sum_k r_jk u_k, is orthogonal to these, and x is
    sum_j z_j u_j. That sum is formed from its end on, each time with what of z_j is there already, so that x is as good
    as the rows allow even where rounding keeps them from being quite orthogonal.
    """
    U: list[Array] = list(A)
    lengths = []
    z = list(b)
    for j, u in enumerate(U):
        lengths.append(reciprocal(u @ u))
        for i in range(j + 1, len(U)):
            part = (u @ U[i]) * lengths[j]
            U[i], z[i] = U[i] - part * u, z[i] - part * z[j]
    x = np.zeros(A.shape[1])
    for u, value, inverse in zip(reversed(U), reversed(z), reversed(lengths), strict=True):
        x = x + ((value - u @ x) * inverse) * u
    return x
