"""Boxes, cylinders, ellipsoids and hulls of meshes over a plane: the points of them that reach deepest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.errors import MethodError
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.patches import STEEP, completed
from kinloop.sim.contact.shapes.proximity import FAR, Proximity, choose, dot, in_world, seen_from, signed, vector
from kinloop.sim.contact.shapes.supports import Hulls
from kinloop.sim.contact.shapes.swept import over_plane
from kinloop.spatial import Transform, cross

UPRIGHT = 1e-9
"""Tilt of a cylinder [rad] below which the points of its rim stay where they are in its own frame."""


def box_plane(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A box over a plane: the four corners of its lowest face."""
    centre, side_1, side_2 = face_towards(size_a, pose_a.R, -seen_from(pose_a.R, pose_b.R[:, 2]))
    middle = pose_a.p + centre
    corners = [middle + s * (side_1 + t * side_2) for s, t in ((-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (1.0, 1.0))]
    return over_plane([(corner, 0.0) for corner in corners], pose_b)


def face_towards(size: Any, R: Array, n: Array) -> tuple[Array, Array, Array]:
    """The face of a box that looks most along n (in the box's frame): its centre and half its sides, as vectors.

    R has the box's axes as columns, in the frame of the vectors that are given.
    """
    halves = [0.5 * size[k] * R[:, k] for k in range(3)]
    x, y, z = (sc.abs(n[k]) for k in range(3))
    first = sc.logical_and(x >= y, x >= z)
    second = y >= z
    outward = [signed(n[k], 1.0) * halves[k] for k in range(3)]
    centre = choose(first, outward[0], choose(second, outward[1], outward[2]))
    side_1 = choose(first, halves[1], choose(second, halves[2], halves[0]))
    side_2 = choose(first, halves[2], choose(second, halves[0], halves[1]))
    return centre, side_1, side_2


def cylinder_plane(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A cylinder over a plane: the lowest point of each rim, and two more points of the lower rim, 120 degrees apart.

    Standing upright, all points of the rim are as low; `UPRIGHT` keeps the chosen ones from turning about.
    """
    radius, x, u, n = size_a[0], pose_a.R[:, 0], pose_a.R[:, 2], pose_b.R[:, 2]
    across = cross(cross(u, n), u) - UPRIGHT * x
    down = -radius * across / sc.maximum(sc.sqrt(dot(across, across)), 1e-18)
    half = 0.5 * size_a[1] * u
    lower = pose_a.p - signed(dot(u, n), 1.0) * half - 0.5 * down
    beside = 0.75**0.5 * cross(u, down)
    points = [pose_a.p - half + down, pose_a.p + half + down, lower + beside, lower - beside]
    return over_plane([(point, 0.0) for point in points], pose_b)


def ellipsoid_plane(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """An ellipsoid over a plane: its lowest point."""
    n = seen_from(pose_a.R, pose_b.R[:, 2])
    scaled = [size_a[k] * n[k] for k in range(3)]
    reach = sc.sqrt(dot(scaled, scaled))
    inside = [size_a[k] * scaled[k] / reach for k in range(3)]
    lowest = pose_a.p - (inside[0] * pose_a.R[:, 0] + inside[1] * pose_a.R[:, 1] + inside[2] * pose_a.R[:, 2])
    return over_plane([(lowest, 0.0)], pose_b)


class HullAt(NamedTuple):
    """One of some hulls, by its number."""

    hulls: Hulls
    number: Any


def mesh_plane(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """The hull of a mesh over a plane: up to four of its lowest vertices, spread wide.

    `size_a` is a `HullAt`, or has the vertices of one, one after the other; some may stand there twice. Those count
    that are furthest along n and a little along each diagonal of the two axes of the mesh that n is squarest to.
    """
    down = -seen_from(pose_a.R, pose_b.R[:, 2])
    level = dot(pose_b.R[:, 2], pose_a.p - pose_b.p)
    _, y, z = face_towards([2.0 / STEEP] * 3, np.eye(3), down)
    lowest, *ends = _all_furthest(size_a, [down, *(down + tilt for tilt in (y + z, -(y + z), y - z, z - y))])
    chosen, nearest = [[*x, level - dot(down, x)] for x in ends], [*lowest, level - dot(down, lowest)]
    n, out = pose_b.R[:, 2], []
    for *x, gap in completed(chosen, nearest, -FAR):
        height = level - dot(down, x)
        out.append(Proximity(gap, pose_a.p + in_world(pose_a.R, x) - 0.5 * height * n, n))
    return out


def _all_furthest(size: Any, directions: list[Array]) -> list[Array]:
    """The vertices of a hull that are furthest along some directions, of which the others are near the first."""
    if not isinstance(size, HullAt):
        vertices = np.asarray(size).reshape(-1, 3)
        if len(vertices) < 4:
            raise MethodError(
                f"the hull of a mesh has {len(vertices)} vertices; give the vertices of a body, four or more"
            )
        return [_furthest(vertices, n) for n in directions]
    first = size.hulls.climbed(size.hulls.beginning(size.number, directions[0]), directions[0])
    places = [first, *(size.hulls.climbed(first, n) for n in directions[1:])]
    return [size.hulls.vertex(place) for place in places]


def _furthest(vertices: Array, n: Array) -> Array:
    """The vertex furthest along n, the first of several."""
    reach = vertices[:, 0] * n[0] + vertices[:, 1] * n[1] + vertices[:, 2] * n[2]
    if not sc.is_symbolic(vertices, n):
        return np.asarray(vertices[np.argmax(reach)])
    best = vector(reach[0], *vertices[0])
    for far, vertex in zip(reach[1:], vertices[1:], strict=True):
        best = choose(far > best[0], (far, *vertex), best)
    return best[1:]
