"""Tasks of a frame: its pose, its position, its orientation, in the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinloop.algorithms.trees.kinematics import find_frame
from kinloop.control.tasks.task import Task, checked_rotation, chosen_axes
from kinloop.control.world_motion import WorldMotion
from kinloop.errors import MethodError, ShapeError
from kinloop.inputs import checked
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import rotation_vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class FrameTask(Task):
    """What tasks of a frame share: the frame, by name."""

    frame: str

    @property
    def label(self) -> str:
        return f"{type(self).__name__}({self.frame!r})"

    def bodies(self, top: Topology) -> tuple[int, ...]:
        return (find_frame(top, self.frame)[0],)


@dataclass(frozen=True)
class PositionTask(FrameTask):
    """The origin of a frame at a point (3,) of the world, along some `axes` of it."""

    axes: str = "xyz"

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen_axes(self.axes, self.label)

    def error(self, at: WorldMotion, target: Array) -> Array:
        gap: Array = target - at.pose(find_frame(at.tree.top, self.frame)).p
        return gap[chosen_axes(self.axes, self.label)]

    def jacobian(self, at: WorldMotion, target: Array) -> Array:
        frame = find_frame(at.tree.top, self.frame)
        return at.point_jacobian(frame[0], at.pose(frame).p)[chosen_axes(self.axes, self.label)]

    def bias(self, at: WorldMotion, target: Array) -> Array:
        frame = find_frame(at.tree.top, self.frame)
        return at.point_bias(frame[0], at.pose(frame).p)[chosen_axes(self.axes, self.label)]


@dataclass(frozen=True)
class OrientationTask(FrameTask):
    """The axes of a frame along those of a rotation matrix (3, 3); the error is the rotation vector, world axes."""

    def target_size(self, top: Topology) -> int:
        return 9

    def flat_target(self, top: Topology, target: ArrayLike) -> Array:
        R = checked_rotation(f"target of {self.label}", target)
        return R.reshape(*R.shape[:-2], 9)

    def error(self, at: WorldMotion, target: Array) -> Array:
        R = at.pose(find_frame(at.tree.top, self.frame)).R
        return rotation_vector(target.reshape(3, 3) @ R.T)

    def jacobian(self, at: WorldMotion, target: Array) -> Array:
        return at.jacobian(find_frame(at.tree.top, self.frame)[0])[:3]

    def bias(self, at: WorldMotion, target: Array) -> Array:
        return at.angular_bias(find_frame(at.tree.top, self.frame)[0])


@dataclass(frozen=True)
class PoseTask(FrameTask):
    """The pose of a frame, as a 4x4 matrix (`robot.frame_pose`).

    `orientation` is the weight of an error of 1 rad against one of 1 m.
    """

    orientation: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.orientation > 0.0:
            raise MethodError(f"orientation of {self.label} must be positive; for none of it take a PositionTask")

    def target_size(self, top: Topology) -> int:
        return 12

    def flat_target(self, top: Topology, target: ArrayLike) -> Array:
        T = np.asarray(target, dtype=float)
        if T.shape[-2:] != (4, 4):
            raise ShapeError(f"target of {self.label} must be a pose (..., 4, 4), received {T.shape}")
        R = checked_rotation(f"target of {self.label}", T[..., :3, :3])
        p = checked(f"target of {self.label}", T[..., :3, 3], 3)
        return np.concatenate([R.reshape(*R.shape[:-2], 9), p], axis=-1)

    def _parts(self) -> tuple[OrientationTask, PositionTask]:
        return OrientationTask(self.frame), PositionTask(self.frame)

    def error(self, at: WorldMotion, target: Array) -> Array:
        turn, place = self._parts()
        return np.concatenate([turn.error(at, target[:9]), place.error(at, target[9:])])

    def jacobian(self, at: WorldMotion, target: Array) -> Array:
        turn, place = self._parts()
        return np.concatenate([turn.jacobian(at, target[:9]), place.jacobian(at, target[9:])])

    def bias(self, at: WorldMotion, target: Array) -> Array:
        turn, place = self._parts()
        return np.concatenate([turn.bias(at, target[:9]), place.bias(at, target[9:])])

    def row_weights(self, rows: int) -> Array:
        return np.array([self.weight * self.orientation] * 3 + [self.weight] * 3)
