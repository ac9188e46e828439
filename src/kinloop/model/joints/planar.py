"""The planar joint: motion in a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.model.joints.joint_type import AxisJoint, perpendicular
from kinloop.scalar import Array
from kinloop.spatial import Transform, axis_rotation, cross

if TYPE_CHECKING:
    from kinloop.model.loops.row_writer import RowWriter


class Planar(AxisJoint):
    """Motion in the plane across `axis`: q = (x, y, angle), x and y along fixed directions of the plane.

    The directions are `perpendicular(axis)`; for the z axis they are x and y.
    """

    nq = nv = 3

    def spread(self) -> list[tuple[float, float]]:
        return [(-0.5, 0.5), (-0.5, 0.5), (-np.pi, np.pi)]

    def pose(self, q: Array) -> Transform:
        t1, t2 = perpendicular(self.axis)
        return Transform(axis_rotation(self.axis, q[2]), t1 * q[0] + t2 * q[1])

    def columns(self, q: Array) -> Array:
        t1, t2 = perpendicular(self.axis)
        out = np.zeros((6, 3))
        out[3:, 0], out[3:, 1], out[:3, 2] = t1, t2, self.axis
        return out

    def subspace_bias(self, q: Array, qd: Array) -> Array:
        # the child turns under the fixed directions
        slide = self.subspace(q)[3:, :2] @ qd[:2]
        return np.concatenate([np.zeros(3), -cross(np.array(self.axis) * qd[2], slide)])

    def loop_rows(self, writer: RowWriter) -> None:
        writer.along(self.axis)
        writer.parallel(self.axis)
