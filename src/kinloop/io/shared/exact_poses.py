"""Poses as files write them, with exact zeros and ones where rounding leaves dust, so that kernels can fold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kinloop.io.shared.file_errors import Place
from kinloop.io.shared.parse_numbers import vector, vector_list
from kinloop.io.shared.safe_xml import Node
from kinloop.model.frame import swept
from kinloop.model.frozen_arrays import frozen
from kinloop.spatial import Transform, quaternion_rotation, rotation_quaternion, rpy_rotation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ROUNDING = 2e-15
"""Dust of the arithmetic that makes a rotation matrix out of angles or a quaternion."""
SHORTEST = 1e-9
"""A quaternion below this length has no direction."""


_NO_TURN = swept(np.eye(3))


def exact_pose(at: ArrayLike, rotation: np.ndarray) -> Transform:
    """A pose of a rotation that is one: only dust of the arithmetic itself is swept to exact zeros and ones."""
    return Transform(swept(rotation, dust=ROUNDING), frozen(at, (3,), "position"))


def rpy_pose(at: ArrayLike, rpy: Sequence[float], where: Place) -> Transform:
    """A pose from a position and roll, pitch, yaw, numbers of a file that were checked when they were read."""
    if any(rpy):
        with where.blamed():
            return exact_pose(at, rpy_rotation(*rpy))
    p = np.array(at)
    p.setflags(write=False)
    return Transform(_NO_TURN, p)


def quaternion_pose(at: np.ndarray, quaternion: np.ndarray, where: Place) -> Transform:
    """A pose from a position and a quaternion (w x y z) of any length but zero."""
    length = float(np.linalg.norm(quaternion))
    if not length > SHORTEST:
        raise where.error(f"the quaternion {quaternion.tolist()} has no length; give a unit quaternion")
    with where.blamed():
        return exact_pose(at, quaternion_rotation(quaternion / length))


def origin_pose(node: Node | None) -> Transform:
    """The pose of an `<origin xyz rpy>` (or `quat`, wxyz), identity where it is absent."""
    if node is None:
        return Transform.identity()
    if node.get("quat") is not None and node.get("rpy") is None:
        return quaternion_pose(vector(node), vector(node, "quat", (1.0, 0.0, 0.0, 0.0)), node)
    zero = (0.0, 0.0, 0.0)
    return rpy_pose(vector_list(node, "xyz", zero), vector_list(node, "rpy", zero), node)


def is_identity(T: Transform) -> bool:
    return not T.p.any() and turns_nothing(T.R)


def turns_nothing(R: np.ndarray) -> bool:
    """Whether a rotation matrix is the identity."""
    return R is _NO_TURN or bool((R == _NO_TURN).all())


def composed(T: Transform, other: Transform) -> Transform:
    """`T.then(other)`, bit for bit `other` where T is the identity."""
    return other if is_identity(T) else T.then(other)


def free_position(T: Transform) -> tuple[float, ...]:
    """A pose as the position of a free joint: x y z, then the quaternion w x y z."""
    return (*map(float, T.p), *map(float, rotation_quaternion(T.R)))
