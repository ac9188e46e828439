"""Poses of all bodies at once, from a kernel of their own: a viewer asks for thousands of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinloop.algorithms.trees.kinematics import world_poses
from kinloop.inputs import checked
from kinloop.kernels import Computed
from kinloop.robot import Robot
from kinloop.scalar import Array


class Poses:
    """Where the bodies of a robot are in the world: `rotation` (..., bodies, 3, 3), `position` (..., bodies, 3)."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._kernel: Computed | None = None

    def __call__(self, q: ArrayLike) -> tuple[Array, Array]:
        q = checked("q", q, self.robot.nq)
        if self._kernel is None:
            self._kernel = self._make()
        poses = self._kernel(q)
        return poses[..., :9].reshape(*poses.shape[:-1], 3, 3), poses[..., 9:]

    def _make(self) -> Computed:
        top = self.robot.tree.top

        def poses(q: Array) -> Array:
            return np.array([[*T.R.ravel(), *T.p] for T in world_poses(top, q)])

        sources = ("viewer/poses.py",)
        return self.robot.kernels.make("body_poses", poses, {"q": top.nq}, sources=sources, charts=False)


def quaternions(R: Array) -> Array:
    """Unit quaternions (..., 4), w x y z, of rotation matrices (..., 3, 3)."""
    R = np.asarray(R, dtype=float)
    d = np.diagonal(R, axis1=-2, axis2=-1)
    trace = d.sum(axis=-1)
    # squares of the components times 4; the largest one is divided by
    squares = np.stack([1 + trace, *(1 + 2 * d[..., k] - trace for k in range(3))], axis=-1)
    skew = [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]]
    sums = [R[..., 2, 1] + R[..., 1, 2], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 0] + R[..., 0, 1]]
    w, x, y, z = (squares[..., k] for k in range(4))
    rows = [[w, *skew], [skew[0], x, sums[2], sums[1]], [skew[1], sums[2], y, sums[0]], [skew[2], sums[1], sums[0], z]]
    table = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    best = np.argmax(squares, axis=-1)
    q = np.take_along_axis(table, best[..., None, None], axis=-2)[..., 0, :]
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def between(a: Array, b: Array) -> tuple[Array, Array]:
    """(rotation, middle) of what lies along z from a to b; arrays (..., 3)."""
    z = b - a
    z = z / np.maximum(np.linalg.norm(z, axis=-1, keepdims=True), 1e-12)
    side = np.where(np.abs(z[..., :1]) < 0.9, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    x = np.cross(side, z)
    x = x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)
    return np.stack([x, np.cross(z, x), z], axis=-1), 0.5 * (a + b)
