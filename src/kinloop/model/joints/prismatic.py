"""The prismatic joint: translation along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.model.joints.joint_type import AxisJoint, perpendicular
from kinloop.scalar import Array
from kinloop.spatial import Transform

if TYPE_CHECKING:
    from kinloop.model.loops.row_writer import RowWriter


class Prismatic(AxisJoint):
    """Translation along an axis: q = distance [m]."""

    nq = nv = 1

    def spread(self) -> list[tuple[float, float]]:
        return [(-0.5, 0.5)]

    def pose(self, q: Array) -> Transform:
        return Transform(np.eye(3), np.array(self.axis) * q[0])

    def columns(self, q: Array) -> Array:
        return np.array([[0.0, 0.0, 0.0, *self.axis]]).T

    def subspace(self, q: Array) -> Array:
        return self.columns(q)

    def loop_rows(self, writer: RowWriter) -> None:
        for across in perpendicular(self.axis):
            writer.along(across)
        writer.aligned(self.axis)
