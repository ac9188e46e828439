"""A rigid body: its mass and inertia, and the geometry fixed to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinloop.errors import ModelError
from kinloop.meshes.convex_hulls import hulls_of_files
from kinloop.model.contact_rules import Surface
from kinloop.model.facts import NO_DYNAMICS
from kinloop.model.frozen_arrays import frozen, frozen_numbers
from kinloop.scalar import Array
from kinloop.spatial import Transform

GEOMETRIES = {
    "box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "ellipsoid": 3, "plane": 2, "mesh": 3, "heightfield": 3,
}  # fmt: skip
"""Kinds of geometry and how many numbers their size has."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape fixed to a body, for viewers and contact.

    `size` [m]: box: full lengths; sphere: radius; cylinder and capsule: radius, length along z (a capsule's
    between the centres of its caps); ellipsoid: semi-axes; plane: half lengths (0: infinite), normal z;
    mesh: scale; heightfield: lengths along x and y, depth of its base below z = 0. `role` is "visual", "collision"
    or "both". `mesh` is the reference as the file has it, `path` the file found for it, if any. `color` is r g b a
    in 0..1.

    `surface` is what the file says of its contact, None where it says nothing. `link` names the file's link that
    carries the shape where that was lumped into the body. `vertices` (n, 3) are those of a mesh's convex hull in the
    frame of the shape [m], where the file's reader has them (see `convex_hulls`). `heights` (rows along y, columns
    along x) of a heightfield [m] are at points spread evenly over its lengths, from negative x and y on.
    """

    kind: str
    size: tuple[float, ...]
    placement: Transform = field(default_factory=Transform.identity)
    role: str = "both"
    name: str = ""
    mesh: str | None = None
    path: str | None = None
    color: tuple[float, float, float, float] | None = None
    surface: Surface | None = None
    link: str = ""
    vertices: Any = None
    heights: Any = None

    def __post_init__(self) -> None:
        if self.kind not in GEOMETRIES:
            raise ModelError(f"geometry {self.kind!r} is not one of {', '.join(GEOMETRIES)}")
        size = frozen_numbers(self.size, GEOMETRIES[self.kind], f"size of {self.kind} {self.name!r}")
        if self.kind != "mesh" and size and min(size) < 0:
            raise ModelError(f"size of {self.kind} {self.name!r} is {list(size)}; sizes must not be negative")
        object.__setattr__(self, "size", size)
        for key, of_kind in (("vertices", "mesh"), ("heights", "heightfield")):
            if getattr(self, key) is not None:
                object.__setattr__(self, key, self._table(key, of_kind))
        if self.kind == "heightfield" and self.heights is None:
            raise ModelError(f"heightfield {self.name!r} has no heights; give an array of rows and columns")

    def _table(self, key: str, of_kind: str) -> Array:
        """The read-only array of a field that only one kind of geometry has."""
        given = getattr(self, key)
        shape = np.shape(given)
        wanted = len(shape) == 2 and (shape[1] == 3 if key == "vertices" else min(shape) >= 2)
        if self.kind != of_kind or not wanted:
            raise ModelError(
                f"{self.kind} {self.name!r} has {key} of shape {shape}; a {of_kind} has rows of "
                + ("three numbers" if key == "vertices" else "two or more numbers, two or more of them")
            )
        if isinstance(given, np.ndarray) and given.dtype == float and not given.flags.writeable:
            return given  # checked before, and shared by shapes
        return frozen(given, shape, f"{key} of {self.kind} {self.name!r}")


def convex_hulls(shapes: Sequence[Geometry]) -> list[Array]:
    """The vertices (n, 3) of the convex hulls of meshes, each in the frame of its shape [m].

    Those that a file's reader has not given are made of the mesh files, which are read together, once.
    """
    for g in shapes:
        if g.kind != "mesh" or (g.vertices is None and g.path is None):
            raise ModelError(
                f"{g.kind} {g.name!r} has no convex hull: no mesh file was found for {g.mesh!r}; "
                "load the model with packages=[...], or leave the shape out"
            )
    of_files = hulls_of_files(g.path for g in shapes if g.vertices is None and g.path is not None)
    return [of_files[str(g.path)] * g.size if g.vertices is None else g.vertices for g in shapes]


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
