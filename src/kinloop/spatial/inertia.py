"""Spatial inertias, rigid or articulated, as three 3x3 blocks: `[[A, H], [H^T, M]]`, A and M symmetric.

Symmetric results are computed on one triangle and mirrored: for symbols that is half the arithmetic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.spatial.planar_turn import planar_turn, turn_block
from kinloop.spatial.transform import Array, Transform, cross, skew


def symmetric_product(a: Array, b: Array) -> Array:
    """`a @ b.T` where the result is known to be symmetric."""
    if a.dtype != object and b.dtype != object:
        return a @ b.T
    n = len(a)
    out = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(i, n):
            out[i, j] = out[j, i] = a[i] @ b[j]
    return out


def mirror(a: Array) -> Array:
    """A symmetric matrix from the upper triangle of `a`."""
    if a.dtype != object:
        return 0.5 * (a + a.T)
    out = a.copy()
    for i in range(len(a)):
        for j in range(i):
            out[i, j] = a[j, i]
    return out


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

    @staticmethod
    def zero() -> Inertia:
        return Inertia(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)))

    def apply(self, m: Array) -> Array:
        """The forces (columns) that give the motions `m`."""
        w, v = m[:3], m[3:]
        return np.concatenate([self.A @ w + self.H @ v, self.H.T @ w + self.M @ v])

    def plus(self, other: Inertia) -> Inertia:
        return Inertia(self.A + other.A, self.H + other.H, self.M + other.M)

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
