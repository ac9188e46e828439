"""A tree joint: a joint type between two bodies, with what resists and limits its motion."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.frozen_arrays import LARGEST, frozen, is_finite
from kinloop.model.joints import JointType, check_joint_type
from kinloop.spatial import Transform


@dataclass(frozen=True, eq=False)
class Joint:
    """A tree joint: `child` moves on `parent` as `type` allows, from `placement` in the parent's frame.

    `armature` is a reflected inertia added at the joint [kg m^2 or kg], `damping` and `friction` resist
    its motion [N m s/rad, N m], `stiffness` pulls it to `rest` [N m/rad]; limits are on position, velocity
    and force. Inverse and forward dynamics know the armature; the rest is for the simulator.
    `home` is the position the mechanism is drawn in, where that is not the type's neutral one. Forces of motors are
    between `-max_force` and `max_force`, or between `min_force` and `max_force` where that is given.
    """

    name: str
    parent: str
    child: str
    type: JointType
    placement: Transform = field(default_factory=Transform.identity)
    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    max_velocity: float = np.inf
    max_force: float = np.inf
    home: tuple[float, ...] | None = None
    min_force: float | None = None

    @property
    def force_range(self) -> tuple[float, float]:
        """The least and the largest force that motors may put on it."""
        return -self.max_force if self.min_force is None else self.min_force, self.max_force

    def __post_init__(self) -> None:
        if self.home is not None:
            home = frozen(self.home, (self.type.nq,), f"home of joint {self.name!r}")
            object.__setattr__(self, "home", tuple(float(x) for x in home))
        for what in ("armature", "damping", "friction", "stiffness"):
            value = getattr(self, what)
            if not (is_finite(value) and value >= 0):
                raise ModelError(f"joint {self.name!r} has {what} {value!r}; it must be a number not below zero")
            if value > LARGEST:
                raise ModelError(f"joint {self.name!r} has {what} {value!r}; it must be at most {LARGEST:.0e}")
        if not is_finite(self.rest):
            raise ModelError(f"joint {self.name!r} has its spring at rest at {self.rest!r}; give a finite position")
        check_joint_type(self.type, f"joint {self.name!r}")
        if self.type.is_free and self.armature > 0:
            raise ModelError(
                f"joint {self.name!r} is free and has armature {self.armature!r}; a free joint has no motor whose "
                "inertia it could reflect: leave it out, or give the body that mass and inertia"
            )
        if not self.force_range[0] <= self.force_range[1]:
            raise ModelError(
                f"joint {self.name!r} bounds forces from {self.force_range[0]} to {self.force_range[1]}; the lower "
                "bound must not be above the upper"
            )
        if not self.lower <= self.upper:
            raise ModelError(
                f"joint {self.name!r} has limits from {self.lower} to {self.upper}; the lower must not be "
                "above the upper"
            )


def coordinate_names(j: Joint) -> list[str]:
    """Names of the velocity coordinates of a joint: its own name, or name[0], name[1], ..."""
    return _numbered(j.name, j.type.nv)


def position_names(j: Joint) -> list[str]:
    """Names of the position coordinates of a joint, likewise."""
    return _numbered(j.name, j.type.nq)


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]
