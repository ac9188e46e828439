"""The picture of a robot as plain data: shapes on bodies, bars between bodies, colours of clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kinloop.model.joints import JointType
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.spatial import Transform
from kinloop.spatial.transform import apply_pose
from kinloop.viewer.body_shapes import Color, Shape, body_meshes, geometry_shapes, half_extent, inertia_shape, rod
from kinloop.viewer.link_shapes import SOLE, Links
from kinloop.viewer.loop_bars import LOOP, PIN, Bar, bars
from kinloop.viewer.poses import Poses

PALETTE: tuple[Color, ...] = (
    (47, 111, 187), (232, 135, 30), (44, 150, 98), (142, 91, 178), (20, 160, 178), (206, 92, 128),
    (156, 140, 40), (94, 116, 214), (166, 94, 60), (110, 160, 60), (190, 70, 180), (70, 130, 140),
)  # fmt: skip
"""One colour per cluster with loops or couplings, in turn."""

PLAIN: Color = (176, 184, 196)
WORLD: Color = (150, 146, 140)
FORCE: Color = (255, 84, 20)
MASS: Color = (250, 200, 30)


@dataclass(frozen=True, eq=False)
class Look:
    """Everything there is to draw: shapes per body, bars, the colour of every cluster, the robot's size [m].

    `inertias` are solids of the mass and moments of bodies, None for those without mass. `world` are the shapes of the
    world, but for planes and height fields.
    """

    shapes: list[list[Shape]]
    bars: list[Bar]
    colors: list[Color]
    size: float
    world: list[Shape]
    inertias: list[Shape | None]


def look(robot: Robot) -> Look:
    """The picture of a robot."""
    colors, top = cluster_colors(robot), robot.tree.top
    around = robot.mechanism.world_geometry
    meshes = body_meshes(robot.mechanism.bodies, around)
    geometry = [geometry_shapes(body.geometry, meshes) for body in robot.mechanism.bodies]
    inertias = [inertia_shape(body) for body in robot.mechanism.bodies]
    size = robot_size(robot, [g or ([s] if s else []) for g, s in zip(geometry, inertias, strict=True)])
    thin, links, carriers = 0.008 * size, Links(robot, size), set(top.parent)
    shapes: list[list[Shape]] = []
    for i, own in enumerate(geometry):
        own = own or [*links.shapes(i), *pin(top.types[i], thin, i in carriers)]
        cluster = robot.tree.clusters[robot.tree.cluster_of[i]]
        shapes.append([_colored(s, colors[cluster.index], bool(cluster.parts)) for s in own])
        solid = inertias[i]
        inertias[i] = solid and replace(solid, color=colors[cluster.index])
    marks(robot, shapes, thin)
    world = [replace(s, color=s.color or WORLD) for s in geometry_shapes(around, meshes)]
    return Look(shapes, bars(robot, thin), colors, size, world, inertias)


def _colored(s: Shape, color: Color, tied: bool) -> Shape:
    """A shape in the colour of its cluster, if loops tie that or it has none of its own; pins and soles stay dark."""
    keep = s.color is not None and (s.color in (PIN, SOLE) or not tied)
    return s if keep else replace(s, color=color)


def cluster_colors(robot: Robot) -> list[Color]:
    """The colour of each cluster: one of the palette where loops or couplings tie it, else plain."""
    out, k = [], 0
    for c in robot.tree:
        out.append(PALETTE[k % len(PALETTE)] if c.parts else PLAIN)
        k += bool(c.parts)
    return out


def robot_size(robot: Robot, solids: list[list[Shape]]) -> float:
    """How large the robot is at its neutral configuration [m]: extent of its joints and centres of mass."""
    R, p = Poses(robot)(robot.neutral())
    coms = p + np.einsum("bij,bj->bi", R, np.array([b.com for b in robot.mechanism.bodies]))
    points = np.concatenate([p, coms])
    extent = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
    largest = max((float(np.linalg.norm(half_extent(s)[1])) for own in solids for s in own), default=0.0)
    return max(extent, 2 * largest, 1e-3)


def pin(kind: JointType, radius: float, carries: bool, color: Color = PIN, name: str = "joint") -> list[Shape]:
    """What marks a joint: a pin along its axis, a ball where it has none."""
    axis = kind.direction
    if kind.is_free or kind.nv == 0 or not (carries or color == LOOP):
        return []
    if axis is None or kind.nv > 1:
        return [Shape(name, "sphere", (2.0 * radius,), color=color)]
    slides = kind.slides()[0]
    half = np.array(axis) * radius * (4.0 if slides else 3.2)
    wide = radius * (1.2 if slides else 1.5)
    return [rod(name, -half, half, wide, color)]


def marks(robot: Robot, shapes: list[list[Shape]], radius: float) -> None:
    """Add to the bodies what closes loops there: the pins of joints, else balls, in a colour of their own."""
    top = robot.tree.top
    for loop in robot.mechanism.closures:
        for mark in loop.picture(top).marks:
            i, name = top.body_index[mark.body], f"loop_{loop.name}"
            if i < 0:
                continue
            if mark.type is None:
                shapes[i].append(Shape(name, "sphere", (1.9 * radius,), mark.placement, LOOP))
                continue
            for s in pin(mark.type, 1.25 * radius, True, LOOP, name):
                shapes[i].append(replace(s, placement=mark.placement.then(s.placement)))


def bar_ends(look: Look, q: Array, R: Array, p: Array) -> list[tuple[Array, Array]]:
    """World ends of every bar at q, for body poses R (bodies, 3, 3) and p (bodies, 3)."""
    out = []
    for bar in look.bars:
        a, b = bar.ends(q)
        (i, j) = bar.bodies
        out.append(tuple(x if k < 0 else apply_pose(Transform(R[k], p[k]), x) for k, x in ((i, a), (j, b))))
    return out  # type: ignore[return-value]
