"""Springs and dampers by numbers: the coordinates along which they act at a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import FrameAt
from kinloop.model.joints import Axis, perpendicular
from kinloop.scalar import Array
from kinloop.sim.force_state import BodyPlaces
from kinloop.spatial import Transform
from kinloop.spatial.transform import cross

NO_LENGTH = 1e-12
"""Points that are nearer than this [m] have no line between them: what acts along it fades out."""


class Row(NamedTuple):
    """A coordinate x whose rate is the power of a unit force along it: the force there is -stiffness x - damping x'.

    A unit force is the wrench `wrench` (6,) on the body `second`, in world axes about the world's origin, and its
    opposite on the body `first`; -1 is the world. Or, where there is no wrench, a unit force on the spanning
    coordinate `dof`.
    """

    x: Any
    stiffness: float
    damping: float
    first: int = -1
    second: int = -1
    wrench: Array | None = None
    dof: int = -1

    def on_joints(self, places: BodyPlaces) -> Array:
        """What a unit force is on the spanning coordinates; dx/dt is its product with their velocities."""
        if self.wrench is None:
            out = np.zeros(places.top.n_spanning)
            out[self.dof] = 1.0
            return out
        _, to_first, to_second = places.top.paths(self.first, self.second)
        return places.on_joints(to_second, self.wrench) - places.on_joints(to_first, self.wrench)


@dataclass(frozen=True)
class PointSpring:
    """Between the origins of two frames: along the line between them, or in `every_direction` with no length."""

    first: FrameAt
    second: FrameAt
    stiffness: float
    length: float
    damping: float
    every_direction: bool

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        numbers = self.stiffness, self.length, self.damping, self.every_direction
        return "points", *numbers, *_frame_key(self.first), *_frame_key(self.second)

    def rows(self, places: BodyPlaces) -> list[Row]:
        """Its coordinates: the length, or the second point as the first body sees it, along that body's axes."""
        (a, T_a), (b, T_b) = self.first, self.second
        A, p = places.pose(a).then(T_a), places.pose(b).then(T_b).p
        d = p - A.p
        if self.every_direction:
            return [self._row(A.R[:, k] @ d, A.R[:, k], p) for k in range(3)]
        length = sc.sqrt(d @ d + NO_LENGTH**2)
        return [self._row(length - self.length, d / length, p)]

    def _row(self, x: Any, n: Array, p: Array) -> Row:
        wrench = np.concatenate([cross(p, n), n])
        return Row(x, self.stiffness, self.damping, self.first[0], self.second[0], wrench)


@dataclass(frozen=True)
class CoordinateSpring:
    """On a spanning coordinate, whose position is q[place]; -1 where it has none, which is no place for a spring."""

    dof: int
    place: int
    stiffness: float
    damping: float
    rest: float

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        return "coordinate", self.dof, self.stiffness, self.damping, self.rest

    def rows(self, places: BodyPlaces) -> list[Row]:
        """The coordinate."""
        x = places.q[self.place] - self.rest if self.place >= 0 else 0.0
        return [Row(x, self.stiffness, self.damping, dof=self.dof)]


@dataclass(frozen=True)
class LoopJointSpring:
    """On a joint that closes a loop between two frames, which turns (or else slides) by its axis."""

    first: FrameAt
    second: FrameAt
    axis: Axis
    turns: bool
    stiffness: float
    damping: float
    rest: float

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        numbers = *self.axis, self.turns, self.stiffness, self.damping, self.rest
        return "loop joint", *numbers, *_frame_key(self.first), *_frame_key(self.second)

    def rows(self, places: BodyPlaces) -> list[Row]:
        """The angle beyond rest, within half a turn of it, or the way beyond rest."""
        (a, T_a), (b, T_b) = self.first, self.second
        A, B = places.pose(a).then(T_a), places.pose(b).then(T_b)
        n = A.R @ np.array(self.axis)
        if not self.turns:
            return [self._row(n @ (B.p - A.p) - self.rest, np.concatenate([cross(B.p, n), n]))]
        e, f = perpendicular(np.array(self.axis))
        turned = A.R.T @ (B.R @ e)
        c, s = np.cos(self.rest), np.sin(self.rest)
        x, y = turned @ e, turned @ f
        return [self._row(sc.atan2(c * y - s * x, c * x + s * y), np.concatenate([n, np.zeros(3)]))]

    def _row(self, x: Any, wrench: Array) -> Row:
        return Row(x, self.stiffness, self.damping, self.first[0], self.second[0], wrench)


BoundSpring = PointSpring | CoordinateSpring | LoopJointSpring
"""A spring or damper of a robot."""


def _frame_key(frame: FrameAt) -> tuple[Any, ...]:
    body, T = frame
    return body, *map(float, T.R.flat), *map(float, T.p)


def frame_with(frame: FrameAt, at: Any) -> FrameAt:
    """The frame moved to the place `at` [m] in it."""
    body, T = frame
    return body, T.then(Transform(np.eye(3), np.array(at, dtype=float)))
