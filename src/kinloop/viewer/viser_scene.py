"""A robot in a viser scene: nodes made once, then moved."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.meshes.mesh_files import capsule
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.viewer.body_shapes import Shape
from kinloop.viewer.poses import Poses, between, quaternions
from kinloop.viewer.robot_look import FORCE, MASS, Look, bar_ends, look

LEAST_FORCE = 1e-3
"""Forces below this part of the robot's weight are not drawn."""

SIDES = 16
"""Corners of round bars: with more, browsers without a graphics card draw fewer frames."""

PARTS = ("frames", "inertias", "center_of_mass", "contacts", "forces", "labels")
"""What may be shown or hidden."""


class Scene:
    """The nodes of a robot in `api` (a viser scene): a frame per body, its shapes below it, bars and arrows beside.

    `nodes` maps the names of everything that is drawn to viser's handles, `body_of` those of shapes to their bodies.
    `shown` are the `PARTS` that are shown, besides the robot itself.
    """

    def __init__(self, api: Any, robot: Robot, show: Collection[str] = ("forces",)) -> None:
        self.api, self.robot = api, robot
        self.look: Look = look(robot)
        self.poses = Poses(robot)
        self.nodes: dict[str, Any] = {}
        self.body_of: dict[str, int] = {}
        self.bodies = [self._body(i) for i in range(len(robot.body_names))]
        self.bars = [self._bar(k) for k in range(len(self.look.bars))]
        for k, shape in enumerate(self.look.world):
            name = f"/world/{k:02d}_{plain(shape.name)}"
            self.nodes[name] = draw(api, name, shape)
        self.weight = max(float(np.linalg.norm(robot.mechanism.gravity)), 1.0) * sum(
            b.mass for b in robot.mechanism.bodies
        )
        self.extras: dict[str, list[Any]] = {}
        self.shown: set[str] = set()
        for part in checked_parts(show):
            self.show(part)

    def _body(self, i: int) -> Any:
        size = self.look.size
        path = self._path(i)
        frame = self.api.add_frame(
            path, show_axes=False, axes_length=0.1 * size, axes_radius=0.004 * size, origin_radius=0.006 * size
        )
        self.nodes[path] = frame
        for k, shape in enumerate(self.look.shapes[i]):
            name = f"{path}/{k}_{plain(shape.name)}"
            self.nodes[name], self.body_of[name] = draw(self.api, name, shape), i
        return frame

    def _path(self, i: int) -> str:
        return f"/robot/{i:02d}_{plain(self.robot.body_names[i])}"

    def _bar(self, k: int) -> Any:
        bar = self.look.bars[k]
        name = f"/bars/{k:02d}_{plain(bar.name)}"
        q = self.robot.neutral()
        a, b = bar_ends(self.look, q, *self.poses(q))[k]
        length = float(np.linalg.norm(b - a))
        node = self.api.add_cylinder(name, radius=bar.radius, height=length, color=bar.color, radial_segments=SIDES)
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
        if "center_of_mass" in self.shown:
            put(self.nodes["/center_of_mass"], self.robot.center_of_mass(q), np.array([1.0, 0.0, 0.0, 0.0]))

    def push(self, points: Array, forces: Array) -> None:
        """Draw contact points (C, 3), and forces [N] (C, 3) as arrows that start there, both in the world."""
        size, points, forces = self.look.size, np.asarray(points, dtype=float), np.asarray(forces, dtype=float)
        strength = np.linalg.norm(forces, axis=-1)
        felt = strength > LEAST_FORCE * self.weight
        # the robot's weight is as long as the robot; blows are cut at that
        scale = size / np.maximum(strength, self.weight)
        tips = points + forces * scale[:, None]
        arrows = np.stack([points, tips], axis=1)[felt]
        self._draw_arrows(arrows if felt.any() else np.zeros((1, 2, 3)), bool(felt.any()) and "forces" in self.shown)
        if "contacts" in self.shown:
            self._draw_contacts(points)

    def _draw_arrows(self, arrows: Array, visible: bool) -> None:
        node, size = self.nodes.get("/forces"), self.look.size
        if node is None:
            self.nodes["/forces"] = self.api.add_arrows(
                "/forces", arrows, FORCE, shaft_radius=0.006 * size, head_radius=0.016 * size, head_length=0.04 * size,
                visible=visible,
            )  # fmt: skip
            return
        node.points = arrows.astype(np.float32)
        if node.visible != visible:
            node.visible = visible

    def _draw_contacts(self, points: Array) -> None:
        if (node := self.nodes.get("/contacts")) is not None:
            node.points = points.astype(np.float32)
            return
        node = self.api.add_point_cloud("/contacts", points, FORCE, point_size=0.012 * self.look.size)
        self.nodes["/contacts"] = node

    def show(self, part: str, shown: bool = True) -> None:
        """Show or hide one of the `PARTS`; those of contact show what is pushed from then on."""
        (self.shown.add if shown else self.shown.discard)(part)
        if part in ("forces", "contacts"):
            if not shown and (node := self.nodes.get(f"/{part}")) is not None:
                node.remove()
                del self.nodes[f"/{part}"]
        elif part == "frames":
            for node in self.bodies:
                node.show_axes = shown
        else:
            self._show_extra(part, shown)

    def _show_extra(self, part: str, shown: bool) -> None:
        """Show or hide what is made when it is first asked for."""
        if part not in self.extras:
            if not shown:
                return
            make = {"inertias": self._inertias, "center_of_mass": self._center_of_mass, "labels": self._labels}[part]
            self.extras[part] = make()
        for node in self.extras[part]:
            node.visible = shown

    def _inertias(self) -> list[Any]:
        solids = [(i, s) for i, s in enumerate(self.look.inertias) if s is not None]
        return [draw(self.api, f"{self._path(i)}/inertia", s) for i, s in solids]

    def _labels(self) -> list[Any]:
        names = enumerate(self.robot.body_names)
        return [self.api.add_label(f"{self._path(i)}/label", name, font_screen_scale=0.7) for i, name in names]

    def _center_of_mass(self) -> list[Any]:
        name = "/center_of_mass"
        self.nodes[name] = self.api.add_icosphere(name, radius=0.025 * self.look.size, color=MASS)
        return [self.nodes[name]]


def checked_parts(show: Collection[str]) -> list[str]:
    """The parts to show; an error names one that does not exist."""
    given = [show] if isinstance(show, str) else list(show)
    for part in given:
        if part not in PARTS:
            raise MethodError(f"there is no {part!r} to show; there are {', '.join(PARTS)}")
    return given


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
            return api.add_icosphere(name, radius=s.size[0], subdivisions=2, **style, **where)
        case "ellipsoid":
            return api.add_icosphere(name, radius=1.0, scale=s.size, **style, **where)
        case "cylinder":
            return api.add_cylinder(name, radius=s.size[0], height=s.size[1], radial_segments=SIDES, **style, **where)
    found = capsule(s.size[0], s.size[1]) if s.kind == "capsule" else s.mesh
    assert found is not None, "a mesh has triangles"
    scale = np.ones(3) if s.kind == "capsule" else np.array(s.size)
    # meshes of files may be open, or turned inside out; ours are closed
    side = "double" if s.kind == "mesh" and s.is_geometry else "front"
    return api.add_mesh_simple(name, found[0] * scale, found[1], side=side, **style, **where)
