"""The backward sweep of iLQR: feedforward and feedback of every step, for a batch of problems at once.

With A, B of the steps, l of the costs, V the cost to go (x = (q, v), all changes in the tangent space)

    Q_x = l_x + A^T V_x,   Q_u = l_u + B^T V_x,   Q_xx = l_xx + A^T V_xx A,   Q_ux, Q_uu alike                     (1)
    k = argmin 1/2 k^T Q_uu k + Q_u^T k within the limits,    K = -Q_uu^-1 Q_ux for controls that are free           (2)
    V_x = Q_x + K^T Q_uu k + K^T Q_u + Q_ux^T k,      V_xx = Q_xx + K^T Q_uu K + K^T Q_ux + Q_ux^T K.               (3)

Regularisation m adds m to V_xx in (2) and to Q_uu: steps become shorter and Q_uu positive definite. [Tassa2014]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.control.box_qp import masked, minimum_in_box, positive, times
from kinloop.control.traced_cost import Expansion
from kinloop.scalar import Array


class Sweep(NamedTuple):
    """k (b, T, nu), K (b, T, nu, n); the slope and curvature (b,) of the cost along k; where Q_uu was positive (b,)."""

    feedforward: Array
    gains: Array
    slope: Array
    curvature: Array
    found: Array


def sweep_back(
    A: Array, B: Array, cost: Expansion, last: Expansion, room: tuple[Array, Array], regularization: Array
) -> Sweep:
    """(1) to (3) from the last step to the first.

    A (b, T, n, n), B (b, T, n, nu), `room` how far each control (b, T, nu) may go down and up, `regularization` (b,).
    """
    rows, steps, n, nu = B.shape
    k, K = np.zeros((rows, steps, nu)), np.zeros((rows, steps, nu, n))
    slope, curvature, found = np.zeros(rows), np.zeros(rows), np.ones(rows, dtype=bool)
    m, one = regularization[:, None, None], np.eye(nu)
    V_x, V_xx = last.x, last.xx
    for t in reversed(range(steps)):
        A_t, B_t, BT = A[:, t], B[:, t], np.swapaxes(B[:, t], 1, 2)
        AT = np.swapaxes(A_t, 1, 2)
        Q_x, Q_u = cost.x[:, t] + times(AT, V_x), cost.u[:, t] + times(BT, V_x)
        VA, VB = V_xx @ A_t, V_xx @ B_t
        Q_xx, Q_ux, Q_uu = cost.xx[:, t] + AT @ VA, cost.ux[:, t] + BT @ VA, cost.uu[:, t] + BT @ VB
        firm, firm_ux = Q_uu + m * (BT @ B_t + one), Q_ux + m * (BT @ A_t)
        x, gain, good = _best(firm, Q_u, firm_ux, (room[0][:, t], room[1][:, t]))
        found = found & good
        k[:, t], K[:, t] = x, gain
        KT, pull = np.swapaxes(gain, 1, 2), times(Q_uu, x)
        slope, curvature = slope + np.sum(x * Q_u, axis=1), curvature + np.sum(x * pull, axis=1)
        V_x = Q_x + times(KT, pull + Q_u) + times(np.swapaxes(Q_ux, 1, 2), x)
        cross = KT @ (Q_ux + 0.5 * (Q_uu @ gain))
        V_xx = Q_xx + cross + np.swapaxes(cross, 1, 2)
        if not found.all():
            V_x[~found], V_xx[~found] = 0.0, 0.0
    return Sweep(k, K, slope, curvature, found)


def _best(H: Array, g: Array, F: Array, room: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """(2): k, K and whether there is a minimum. Rows whose free minimum lies within the limits have it at once."""
    one = np.eye(H.shape[1])
    found = positive(H)
    solved = -np.linalg.solve(np.where(found[:, None, None], H, one), np.concatenate([g[..., None], F], axis=2))
    k, K = solved[..., 0], solved[..., 1:]
    bound = np.flatnonzero(~(found & ((k >= room[0]) & (k <= room[1])).all(axis=1)))
    if len(bound):
        best = minimum_in_box(H[bound], g[bound], room[0][bound], room[1][bound], k[bound])
        held = np.where(best.found[:, None, None], masked(H[bound], best.free), one)
        K[bound] = -np.linalg.solve(held, np.where(best.free[..., None], F[bound], 0.0))
        k[bound], found[bound] = best.x, best.found
    return k, K, found
