"""The cylindrical joint: rotation about and translation along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.model.joints.joint_type import AxisJoint, perpendicular
from kinloop.scalar import Array
from kinloop.spatial import Transform, axis_rotation

if TYPE_CHECKING:
    from kinloop.model.loops.row_writer import RowWriter


class Cylindrical(AxisJoint):
    """Rotation about and translation along one axis: q = (angle [rad], distance [m])."""

    nq = nv = 2

    def spread(self) -> list[tuple[float, float]]:
        return [(-np.pi, np.pi), (-0.5, 0.5)]

    def pose(self, q: Array) -> Transform:
        a = np.array(self.axis)
        return Transform(axis_rotation(a, q[0]), a * q[1])

    def columns(self, q: Array) -> Array:
        out = np.zeros((6, 2))
        out[:3, 0] = out[3:, 1] = self.axis
        return out

    def subspace(self, q: Array) -> Array:
        return self.columns(q)

    def loop_rows(self, writer: RowWriter) -> None:
        for across in perpendicular(self.axis):
            writer.along(across)
        writer.parallel(self.axis)
