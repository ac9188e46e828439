"""An axis of a frame that points at something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import find_frame
from kinloop.control.tasks.frame_tasks import FrameTask
from kinloop.control.world_motion import WorldMotion
from kinloop.errors import MethodError
from kinloop.model.frozen_arrays import frozen
from kinloop.scalar import Array
from kinloop.spatial import cross

NEAREST = 1e-6
"""A target nearer to the frame's origin than this [m] is looked at as if it were so far away."""


@dataclass(frozen=True)
class GazeTask(FrameTask):
    """An `axis` of a frame, through its origin, that points at a point (3,) of the world.

    With d the axis and r the direction of the point, the error is the rotation vector that turns d to r: three rows of
    rank two, since turning about d itself changes nothing.
    """

    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        axis = frozen(self.axis, (3,), f"axis of {self.label}")
        length = float(np.linalg.norm(axis))
        if not length > 0.0:
            raise MethodError(f"axis of {self.label} is zero; give the direction that looks, in the frame's axes")
        object.__setattr__(self, "axis", tuple(float(x) for x in axis / length))

    def error(self, at: WorldMotion, target: Array) -> Array:
        d, r, _ = self._sight(at, target)
        n = cross(d, r)
        squared = n @ n
        tiny = squared < 1e-24
        s = sc.sqrt(sc.where(tiny, 1.0, squared))
        angle = sc.atan2(sc.where(tiny, 0.0, s), d @ r)
        # straight behind every direction is as good: turn about one across d
        across = _across(d)
        return np.array([sc.where(tiny, angle * y, angle * x / s) for x, y in zip(n, across, strict=True)])

    def jacobian(self, at: WorldMotion, target: Array) -> Array:
        frame = find_frame(at.tree.top, self.frame)
        d, r, distance = self._sight(at, target)
        turn, move = at.jacobian(frame[0])[:3], at.point_jacobian(frame[0], at.pose(frame).p)
        along = d @ turn
        turn = np.array([turn[k] - d[k] * along for k in range(3)])
        rows: Array = turn + cross(r, move) * (1.0 / distance)
        return rows

    def _sight(self, at: WorldMotion, target: Array) -> tuple[Array, Array, Any]:
        """The axis d, the direction r of the target, and its distance."""
        pose = at.pose(find_frame(at.tree.top, self.frame))
        gap = target - pose.p
        distance = sc.maximum(sc.sqrt(sc.maximum(gap @ gap, NEAREST * NEAREST)), NEAREST)
        return pose.R @ np.array(self.axis), gap * (1.0 / distance), distance


def _across(d: Array) -> Array:
    """A unit vector at a right angle to the unit vector d."""
    x, y, z = d
    upright = sc.abs(z) > 0.9
    a = np.array([sc.where(upright, 0.0, y), sc.where(upright, z, -x), sc.where(upright, -y, 0.0)])
    out: Array = a * (1.0 / sc.sqrt(sc.maximum(a @ a, 1e-300)))
    return out
