"""Shapes of a scene by numbers: those of bodies and of the world, hulls of meshes, height fields, and the ground."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.model import Geometry, Surface, convex_hulls
from kinloop.model.joints import perpendicular
from kinloop.scalar import Array
from kinloop.sim.contact.ground import Ground, HeightField, Plane
from kinloop.sim.contact.shapes import Heights
from kinloop.spatial import Transform

WORLD = -1


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape by numbers: on which body (-1: the world), where, and how its surface is.

    `data` are the vertices (n, 3) of a mesh's hull about their middle, the `Heights` of a height field, or the
    `HeightField` that is a terrain.
    """

    name: str
    kind: str
    size: tuple[float, ...]
    body: int
    placement: Transform
    surface: Surface
    links: frozenset[str]
    link: str = "world"
    data: Any = None

    @property
    def bound(self) -> float:
        """The radius of a sphere about its centre that holds it [m]; 0 of what has no end, or no hull."""
        size = self.size
        match self.kind:
            case "sphere":
                return size[0]
            case "capsule":
                return size[0] + 0.5 * size[1]
            case "cylinder":
                return float(np.hypot(size[0], 0.5 * size[1]))
            case "box":
                return 0.5 * float(np.linalg.norm(size))
            case "mesh":
                return 0.0 if self.data is None else float(np.sqrt(np.max(np.sum(self.data * self.data, axis=1))))
            case "heightfield":
                return float(
                    np.linalg.norm([0.5 * size[0], 0.5 * size[1], max(size[2], np.abs(self.data.heights).max())])
                )
            case "ellipsoid":
                return float(max(size))
        return 0.0

    @property
    def rounding(self) -> float:
        """How far its surface is from the points or lines that it is swept about [m]."""
        return self.size[0] if self.kind in ("sphere", "capsule") else 0.0

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        placed = map(float, (*self.placement.R.flat, *self.placement.p))
        return self.kind, self.size, self.body, *placed, *self._data_key

    @property
    def _data_key(self) -> tuple[Any, ...]:
        match self.data:
            case None:
                return ()
            case HeightField():
                return self.data.key
            case Heights():
                return self.data.heights.shape, _digest(self.data.heights)
        return self.data.shape, _digest(self.data)


def _digest(x: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest()


def listed_shapes(owner: str, body: int, geometry: Iterable[Geometry], friction: float) -> list[tuple[Shape, Geometry]]:
    """The collision shapes of a body or of the world, with what they are made of; meshes have no hull yet."""
    plain, out = Surface(friction=(friction, 0.0, 0.0)), []
    for k, g in enumerate(geometry):
        if g.role in ("collision", "both"):
            name, link = g.name or f"{owner}.{k}", g.link or owner
            data = Heights(g.size[:2], g.heights) if g.kind == "heightfield" else None
            named = frozenset((owner, link)), link, data
            out.append((Shape(name, g.kind, tuple(g.size), body, g.placement, g.surface or plain, *named), g))
    return out


def with_hulls(shapes: Sequence[Shape], meshes: dict[int, Geometry]) -> list[Shape]:
    """The shapes with the hulls of these meshes, by their places; each about the middle of its hull."""
    out = list(shapes)
    known: dict[bytes, Array] = {}
    for k, x in zip(meshes, convex_hulls(list(meshes.values())), strict=True):
        middle = 0.5 * (x.min(axis=0) + x.max(axis=0))
        centred = x - middle
        placement = shapes[k].placement.then(Transform(np.eye(3), middle))
        out[k] = replace(shapes[k], placement=placement, data=known.setdefault(centred.tobytes(), centred))
    return out


def is_large(a: Shape, field: Shape) -> bool:
    """Whether a sphere or capsule is too large for the formula over a height field, which looks at the nearest cells.

    Of a capsule it looks at both ends: what is between them must be short.
    """
    rows, columns = field.data.heights.shape
    cell = min(field.size[0] / (columns - 1), field.size[1] / (rows - 1))
    return a.size[0] > 0.5 * cell or (a.kind == "capsule" and a.size[1] > 0.25 * cell)


def ground_shape(ground: Ground) -> Shape:
    """A ground as a shape of the world that touches everything."""
    surface = Surface(friction=(float(ground.friction), 0.0, 0.0), contype=-1, conaffinity=-1)
    links = frozenset(("world",))
    if isinstance(ground, HeightField):
        return Shape("ground", "terrain", (), WORLD, Transform.identity(), surface, links, data=ground)
    if not isinstance(ground, Plane):
        raise MethodError(f"collisions go with a Plane or a HeightField as ground, received a {type(ground).__name__}")
    n = np.array(ground.normal)
    t1, t2 = perpendicular(n)
    placement = Transform(np.stack([t1, t2, n], axis=1), ground.height * n)
    return Shape("ground", "plane", (0.0, 0.0), WORLD, placement, surface, links)
