"""Small pictures of robots without a graphics card: triangles of their shapes, shaded, drawn from back to front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

import kinloop as kl
from kinloop.meshes.mesh_files import capsule
from kinloop.viewer.body_shapes import Shape
from kinloop.viewer.poses import Poses, between
from kinloop.viewer.robot_look import bar_ends, look

Solid = tuple[np.ndarray, np.ndarray]
"""Corners (n, 3) and triangles (m, 3) of a shape."""

FINER = 3
"""Pictures are drawn so many times larger, and made smaller again: edges become smooth."""
LIGHT = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
PAPER, FLOOR = (255, 255, 255), (236, 238, 241)
DISC = 14


@dataclass(frozen=True)
class Camera:
    """Looks from a direction (azimuth and elevation in degrees) at a box in the world, without perspective."""

    azimuth: float
    elevation: float
    low: np.ndarray
    high: np.ndarray
    width: int
    height: int

    def axes(self) -> np.ndarray:
        """Rows: right, up, towards the eye."""
        a, e = np.radians(self.azimuth), np.radians(self.elevation)
        eye = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        return np.array([right, np.cross(eye, right), eye])

    def project(self, points: np.ndarray) -> np.ndarray:
        """Pixels and depth (..., 3) of points in the world."""
        seen = points @ self.axes().T
        corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        box = (self.low + corners * (self.high - self.low)) @ self.axes().T
        low, high = box.min(axis=0)[:2], box.max(axis=0)[:2]
        scale = 0.92 * min(self.width / (high - low)[0], self.height / (high - low)[1])
        middle = 0.5 * (low + high)
        x = 0.5 * self.width + scale * (seen[..., 0] - middle[0])
        y = 0.5 * self.height - scale * (seen[..., 1] - middle[1])
        return np.stack([x, y, seen[..., 2]], axis=-1)


def solid(shape: Shape) -> Solid:
    """The triangles of a shape in its own frame."""
    size = np.array(shape.size, dtype=float)
    match shape.kind:
        case "mesh" if shape.mesh is not None:
            return np.asarray(shape.mesh[0]) * size, np.asarray(shape.mesh[1])
        case "box":
            return box(size)
        case "cylinder":
            return turned([(0.0, -0.5), (1.0, -0.5), (1.0, 0.5), (0.0, 0.5)], size[0], size[1])
        case "capsule":
            corners, triangles = capsule(float(size[0]), float(size[1]))
            return np.asarray(corners), np.asarray(triangles)
    arc = [(np.cos(t), np.sin(t)) for t in np.linspace(-np.pi / 2, np.pi / 2, 8)]
    corners, triangles = turned(arc, 1.0, 1.0)
    return corners * (size if shape.kind == "ellipsoid" else size[0]), triangles


def box(size: np.ndarray) -> Solid:
    """The triangles of a box."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))])


def turned(outline: Sequence[tuple[float, float]], radius: float, length: float) -> Solid:
    """What an outline of (radius, height) makes when it turns about z."""
    angles = np.linspace(0, 2 * np.pi, DISC, endpoint=False)
    rings = [[(radius * r * np.cos(t), radius * r * np.sin(t), length * z) for t in angles] for r, z in outline]
    corners = np.array(rings).reshape(-1, 3)
    triangles = []
    for k in range(len(outline) - 1):
        for j in range(DISC):
            a, b = k * DISC + j, k * DISC + (j + 1) % DISC
            triangles += [(a, b, b + DISC), (a, b + DISC, a + DISC)]
    return corners, np.array(triangles)


class Model:
    """The triangles of a robot and their colours, to be drawn at any configuration."""

    def __init__(self, robot: kl.Robot) -> None:
        self.robot, self.look, self.poses = robot, look(robot), Poses(robot)
        self._solids = [[(*placed(s), s.color) for s in own] for own in self.look.shapes]

    def triangles(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Triangles (n, 3, 3) in the world and their colours (n, 3)."""
        R, p = self.poses(q)
        found, colors = [], []
        for own, R_i, p_i in zip(self._solids, R, p, strict=True):
            for corners, index, color in own:
                found.append((corners @ R_i.T + p_i)[index])
                colors.append(np.tile(color or (180, 180, 180), (len(index), 1)))
        for bar, (a, b) in zip(self.look.bars, bar_ends(self.look, q, R, p), strict=True):
            turn, middle = between(a, b)
            corners, index = turned(
                [(0.0, -0.5), (1.0, -0.5), (1.0, 0.5), (0.0, 0.5)], bar.radius, np.linalg.norm(b - a)
            )
            found.append((corners @ turn.T + middle)[index])
            colors.append(np.tile(bar.color, (len(index), 1)))
        return np.concatenate(found), np.concatenate(colors)


def placed(shape: Shape) -> Solid:
    """The triangles of a shape in the frame of its body."""
    corners, triangles = solid(shape)
    return corners @ np.asarray(shape.placement.R, dtype=float).T + np.asarray(
        shape.placement.p, dtype=float
    ), triangles


def around(triangles: np.ndarray, width: int, height: int) -> Camera:
    """A camera that sees all triangles; what is flat it sees nearly from the front."""
    points = triangles.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    thin = int(np.argmin(high - low))
    flat = (high - low)[thin] < 0.35 * np.median(high - low)
    azimuth, elevation = ((25, 14), (-70, 14), (-75, 62))[thin] if flat else (-60, 18)
    return Camera(azimuth, elevation, low, high, width, height)


def draw(
    triangles: np.ndarray,
    colors: np.ndarray,
    camera: Camera,
    before: Callable[[ImageDraw.ImageDraw, Camera], None] | None = None,
) -> Image.Image:
    """The picture of triangles; `before` draws what lies behind all of them."""
    fine = Camera(
        camera.azimuth, camera.elevation, camera.low, camera.high, FINER * camera.width, FINER * camera.height
    )
    image = Image.new("RGB", (fine.width, fine.height), PAPER)
    canvas = ImageDraw.Draw(image)
    if before is not None:
        before(canvas, fine)
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normal = normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-15)
    normal = normal * np.sign(normal @ fine.axes()[2])[:, None]
    shade = 0.62 + 0.38 * np.clip(normal @ LIGHT, 0.0, 1.0)
    shown = np.clip(colors * shade[:, None], 0, 255).astype(int)
    seen = fine.project(triangles)
    for k in np.argsort(seen[:, :, 2].mean(axis=1)):
        canvas.polygon([tuple(x) for x in seen[k, :, :2]], fill=tuple(shown[k]))
    return image.resize((camera.width, camera.height), Image.Resampling.LANCZOS)
