"""Points of a robot that may touch the ground: spheres (or plain points, of radius zero) fixed to bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError
from kinloop.inputs import checked_number
from kinloop.model import Geometry, Topology
from kinloop.model.frozen_arrays import frozen
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.spatial import Transform, apply_pose

RIM = 6
"""Points on each rim of a cylinder."""


@dataclass(frozen=True)
class ContactPoint:
    """A sphere of `radius` [m] at the position `at` (3) [m] of a body or frame; radius 0 is a point."""

    frame: str
    at: ArrayLike = (0.0, 0.0, 0.0)
    radius: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", tuple(frozen(self.at, (3,), f"contact point on {self.frame!r}").tolist()))
        checked_number(f"radius of the contact point on {self.frame!r}", self.radius, "not be negative", 0.0)


class Party(NamedTuple):
    """One of two things that touch: its body (-1: the world), and the names of the link and of the shape it is."""

    body: int
    names: frozenset[str]


GROUND = Party(-1, frozenset(("world", "ground")))


@dataclass(frozen=True)
class Candidate:
    """A contact point by numbers: body index, position in the body, radius.

    `link` is the link that carries it, where that is not the body, and `shape` the shape that it is a part of.
    """

    name: str
    body: int
    at: Array
    radius: float
    link: str = ""
    shape: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        return self.body, *map(float, self.at), self.radius

    def party(self, top: Topology) -> Party:
        """Who it is, to whatever touches it."""
        link = self.link or top.mechanism.bodies[self.body].name
        return Party(self.body, frozenset((link, self.shape or self.name)))


def box_corners(frame: str, size: ArrayLike, at: ArrayLike = (0.0, 0.0, 0.0)) -> list[ContactPoint]:
    """The eight corners of a box with full lengths `size` (3) [m] centred at `at` (3) [m] of a body or frame."""
    for length in np.ravel(np.asarray(size, dtype=float)):
        checked_number(f"size of the box on {frame!r}", length, "not be negative", 0.0)
    half, centre = 0.5 * np.asarray(size, dtype=float), np.asarray(at, dtype=float)
    signs = [(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    return [ContactPoint(frame, centre + half * s, 0.0, f"{frame}.corner{k}") for k, s in enumerate(signs)]


def capsule_ends(frame: str, radius: float, length: float, at: ArrayLike = (0.0, 0.0, 0.0)) -> list[ContactPoint]:
    """The two end spheres of a capsule of `radius` and `length` [m] along z, at `at` (3) [m] of a body or frame."""
    checked_number(f"length of the capsule on {frame!r}", length, "not be negative", 0.0)
    centre = np.asarray(at, dtype=float)
    return [
        ContactPoint(frame, centre + (0, 0, 0.5 * s * length), radius, f"{frame}.end{k}") for k, s in enumerate((-1, 1))
    ]


ShapePoint = tuple[ArrayLike, float]
"""A sphere that stands for a part of a shape: its centre in the shape's frame [m], its radius [m]."""


def _cylinder_rims(size: Sequence[float]) -> list[ShapePoint]:
    turn = 2 * np.pi * np.arange(RIM) / RIM
    rim = size[0] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return [((*p, 0.5 * s * size[1]), 0.0) for s in (-1, 1) for p in rim]


SHAPE_POINTS: dict[str, Callable[[Sequence[float]], list[ShapePoint]]] = {
    "sphere": lambda size: [((0, 0, 0), size[0])],
    "box": lambda size: [(p.at, 0.0) for p in box_corners("", size)],
    "capsule": lambda size: [(p.at, p.radius) for p in capsule_ends("", size[0], size[1])],
    "cylinder": _cylinder_rims,
    "ellipsoid": lambda size: [(np.eye(3)[k] * s * size[k], 0.0) for k in range(3) for s in (-1, 1)],
    "plane": lambda size: [],
    "heightfield": lambda size: [],
    "mesh": lambda size: [],
}
"""Points that stand for a shape of a given size, by its kind; planes, height fields and meshes have none."""


def geometry_points(g: Geometry) -> list[tuple[Array, float]]:
    """(position in the body, radius) of the points that stand for a shape."""
    if g.kind not in SHAPE_POINTS:
        raise MethodError(f"contact knows no points of a {g.kind!r}; it knows {', '.join(SHAPE_POINTS)}")
    return [(apply_pose(g.placement, p), r) for p, r in SHAPE_POINTS[g.kind](g.size)]


def find_candidates(robot: Robot, contacts: Sequence[ContactPoint | str] | None) -> list[Candidate]:
    """Candidates for `contacts`: points, names of frames, names of bodies (their shapes, else their origin).

    None takes the collision shapes of all bodies, or where there are none every named frame.
    """
    if contacts is None:
        contacts = [b.name for b in robot.mechanism.bodies if _shapes(b.geometry)]
        contacts = contacts or [f.name for f in robot.mechanism.frames]
        if not contacts:
            raise MethodError(
                f"robot {robot.name!r} has neither collision shapes nor named frames to touch the ground with; "
                "give contacts=[kinloop.sim.ContactPoint(body, at, radius), ...]"
            )
    out: list[Candidate] = []
    for c in contacts:
        out += _of_name(robot, c) if isinstance(c, str) else [_of_point(robot, c)]
    return out


def can_move(tree: ClusterTree, body: int) -> bool:
    """Whether some joint between a body and the world can move; in a loop, whether the loop leaves it room."""
    room = {i: c.m > 0 for c in tree for i in c.bodies}
    return any(tree.top.types[i].nv > 0 and room[i] for i in tree.top.support(body))


def _shapes(geometry: Iterable[Geometry]) -> list[Geometry]:
    """The collision shapes that have points."""
    return [g for g in geometry if g.role in ("collision", "both") and geometry_points(g)]


def _of_point(robot: Robot, c: ContactPoint) -> Candidate:
    body, placement = robot.frame(c.frame)
    return Candidate(c.name or c.frame, body, _place(placement, c.at), float(c.radius))


def _of_name(robot: Robot, name: str) -> list[Candidate]:
    body, placement = robot.frame(name)
    shapes = _shapes(robot.mechanism.bodies[body].geometry) if name in robot.body_names else []
    points = [(p, r, g) for g in shapes for p, r in geometry_points(g)]
    if not points:
        return [Candidate(name, body, _place(placement, (0, 0, 0)), 0.0)]
    return [
        Candidate(f"{name}.{k}" if k else name, body, p, float(r), g.link, g.name) for k, (p, r, g) in enumerate(points)
    ]


def _place(placement: Transform, at: ArrayLike) -> Array:
    """A position in a frame, in the body that carries the frame."""
    x: Array = placement.p + placement.R @ np.asarray(at, dtype=float)
    return x
