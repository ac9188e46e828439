"""Poses as transforms of spatial motion and force, and the two cross products."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.scalar import Array


def skew(a: Array) -> Array:
    """The matrix of `a x`."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]], dtype=np.asarray(a).dtype)


def cross(a: Array, b: Array) -> Array:
    """`a x b`, where `b` is a vector or a matrix of columns."""
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist() if b.ndim == 1 else b
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def cross_motion(v: Array, m: Array) -> Array:
    """`v x m`: rate of a motion vector fixed in a frame that moves with `v`."""
    return np.concatenate([cross(v[:3], m[:3]), cross(v[:3], m[3:]) + cross(v[3:], m[:3])])


def cross_force(v: Array, f: Array) -> Array:
    """`v x* f`: rate of a force vector fixed in a frame that moves with `v`."""
    return np.concatenate([cross(v[:3], f[:3]) + cross(v[3:], f[3:]), cross(v[:3], f[3:])])


class Transform(NamedTuple):
    """The pose of frame B in frame A: `R` takes B's coordinates to A's, `p` is B's origin in A."""

    R: Array
    p: Array

    @staticmethod
    def identity() -> Transform:
        return Transform(np.eye(3), np.zeros(3))

    def motion(self, m: Array) -> Array:
        """Motion vectors (columns) of A seen in B: `X_BA m`."""
        w, v = m[:3], m[3:]
        return np.concatenate([self.R.T @ w, self.R.T @ (v - cross(self.p, w))])

    def motion_back(self, m: Array) -> Array:
        """Motion vectors (columns) of B seen in A: `X_AB m`."""
        w = self.R @ m[:3]
        return np.concatenate([w, self.R @ m[3:] + cross(self.p, w)])

    def force(self, f: Array) -> Array:
        """Force vectors (columns) of B seen in A: `X_BA^T f`."""
        n, l = self.R @ f[:3], self.R @ f[3:]
        return np.concatenate([n + cross(self.p, l), l])

    def force_back(self, f: Array) -> Array:
        """Force vectors (columns) of A seen in B: `X_AB^T f`."""
        return np.concatenate([self.R.T @ (f[:3] - cross(self.p, f[3:])), self.R.T @ f[3:]])

    def then(self, other: Transform) -> Transform:
        """The pose of C in A, for `other` the pose of C in B."""
        return Transform(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Transform:
        """The pose of A in B."""
        return Transform(self.R.T, -(self.R.T @ self.p))

    def matrix(self) -> Array:
        """`X_BA` as a 6x6 matrix."""
        E = self.R.T
        zero = np.zeros((3, 3), dtype=E.dtype)
        return np.block([[E, zero], [-(E @ skew(self.p)), E]])

    def homogeneous(self) -> Array:
        """The pose as a 4x4 matrix."""
        out = np.eye(4, dtype=np.result_type(self.R, self.p))
        out[:3, :3], out[:3, 3] = self.R, self.p
        return out


def apply_pose(T: Transform, point: Any) -> Array:
    """A point of B seen in A."""
    seen: Array = T.p + T.R @ np.asarray(point)
    return seen
