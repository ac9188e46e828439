"""A task: something a robot shall reach or hold, as an error that vanishes there, and how motion changes it.

    e(q, target)        how far the target is away, as a small motion: a step x of what the task looks at removes x
    J(q)                that step per unit of v, so that J dv = e leads to the target to first order                 (1)
    b(q, v) = dJ/dt v   its acceleration at zero independent acceleration: J a + b

Every kind is a small class in a file of its own. Inverse kinematics takes (1) by least squares; whole-body control asks
for the acceleration J a + b = k e - d J v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import position_rate
from kinloop.control.world_motion import WorldMotion
from kinloop.errors import MethodError, ShapeError
from kinloop.inputs import checked, checked_count, checked_number
from kinloop.model.topology import Topology
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True, kw_only=True)
class Task:
    """What all tasks have: a `weight` among those of the same level, and a `level`.

    The cost of a task is half its weight times the squared error [m^2, rad^2]. Tasks of level 0 come first; those of
    level 1 have what freedom they leave, and so on.
    """

    weight: float = 1.0
    level: int = 0

    def __post_init__(self) -> None:
        checked_number(f"weight of {self.label}", self.weight, "be a positive number", float(np.finfo(float).tiny))
        checked_count(f"level of {self.label}", self.level, least=0)

    @property
    def label(self) -> str:
        """How messages name it."""
        return type(self).__name__

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        return type(self).__name__, *(getattr(self, name) for name in self.__dataclass_fields__)

    def bodies(self, top: Topology) -> tuple[int, ...]:
        """The bodies whose frames it looks at; an error for a name that the robot does not have."""
        raise NotImplementedError

    def target_size(self, top: Topology) -> int:
        """How many numbers its target has."""
        return 3

    def flat_target(self, top: Topology, target: ArrayLike) -> Array:
        """A target as users give it, (..., size) numbers [m, rad]; an error where it is none."""
        return checked(f"target of {self.label}", target, self.target_size(top))

    def error(self, at: WorldMotion, target: Array) -> Array:
        """e (rows) [m, rad]: how far the target is away."""
        raise NotImplementedError

    def jacobian(self, at: WorldMotion, target: Array) -> Array:
        """J (rows, nv) [1, m]: -de/dt is J v for a target at rest."""
        raise NotImplementedError

    def row_weights(self, rows: int) -> Array:
        """The weight of every row (rows) [1]."""
        return np.full(rows, self.weight)

    def bias(self, at: WorldMotion, target: Array) -> Array:
        """dJ/dt v (rows) [m/s^2, rad/s^2] for a target at rest, here from the graph's own derivative of J v."""
        tree = at.tree
        assert at.v is not None, "biases are of motions"
        if not sc.is_symbolic(at.q, at.v):
            turning = self.bodies(tree.top)
            sizes = {"q": len(at.q), "v": tree.nv, "target": len(target)}
            traced = sc.trace(lambda q, v, target: self.bias(WorldMotion(tree, q, v, turning), target), sizes)
            found: Array = traced(at.q, at.v, target)
            return found
        rate = position_rate(tree.top, at.q, at.G @ at.v)
        return sc.jvp(self.jacobian(at, target) @ at.v, at.q, rate)


def chosen_axes(axes: str, label: str) -> list[int]:
    """The rows of the named axes of the world."""
    if not axes or any(a not in AXES for a in axes) or len(set(axes)) != len(axes):
        raise MethodError(f"axes {axes!r} of {label} are not some of 'xyz', each once")
    return [AXES[a] for a in axes]


def checked_rotation(name: str, R: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3), or an error."""
    R = np.asarray(R, dtype=float)
    if R.shape[-2:] != (3, 3):
        raise ShapeError(f"{name} must be a rotation matrix (..., 3, 3), received {R.shape}")
    R = checked(name, R.reshape(*R.shape[:-2], 9), 9).reshape(R.shape)
    off = np.max(np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)), initial=0.0)
    if off > 1e-6 or np.any(np.linalg.det(R) < 0.0):
        raise MethodError(
            f"{name} is no rotation: R R^T is off by {off:.1e}, or it mirrors; give an orthonormal matrix"
        )
    return R
