"""The ground as it is: a plane as a grid, tilted as it lies; a height field as a mesh with lines draped over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.model import Geometry
from kinloop.model.joints import perpendicular
from kinloop.scalar import Array
from kinloop.sim.contact.ground import Ground, Plane
from kinloop.spatial import Transform
from kinloop.viewer.poses import quaternions

VERTICES = 30_000
"""Vertices of a mesh, at most about so many."""

SHADE = 0.35
"""How dark shadows are on a plane. Without shadows it is 0: a layer that catches them is drawn all over the picture."""

SOIL, CELL, SECTION = (196, 202, 210), (160, 168, 180), (116, 127, 144)


def as_ground(ground: Any, lowest: float, world: Sequence[Geometry] = ()) -> Ground:
    """A ground to draw: itself, level ground at a height, or where nothing is said the first plane of the world.

    Where that has none, it is level and below the lowest point.
    """
    if isinstance(ground, Ground):
        return ground
    if ground is None:
        planes = [g.placement for g in world if g.kind == "plane"]
        return _plane_at(planes[0]) if planes else Plane(height=float(lowest))
    try:
        return Plane(height=float(ground))
    except (TypeError, ValueError):
        kind = type(ground).__name__
        raise MethodError(f"ground must be a height, a Plane or a HeightField, received {kind}") from None


def _plane_at(placement: Transform) -> Plane:
    n = np.asarray(placement.R, dtype=float)[:, 2]
    return Plane(normal=tuple(n.tolist()), height=float(n @ placement.p))


def draw_ground(api: Any, ground: Ground, low: Array, high: Array, size: float, shadows: bool = False) -> None:
    """Draw the ground of a robot `size` metres large that moves between two corners, as node `/ground`."""
    if isinstance(ground, Plane):
        _draw_plane(api, ground, low, high, shadows)
    else:
        _draw_field(api, ground, low, high, size)


def covers(ground: Ground, area: tuple[Array, Array], low: Array, high: Array) -> bool:
    """Whether ground drawn for one pair of corners will do for another: planes reach far, meshes do not."""
    margin = 50.0 if isinstance(ground, Plane) else 0.5
    room = margin * float(np.linalg.norm(area[1] - area[0]))
    return bool(np.all(low[:2] >= area[0][:2] - room) and np.all(high[:2] <= area[1][:2] + room))


def round_step(x: float) -> float:
    """The number 1, 2 or 5 times a power of ten nearest to x."""
    decade = 10.0 ** np.floor(np.log10(x))
    return float(decade * min((1.0, 2.0, 5.0, 10.0), key=lambda k: abs(np.log(k * decade / x))))


def plane_pose(plane: Plane, near: Array, step: float) -> tuple[Array, Array]:
    """(rotation, position) of a plane's own frame, z its normal, near a point; along the plane in whole steps."""
    n = np.array(plane.normal)
    if n[2] > 1 - 1e-12:
        R = np.eye(3)
    else:
        # first axis level, second uphill
        level = np.cross([0.0, 0.0, 1.0], n)
        t1 = level / np.linalg.norm(level) if np.linalg.norm(level) > 1e-9 else perpendicular(n)[0]
        R = np.stack([t1, np.cross(n, t1), n], axis=1)
    along = R.T @ near
    return R, R @ np.array([*(step * np.round(along[:2] / step)), plane.height])


def _draw_plane(api: Any, plane: Plane, low: Array, high: Array, shadows: bool) -> None:
    span = float(np.linalg.norm(high - low))
    cell = round_step(span / 8)
    R, p = plane_pose(plane, 0.5 * (low + high), 5 * cell)
    api.add_grid(
        "/ground", width=400 * cell, height=400 * cell, cell_size=cell, section_size=5 * cell,
        position=tuple(p - 1e-4 * span * R[:, 2]), wxyz=tuple(quaternions(R)),
        plane_color=(236, 239, 243), plane_opacity=1.0, shadow_opacity=SHADE if shadows else 0.0,
        cell_color=(206, 212, 220), section_color=(168, 177, 190), fade_distance=12 * span, fade_strength=1.5,
    )  # fmt: skip


def _draw_field(api: Any, field: Ground, low: Array, high: Array, size: float) -> None:
    x, y, every = samples(low, high, size)
    z = field.heights(x[:, None], y[None, :])
    points = np.stack([*np.broadcast_arrays(x[:, None], y[None, :]), z], axis=-1)
    vertices, faces = triangles(points)
    api.add_mesh_simple("/ground", vertices, faces, color=SOIL, side="double", cast_shadow=False)
    segments, colors = lines(points, every)
    segments[..., 2] += 2e-3 * size
    api.add_line_segments("/ground/lines", segments, colors, thickness=1.0, thickness_units="screen")


def samples(low: Array, high: Array, size: float) -> tuple[Array, Array, int]:
    """Evenly spaced x and y around two corners, and how many of their steps make a cell of round size."""
    a, b = low[:2] - 2.5 * size, high[:2] + 2.5 * size
    finest = max(size / 50, float(np.sqrt(np.prod(b - a) / VERTICES)))
    cell = round_step(max(size / 5, float(np.max(b - a)) / 50))
    every = max(1, int(np.ceil(cell / finest)))
    first, last = np.floor(a / cell), np.ceil(b / cell)
    x, y = (cell * np.arange(every * f, every * g + 1) / every for f, g in zip(first, last, strict=True))
    return x, y, every


def triangles(points: Array) -> tuple[Array, Array]:
    """Vertices (V, 3) and faces (F, 3) of a surface given at a grid of points (n, m, 3), where it is finite."""
    n, m = points.shape[:2]
    k = np.arange(n * m).reshape(n, m)
    a, b, c, d = (part.ravel() for part in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    vertices = points.reshape(-1, 3)
    finite = np.all(np.isfinite(vertices), axis=1)
    return np.where(finite[:, None], vertices, 0.0), faces[np.all(finite[faces], axis=1)]


def lines(points: Array, every: int) -> tuple[Array, Array]:
    """Segments (S, 2, 3) along every `every`-th row and column of a grid of points, every fifth of these darker."""
    found, colors = [], []
    for axis, grid in enumerate((points, points.swapaxes(0, 1))):
        rows = grid[::every]
        at = rows[:, 0, axis]
        for row, heavy in zip(rows, np.round(at / (at[1] - at[0])) % 5 == 0, strict=True):
            found.append(np.stack([row[:-1], row[1:]], axis=1))
            colors.append(np.broadcast_to(SECTION if heavy else CELL, found[-1].shape))
    segments, shades = np.concatenate(found), np.concatenate(colors)
    finite = np.all(np.isfinite(segments), axis=(1, 2))
    return segments[finite].astype(np.float32), shades[finite].astype(np.uint8)


def clearance(ground: Ground, points: Array) -> float:
    """How far the lowest of some points (..., 3) is above the ground [m]."""
    if isinstance(ground, Plane):
        return float(np.min(points @ np.array(ground.normal))) - ground.height
    above = points[..., 2] - ground.heights(points[..., 0], points[..., 1])
    return float(np.min(above, where=np.isfinite(above), initial=np.inf))
