"""Spatial inertias, rigid or articulated, as three 3x3 blocks: `[[A, H], [H^T, M]]`, A and M symmetric.

Symmetric results are computed on one triangle and mirrored (`kinloop.linear.symmetric`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.linear import mirror, symmetric_product, total
from kinloop.scalar import Array
from kinloop.spatial.planar_turn import planar_turn, turn_block
from kinloop.spatial.transform import Transform, cross, skew


def rotated(R: Array, blocks: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """`R h R^T` of the three blocks (A, H, M) of an inertia."""
    A, H, M = blocks
    turn = planar_turn(R)
    if turn is not None:
        return turn_block(turn, A, True), turn_block(turn, H, False), turn_block(turn, M, True)
    return symmetric_product(R @ A, R), R @ H @ R.T, symmetric_product(R @ M, R)


class Inertia(NamedTuple):
    """A symmetric 6x6 inertia in blocks: moment of inertia A, coupling H, mass M."""

    A: Array
    H: Array
    M: Array

    def apply(self, m: Array) -> Array:
        """The forces (columns) that give the motions `m`."""
        w, v = m[:3], m[3:]
        return np.concatenate([self.A @ w + self.H @ v, self.H.T @ w + self.M @ v])

    def minus_product(self, W: Array, U: Array) -> Inertia:
        """`self - W U^T`, for `W U^T` symmetric: W = U D^-1."""
        return Inertia(
            self.A - symmetric_product(W[:3], U[:3]),
            self.H - W[:3] @ U[3:].T,
            self.M - symmetric_product(W[3:], U[3:]),
        )

    def seen_from(self, T: Transform) -> Inertia:
        """The inertia in frame A, for `T` the pose of this inertia's frame in A: `X^T I X`."""
        P = skew(T.p)
        A0, H0, M = rotated(T.R, self)
        H = H0 + P @ M
        # A + H0 P^T + P H0^T + P M P^T, one triangle
        A = mirror(A0 - H0 @ P + P @ H.T)
        return Inertia(A, H, M)

    def matrix(self) -> Array:
        return np.block([[self.A, self.H], [self.H.T, self.M]])


def total_inertia(parts: Sequence[Inertia]) -> Inertia:
    """The sum of inertias; constants first, so that they fold before they meet a symbol."""
    return parts[0] if len(parts) == 1 else Inertia(*(total([p[k] for p in parts]) for k in range(3)))


def rigid_inertia(mass: Any, com: Any, inertia: Any) -> Inertia:
    """The inertia about the body's origin [kg, m, kg m^2], from the one about its centre of mass."""
    com, inertia = np.asarray(com), np.asarray(inertia)
    C = skew(com)
    return Inertia(inertia - mass * (C @ C), mass * C, mass * np.eye(3))


def rigid_bias(I: Inertia, v: Array) -> Array:
    """`v x* I v`: the force a rigid body needs to keep its velocity, gyroscopic and centripetal.

    With m c the first moment, `v x* I v = I (0, w x v) + (w x A w, w x (w x m c))`.
    """
    w, u = v[:3], v[3:]
    first_moment = np.array([I.H[2, 1], I.H[0, 2], I.H[1, 0]])
    turn = cross(w, u)
    n = cross(w, I.A @ w) + cross(first_moment, turn)
    f = I.M @ turn + cross(w, cross(w, first_moment))
    return np.concatenate([n, f])
