"""The spherical joint: a ball in a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop import scalar as sc
from kinloop.model.joints.joint_type import JointType
from kinloop.scalar import Array
from kinloop.spatial import (
    Transform,
    quaternion_product,
    quaternion_rate,
    quaternion_rotation,
    quaternion_rotation_vector,
    rotation_vector_quaternion,
)

if TYPE_CHECKING:
    from kinloop.model.loops.row_writer import RowWriter


class Spherical(JointType):
    """A ball: q = unit quaternion (w x y z), velocity = angular velocity in the child's frame."""

    nq = 4
    nv = 3

    def neutral(self) -> Array:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator) -> Array:
        return self.normalized(rng.normal(size=4))

    def pose(self, q: Array) -> Transform:
        return Transform(quaternion_rotation(q), np.zeros(3))

    def columns(self, q: Array) -> Array:
        R = quaternion_rotation(q)
        return np.concatenate([R, np.zeros((3, 3))])

    def subspace(self, q: Array) -> Array:
        return np.concatenate([np.eye(3), np.zeros((3, 3))])

    def rate(self, q: Array, qd: Array) -> Array:
        return quaternion_rate(q, qd)

    def integrate(self, q: Array, step: Array) -> Array:
        return quaternion_product(q, rotation_vector_quaternion(step))

    def difference(self, q0: Array, q1: Array) -> Array:
        return quaternion_rotation_vector(quaternion_product(np.concatenate([q0[:1], -q0[1:]]), q1))

    def normalized(self, q: Array) -> Array:
        unit: Array = q / sc.sqrt(q @ q)
        return unit

    def loop_rows(self, writer: RowWriter) -> None:
        writer.point()
