"""A robot in a viser scene: nodes made once, then moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.meshes.mesh_files import capsule
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.viewer.body_shapes import Shape
from kinloop.viewer.poses import Poses, between, quaternions
from kinloop.viewer.robot_look import FORCE, Look, bar_ends, look

LEAST_FORCE = 1e-3
"""Forces below this part of the robot's weight are not drawn."""


class Scene:
    """The nodes of a robot in `api` (a viser scene): a frame per body, its shapes below it, bars and arrows beside.

    `nodes` maps the names of everything that is drawn to viser's handles, `body_of` those of shapes to their bodies.
    """

    def __init__(self, api: Any, robot: Robot, axes: bool = False) -> None:
        self.api, self.robot = api, robot
        self.look: Look = look(robot)
        self.poses = Poses(robot)
        self.nodes: dict[str, Any] = {}
        self.body_of: dict[str, int] = {}
        self.bodies = [self._body(i, axes) for i in range(len(robot.body_names))]
        self.bars = [self._bar(k) for k in range(len(self.look.bars))]
        for k, shape in enumerate(self.look.world):
            name = f"/world/{k:02d}_{plain(shape.name)}"
            self.nodes[name] = draw(api, name, shape)
        self.arrows: Any = None
        self.weight = max(float(np.linalg.norm(robot.mechanism.gravity)), 1.0) * sum(
            b.mass for b in robot.mechanism.bodies
        )

    def _body(self, i: int, axes: bool) -> Any:
        size = self.look.size
        path = f"/robot/{i:02d}_{plain(self.robot.body_names[i])}"
        frame = self.api.add_frame(
            path, show_axes=axes, axes_length=0.1 * size, axes_radius=0.004 * size, origin_radius=0.006 * size
        )
        self.nodes[path] = frame
        for k, shape in enumerate(self.look.shapes[i]):
            name = f"{path}/{k}_{plain(shape.name)}"
            self.nodes[name], self.body_of[name] = draw(self.api, name, shape), i
        return frame

    def _bar(self, k: int) -> Any:
        bar = self.look.bars[k]
        name = f"/bars/{k:02d}_{plain(bar.name)}"
        q = self.robot.neutral()
        a, b = bar_ends(self.look, q, *self.poses(q))[k]
        length = float(np.linalg.norm(b - a))
        node = self.api.add_cylinder(name, radius=bar.radius, height=length, color=bar.color, radial_segments=16)
        self.nodes[name] = node
        return node

    def move(self, q: Array, poses: tuple[Array, Array] | None = None) -> None:
        """Put every body and bar where it is at q; `poses` where they are already known."""
        R, p = self.poses(q) if poses is None else poses
        for node, x, wxyz in zip(self.bodies, p, quaternions(R), strict=True):
            put(node, x, wxyz)
        for node, (a, b) in zip(self.bars, bar_ends(self.look, q, R, p), strict=True):
            turn, middle = between(a, b)
            put(node, middle, quaternions(turn))

    def push(self, points: Array, forces: Array) -> None:
        """Draw forces [N] (C, 3) as arrows that start at the points (C, 3), both in the world."""
        size, forces = self.look.size, np.asarray(forces, dtype=float)
        strength = np.linalg.norm(forces, axis=-1)
        shown = strength > LEAST_FORCE * self.weight
        # the robot's weight is as long as the robot; blows are cut at that
        scale = size / np.maximum(strength, self.weight)
        tails = np.asarray(points, dtype=float)[shown]
        tips = tails + forces[shown] * scale[shown, None]
        arrows = np.stack([tails, tips], axis=1) if shown.any() else np.zeros((1, 2, 3))
        if self.arrows is None:
            self.arrows = self.api.add_arrows(
                "/forces", arrows, FORCE, shaft_radius=0.006 * size, head_radius=0.016 * size, head_length=0.04 * size
            )
            self.nodes["/forces"] = self.arrows
        else:
            self.arrows.points = arrows.astype(np.float32)
        if self.arrows.visible != bool(shown.any()):
            self.arrows.visible = bool(shown.any())

    def show_axes(self, shown: bool) -> None:
        """Show or hide the axes of all body frames."""
        for node in self.bodies:
            node.show_axes = shown


def put(node: Any, position: Array, wxyz: Array) -> None:
    """Move a node, if it moves: what stays needs no message."""
    if np.max(np.abs(position - node.position)) > 1e-6:
        node.position = tuple(float(x) for x in position)
    if np.max(np.abs(wxyz - node.wxyz)) > 1e-6:
        node.wxyz = tuple(float(x) for x in wxyz)


def plain(name: str) -> str:
    """A name that may stand in a path of nodes."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)


def draw(api: Any, name: str, s: Shape) -> Any:
    """One shape as a viser node below its body's frame."""
    where: dict[str, Any] = {"position": tuple(s.placement.p), "wxyz": tuple(quaternions(s.placement.R))}
    style: dict[str, Any] = {"color": s.color, "opacity": s.opacity if s.opacity < 0.99 else None}
    match s.kind:
        case "box":
            return api.add_box(name, dimensions=s.size, **style, **where)
        case "sphere":
            return api.add_icosphere(name, radius=s.size[0], **style, **where)
        case "ellipsoid":
            return api.add_icosphere(name, radius=1.0, scale=s.size, **style, **where)
        case "cylinder":
            return api.add_cylinder(name, radius=s.size[0], height=s.size[1], radial_segments=24, **style, **where)
    found = capsule(s.size[0], s.size[1]) if s.kind == "capsule" else s.mesh
    assert found is not None, "a mesh has triangles"
    scale = np.ones(3) if s.kind == "capsule" else np.array(s.size)
    return api.add_mesh_simple(name, found[0] * scale, found[1], side="double", **style, **where)
