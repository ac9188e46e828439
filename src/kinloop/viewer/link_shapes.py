"""What a body without geometry is drawn as: a trunk, a rotor, a foot, or links between the points that hold it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kinloop.model import Body
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.spatial import Transform
from kinloop.viewer.body_shapes import Color, Shape, half_extent, inertia_shape
from kinloop.viewer.poses import between
from kinloop.viewer.solids import rounded_box, tapered

DENSITY = 900.0
"""Mass of a drawn link per volume [kg/m^3]: of a hollow casting with its motor."""

THIN, THICK = 0.010, 0.045
"""Least and largest radius of a link, as parts of the robot's size."""

BALL = 0.02
"""Largest radius of a body that is drawn as a ball, such as the cross of a universal joint, as part of the size."""

SOLE: Color = (58, 62, 70)


class Links:
    """The shapes of a robot's bodies that have no geometry; the robot is `size` metres large."""

    def __init__(self, robot: Robot, size: float) -> None:
        m, top = robot.mechanism, robot.tree.top
        self.robot, self.size = robot, size
        self.total = sum(b.mass for b in m.bodies)
        self.loops: dict[str, list[Array]] = {}
        for body, p in (x for loop in m.closures for x in loop.picture(top).points):
            self.loops.setdefault(body, []).append(np.asarray(p, dtype=float))
        self.frames: dict[str, list[Array]] = {}
        for f in m.frames:
            self.frames.setdefault(f.body, []).append(np.asarray(f.placement.p, dtype=float))
        carriers = set(top.parent)
        self.rotors = {i for i in range(len(m.bodies)) if i not in carriers and self._is_rotor(i)}
        self.carried: dict[int, list[Array]] = {}
        for k, parent in enumerate(top.parent):
            if k not in self.rotors:
                self.carried.setdefault(parent, []).append(np.asarray(top.placement[k].p, dtype=float))

    def shapes(self, i: int) -> list[Shape]:
        """What body i is drawn as."""
        body, size = self.robot.mechanism.bodies[i], self.size
        if i in self.rotors:
            return [_disc(body, self._axis(i), size)]
        holds = _apart([*self.carried.get(i, []), *self.loops.get(body.name, [])], size)
        contacts = _apart(self.frames.get(body.name, []), size)
        if self._is_trunk(i):
            own = [] if self.robot.tree.top.types[i].is_free else [np.zeros(3)]
            return [_trunk(body, [*own, *holds, *contacts], size)]
        if not holds and contacts:
            return _foot(body, contacts, size)
        ends = holds or ([2.0 * body.com] if np.linalg.norm(body.com) > THIN * size else [])
        if not ends and i not in self.carried and (solid := inertia_shape(body)) is not None:
            return [replace(solid, opacity=1.0)]
        if not ends:
            return [Shape("ball", "sphere", (min(_ball_radius(body), BALL * size),))] if body.mass > 0 else []
        return [_link(f"link{k}", body, end, size, len(ends)) for k, end in enumerate(ends)]

    def _axis(self, i: int) -> Array:
        return np.asarray(self.robot.tree.top.types[i].direction, dtype=float)

    def _is_rotor(self, i: int) -> bool:
        """Whether body i spins about its own centre of mass, carries nothing, and is coupled to other bodies."""
        kind, body = self.robot.tree.top.types[i], self.robot.mechanism.bodies[i]
        if kind.direction is None or kind.nv != 1 or kind.slides()[0] or body.mass <= 0:
            return False
        if body.name in self.loops or body.name in self.frames:
            return False
        axis = self._axis(i)
        beside = float(np.linalg.norm(np.cross(body.com, axis)))
        coupled = bool(self.robot.tree.clusters[self.robot.tree.cluster_of[i]].parts)
        return coupled and beside**2 * body.mass <= 0.01 * float(axis @ body.inertia @ axis)

    def _is_trunk(self, i: int) -> bool:
        """Whether body i is what limbs are fastened to: a free base, or a heavy body that carries three or more."""
        limbs = len(self.carried.get(i, []))
        heavy = self.robot.mechanism.bodies[i].mass > 0.08 * self.total
        return (self.robot.tree.top.types[i].is_free and limbs != 1) or (limbs >= 3 and heavy)


def _apart(points: list[Array], size: float) -> list[Array]:
    """Points that are apart from the origin of the body and from each other."""
    out: list[Array] = []
    for p in points:
        if np.linalg.norm(p) > THIN * size and all(np.linalg.norm(p - x) > THIN * size for x in out):
            out.append(p)
    return out


def _disc(body: Body, axis: Array, size: float) -> Shape:
    """A rotor as a disc about its axis, as wide as its inertia says."""
    radius = float(np.clip(np.sqrt(2.0 * axis @ body.inertia @ axis / body.mass), THIN * size, THICK * size))
    R, _ = between(np.zeros(3), axis)
    return Shape("rotor", "cylinder", (radius, 0.8 * radius), Transform(R, body.com))


def _trunk(body: Body, points: list[Array], size: float) -> Shape:
    """A box around the joints and frames of a body, as large as its inertia says at least."""
    pad = 0.5 * THICK * size
    low, high = [body.com - pad], [body.com + pad]
    solid = inertia_shape(body)
    if solid is not None:
        half = 0.7 * np.abs(solid.placement.R) @ half_extent(solid)[1]
        low, high = [*low, body.com - half], [*high, body.com + half]
    a = np.min([*low, *(p - pad for p in points)], axis=0)
    b = np.max([*high, *(p + pad for p in points)], axis=0)
    return _solid("trunk", rounded_box(b - a), Transform(np.eye(3), 0.5 * (a + b)))


def _foot(body: Body, contacts: list[Array], size: float) -> list[Shape]:
    """A link down to the contact points: a ball at a single one, else a sole around them."""
    middle = np.mean(contacts, axis=0)
    if len(contacts) == 1:
        link = _link("link0", body, middle, size, 1)
        return [link, Shape("foot", "sphere", (1.4 * THIN * size,), Transform(np.eye(3), middle), SOLE)]
    a, b = np.min(contacts, axis=0), np.max(contacts, axis=0)
    lengths = b - a + 2.0 * THIN * size
    sole = _solid("sole", rounded_box(lengths), Transform(np.eye(3), 0.5 * (a + b)), SOLE)
    return [_link("link0", body, middle, size, 1), sole] if np.linalg.norm(middle) > THIN * size else [sole]


def _link(name: str, body: Body, end: Array, size: float, shares: int) -> Shape:
    """A tapered link from the joint of a body to a point, as thick as its share of the mass makes it."""
    length = float(np.linalg.norm(end))
    radius = np.sqrt(max(body.mass, 0.0) / (shares * DENSITY * np.pi * length))
    radius = float(np.clip(radius, THIN * size, min(THICK * size, max(0.35 * length, THIN * size))))
    R, _ = between(np.zeros(3), end)
    return _solid(name, tapered(radius, max(0.62 * radius, 0.8 * THIN * size), length), Transform(R, np.zeros(3)))


def _solid(name: str, mesh: tuple[Array, Array], placement: Transform, color: Color | None = None) -> Shape:
    return Shape(name, "mesh", (1.0, 1.0, 1.0), placement, color, mesh=mesh)


def _ball_radius(body: Body) -> float:
    return float(np.cbrt(0.75 * body.mass / (np.pi * DENSITY)))
