"""The universal joint: two rotations about perpendicular axes, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.joints.joint_type import Axis, AxisJoint, X, Y, unit_axis
from kinloop.scalar import Array
from kinloop.spatial import Transform, axis_rotation, cross

if TYPE_CHECKING:
    from kinloop.model.loops.row_writer import RowWriter


@dataclass(frozen=True)
class Universal(AxisJoint):
    """Two rotations: by q[0] about `axis`, then by q[1] about `axis2`, which the first rotation turns."""

    axis: Axis = X
    axis2: Axis = Y
    nq = nv = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "axis2", unit_axis(self.axis2, "axis2"))
        if abs(float(np.dot(self.axis, self.axis2))) > 1e-9:
            raise ModelError(
                f"the axes of a universal joint must be perpendicular, received {self.axis} and {self.axis2}"
            )

    def _turns(self, q: Array) -> tuple[Array, Array]:
        return axis_rotation(self.axis, q[0]), axis_rotation(np.array(self.axis2), q[1])

    def pose(self, q: Array) -> Transform:
        R1, R2 = self._turns(q)
        return Transform(R1 @ R2, np.zeros(3))

    def columns(self, q: Array) -> Array:
        R1, _ = self._turns(q)
        zero = np.zeros(3)
        return np.stack([np.concatenate([np.array(self.axis), zero]), np.concatenate([R1 @ self.axis2, zero])], axis=1)

    def columns_bias(self, q: Array, qd: Array) -> Array:
        first, second = self.columns(q).T
        return np.concatenate([cross(first[:3], second[:3]) * (qd[0] * qd[1]), np.zeros(3)])

    def subspace(self, q: Array) -> Array:
        _, R2 = self._turns(q)
        zero = np.zeros(3)
        return np.stack(
            [np.concatenate([R2.T @ np.array(self.axis), zero]), np.concatenate([np.array(self.axis2), zero])], axis=1
        )

    def subspace_bias(self, q: Array, qd: Array) -> Array:
        first, second = self.subspace(q).T
        return np.concatenate([cross(first[:3], second[:3]) * (qd[0] * qd[1]), np.zeros(3)])

    def loop_rows(self, writer: RowWriter) -> None:
        writer.point()
        writer.square(self.axis, self.axis2)
