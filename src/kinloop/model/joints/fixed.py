"""The fixed joint: no motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.model.joints.joint_type import JointType, Z
from kinloop.scalar import Array
from kinloop.spatial import Transform

if TYPE_CHECKING:
    from kinloop.model.loops.row_writer import RowWriter


class Fixed(JointType):
    """No motion."""

    def pose(self, q: Array) -> Transform:
        return Transform.identity()

    def columns(self, q: Array) -> Array:
        return np.zeros((6, 0))

    def loop_rows(self, writer: RowWriter) -> None:
        writer.point()
        writer.aligned(Z)
