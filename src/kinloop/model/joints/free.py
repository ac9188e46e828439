"""The free joint: all six freedoms, as of a floating base."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kinloop import scalar as sc
from kinloop.model.joints.joint_type import JointType
from kinloop.scalar import Array
from kinloop.spatial import (
    Transform,
    cross,
    quaternion_product,
    quaternion_rate,
    quaternion_rotation,
    quaternion_rotation_vector,
    rotation_vector_quaternion,
    screw_translation,
    screw_velocity,
)

if TYPE_CHECKING:
    from kinloop.model.loops.row_writer import RowWriter


class Free(JointType):
    """Free motion: q = (x y z, w x y z), velocity = (angular, linear) in the child's frame."""

    nq = 7
    nv = 6
    is_free: ClassVar[bool] = True

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator) -> Array:
        return self.normalized(np.concatenate([rng.uniform(-1, 1, 3), rng.normal(size=4)]))

    def pose(self, q: Array) -> Transform:
        return Transform(quaternion_rotation(q[3:]), np.asarray(q[:3]))

    def columns(self, q: Array) -> Array:
        R = quaternion_rotation(q[3:])
        zero = np.zeros((3, 3))
        return np.block([[R, zero], [zero, R]])

    def columns_bias(self, q: Array, qd: Array) -> Array:
        return np.concatenate([np.zeros(3), quaternion_rotation(q[3:]) @ cross(qd[:3], qd[3:])])

    def subspace(self, q: Array) -> Array:
        return np.eye(6)

    def rate(self, q: Array, qd: Array) -> Array:
        return np.concatenate([quaternion_rotation(q[3:]) @ qd[3:], quaternion_rate(q[3:], qd[:3])])

    def integrate(self, q: Array, step: Array) -> Array:
        # the screw motion of a constant body velocity, exactly
        w, v = step[:3], step[3:]
        R = quaternion_rotation(q[3:])
        moved = q[:3] + R @ screw_translation(w, v)
        return np.concatenate([moved, quaternion_product(q[3:], rotation_vector_quaternion(w))])

    def difference(self, q0: Array, q1: Array) -> Array:
        conjugate = np.concatenate([q0[3:4], -q0[4:]])
        w = quaternion_rotation_vector(quaternion_product(conjugate, q1[3:]))
        moved = quaternion_rotation(q0[3:]).T @ (q1[:3] - q0[:3])
        return np.concatenate([w, screw_velocity(w, moved)])

    def normalized(self, q: Array) -> Array:
        return np.concatenate([q[:3], q[3:] / sc.sqrt(q[3:] @ q[3:])])

    def loop_rows(self, writer: RowWriter) -> None:
        """A free joint holds nothing back: no rows."""
