"""What a body looks like: its geometry, or where it has none the simplest solid of its mass and inertia."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from kinloop.meshes.mesh_files import Mesh, read_meshes
from kinloop.model import Body, Geometry
from kinloop.scalar import Array
from kinloop.spatial import Transform
from kinloop.viewer.poses import between

Color = tuple[int, int, int]

SEEN = 0.8
"""Opacity of solids that stand for an inertia: what is inside them shows."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid fixed to a body; `size` as in `Geometry`, `color` r g b in 0..255, None: that of the body's cluster.

    A `mesh` is scaled by `size`. `is_geometry` tells what the model describes from what stands for it.
    """

    name: str
    kind: str
    size: tuple[float, ...]
    placement: Transform = field(default_factory=Transform.identity)
    color: Color | None = None
    opacity: float = 1.0
    mesh: Mesh | None = None
    is_geometry: bool = False


def body_meshes(bodies: Iterable[Body], world: Iterable[Geometry] = ()) -> dict[str, Mesh]:
    """The meshes of bodies and of the world by the paths of their files, where these can be read."""
    geometry = [*world, *(g for body in bodies for g in body.geometry)]
    return read_meshes(g.path for g in geometry if g.kind == "mesh" and g.path is not None)


def geometry_shapes(geometry: Iterable[Geometry], meshes: Mapping[str, Mesh]) -> list[Shape]:
    """The visual geometry among that of a body or of the world, else the rest; of meshes those that are given."""
    visual = [g for g in geometry if g.role in ("visual", "both")]
    return _drawable(visual, meshes) or _drawable([g for g in geometry if g.role == "collision"], meshes)


def _drawable(geometry: list[Geometry], meshes: Mapping[str, Mesh]) -> list[Shape]:
    out: list[Shape] = []
    for g in geometry:
        mesh = meshes.get(g.path) if g.kind == "mesh" and g.path is not None else None
        if g.kind not in ("plane", "heightfield") and (g.kind != "mesh" or mesh is not None):
            out.append(_from_geometry(g, len(out), mesh))
    return out


def _from_geometry(g: Geometry, k: int, mesh: Mesh | None) -> Shape:
    color, opacity = None, 1.0
    if g.color is not None:
        red, green, blue = (round(255 * min(max(c, 0.0), 1.0)) for c in g.color[:3])
        color, opacity = (red, green, blue), float(g.color[3])
    return Shape(f"{k}_{g.name or g.kind}", g.kind, g.size, g.placement, color, opacity, mesh, is_geometry=True)


def inertia_shape(body: Body) -> Shape | None:
    """The sphere, cylinder or box of the body's mass and moments of inertia; None for a body without mass.

    Moments no solid can have (some published ones are so) lose what exceeds the possible.
    """
    if body.mass <= 0 or not np.any(body.inertia):
        return None
    moments, axes = np.linalg.eigh(0.5 * (body.inertia + body.inertia.T))
    if np.linalg.det(axes) < 0:
        axes = axes * np.array([1.0, 1.0, -1.0])
    # second moments of mass along the principal axes, per mass
    spread = np.maximum(0.5 * moments.sum() - moments, 0.0) / body.mass
    top = float(spread.max())
    if top <= 0:
        return None
    if spread.min() > 0.97 * top:
        radius = float(np.sqrt(5.0 * spread.mean()))
        return Shape("inertia", "sphere", (radius,), Transform(np.eye(3), body.com), opacity=SEEN)
    for along in range(3):
        a, b = spread[(along + 1) % 3], spread[(along + 2) % 3]
        if abs(a - b) <= 0.02 * max(a, b) and max(a, b) > 1e-3 * top:
            turned = Transform(np.roll(axes, 2 - along, axis=1), body.com)
            size = (float(np.sqrt(2.0 * (a + b))), float(np.sqrt(12.0 * max(spread[along], 1e-3 * top))))
            return Shape("inertia", "cylinder", size, turned, opacity=SEEN)
    size = tuple(float(x) for x in np.sqrt(12.0 * np.maximum(spread, 1e-3 * top)))
    return Shape("inertia", "box", size, Transform(axes, body.com), opacity=SEEN)


def rod(name: str, a: Array, b: Array, radius: float, color: Color | None = None) -> Shape:
    """A round bar from a to b."""
    R, middle = between(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    length = float(np.linalg.norm(np.asarray(b) - np.asarray(a)))
    return Shape(name, "cylinder", (radius, length), Transform(R, middle), color)


def half_extent(s: Shape) -> tuple[Array, Array]:
    """(centre, half lengths) of a box along the shape's own axes that holds it."""
    size = np.array(s.size)
    match s.kind:
        case "box":
            return np.zeros(3), 0.5 * size
        case "ellipsoid":
            return np.zeros(3), size
        case "cylinder":
            return np.zeros(3), np.array([size[0], size[0], 0.5 * size[1]])
        case "capsule":
            return np.zeros(3), np.array([size[0], size[0], size[0] + 0.5 * size[1]])
        case "mesh" if s.mesh is not None:
            ends = np.array([s.mesh[0].min(axis=0), s.mesh[0].max(axis=0)]) * size
            return ends.mean(axis=0), 0.5 * np.abs(ends[1] - ends[0])
    return np.zeros(3), np.full(3, size[0])
