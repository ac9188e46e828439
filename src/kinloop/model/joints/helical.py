"""The helical joint: a screw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.joints.joint_type import AxisJoint, perpendicular
from kinloop.scalar import Array
from kinloop.spatial import Transform, axis_rotation

if TYPE_CHECKING:
    from kinloop.model.loops.row_writer import RowWriter


@dataclass(frozen=True)
class Helical(AxisJoint):
    """A screw: q = angle [rad], with an advance of `pitch` [m/rad] along the axis."""

    pitch: float = 0.0
    nq = nv = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.isfinite(self.pitch):
            raise ModelError(f"pitch must be a finite number of metres per radian, received {self.pitch!r}")

    def pose(self, q: Array) -> Transform:
        a = np.array(self.axis)
        return Transform(axis_rotation(a, q[0]), a * (self.pitch * q[0]))

    def columns(self, q: Array) -> Array:
        a = np.array(self.axis)
        return np.concatenate([a, self.pitch * a]).reshape(6, 1)

    def subspace(self, q: Array) -> Array:
        return self.columns(q)

    def loop_rows(self, writer: RowWriter) -> None:
        for across in perpendicular(self.axis):
            writer.along(across)
        writer.screw(self.axis, self.pitch)
        writer.parallel(self.axis)
