"""The revolute joint: rotation about an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.model.joints.joint_type import Axis, AxisJoint
from kinloop.scalar import Array
from kinloop.spatial import Transform, axis_rotation

if TYPE_CHECKING:
    from kinloop.model.loops.row_writer import RowWriter


class Revolute(AxisJoint):
    """Rotation about an axis: q = angle [rad]."""

    nq = nv = 1

    def pose(self, q: Array) -> Transform:
        return Transform(axis_rotation(self.axis, q[0]), np.zeros(3))

    def columns(self, q: Array) -> Array:
        return np.array([[*self.axis, 0.0, 0.0, 0.0]]).T

    def subspace(self, q: Array) -> Array:
        return self.columns(q)

    def loop_rows(self, writer: RowWriter) -> None:
        writer.point()
        writer.parallel(self.axis)

    @property
    def spin_axis(self) -> Axis | None:
        return self.axis
