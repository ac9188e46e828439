"""A rigid body: its mass and inertia, and the geometry fixed to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.facts import NO_DYNAMICS
from kinloop.model.frozen_arrays import frozen
from kinloop.spatial import Transform

GEOMETRIES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "ellipsoid": 3, "plane": 2, "mesh": 3}
"""Kinds of geometry and how many numbers their size has."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape fixed to a body, for viewers and contact.

    `size` [m]: box: full lengths; sphere: radius; cylinder and capsule: radius, length along z (a capsule's
    between the centres of its caps); ellipsoid: semi-axes; plane: half lengths (0: infinite), normal z;
    mesh: scale. `role` is "visual", "collision" or "both". `mesh` is the reference as the file has it,
    `path` the file found for it, if any. `color` is r g b a in 0..1.
    """

    kind: str
    size: tuple[float, ...]
    placement: Transform = field(default_factory=Transform.identity)
    role: str = "both"
    name: str = ""
    mesh: str | None = None
    path: str | None = None
    color: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in GEOMETRIES:
            raise ModelError(f"geometry {self.kind!r} is not one of {', '.join(GEOMETRIES)}")
        size = frozen(self.size, (GEOMETRIES[self.kind],), f"size of {self.kind} {self.name!r}")
        if self.kind != "mesh" and np.any(size < 0):
            raise ModelError(f"size of {self.kind} {self.name!r} is {size.tolist()}; sizes must not be negative")
        object.__setattr__(self, "size", tuple(size.tolist()))


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body: mass [kg], centre of mass [m] and inertia about it [kg m^2], in its own frame.

    `com` and `inertia` are given as anything array-like (an inertia of three numbers is a diagonal) and kept
    as read-only arrays. `accept_inertia` takes moments that no distribution of mass can have (published ones
    do that). `geometry` is kept for viewers and contact; dynamics never looks at it.
    """

    name: str
    mass: float = 0.0
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = field(default_factory=lambda: np.zeros((3, 3)))
    accept_inertia: bool = False
    geometry: tuple[Geometry, ...] = field(default=(), metadata=NO_DYNAMICS)

    def __post_init__(self) -> None:
        what = f"body {self.name!r}"
        inertia = np.diag(self.inertia) if np.shape(self.inertia) == (3,) else self.inertia
        object.__setattr__(self, "mass", float(frozen(self.mass, (), f"mass of {what}")))
        object.__setattr__(self, "com", frozen(self.com, (3,), f"com of {what}"))
        object.__setattr__(self, "inertia", frozen(inertia, (3, 3), f"inertia of {what}"))
