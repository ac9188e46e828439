"""Frames fixed to bodies, and the poses that place them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.frozen_arrays import frozen
from kinloop.scalar import Array
from kinloop.spatial import Transform

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

WORLD = "world"

ORTHONORMAL = 1e-6
"""How far R R^T may be from the identity: files print rotations with six or more digits."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to a body."""

    name: str
    body: str
    placement: Transform = field(default_factory=Transform.identity)


def placement(at: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike | None = None, what: str = "placement") -> Transform:
    """A pose from a position [m] and a rotation matrix; rounding dust is swept to exact zeros and ones."""
    p = frozen(at, (3,), f"{what} position")
    R = frozen(np.eye(3) if rotation is None else rotation, (3, 3), f"{what} rotation")
    if np.max(np.abs(R @ R.T - np.eye(3))) > ORTHONORMAL or np.linalg.det(R) < 0:
        raise ModelError(f"{what} rotation is not a rotation matrix; its columns must be orthonormal and right-handed")
    return Transform(swept(R), p)


def swept(a: Array, dust: float = 1e-12) -> Array:
    """`a` with entries within rounding of -1, 0, 1 made exact, so that traces can fold them."""
    nearest = np.round(a)
    out: Array = np.where((np.abs(a - nearest) < dust) & (np.abs(nearest) <= 1), nearest, a) + 0.0
    out.setflags(write=False)
    return out


def composed(T: Transform, other: Transform) -> Transform:
    """`T.then(other)`, bit for bit `other` where T is the identity."""
    if np.array_equal(T.R, np.eye(3)) and not np.any(T.p):
        return other
    return T.then(other)
