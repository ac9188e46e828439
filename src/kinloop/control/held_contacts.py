"""Contacts that whole-body control holds: points of bodies that stay where they are and push on the robot.

Several points of one body that lie on a line leave it free to turn about that line, three others nothing. So a body is
held by its first point and by those of its angular velocities that change places of the others: rows that do not depend
on each other, which the accelerations of all points together would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinloop.algorithms.trees.kinematics import find_frame
from kinloop.control.world_motion import WorldMotion
from kinloop.errors import MethodError
from kinloop.inputs import checked_count, checked_number
from kinloop.linear import join
from kinloop.model.frozen_arrays import frozen
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import ContactPoint
from kinloop.spatial import apply_pose, skew

SAME_PLACE = 1e-9
"""Points nearer than this [m] are one."""


class HeldBody(NamedTuple):
    """A body that contacts hold: its points, in its own frame, and the angular velocities they forbid, as rows."""

    body: int
    points: tuple[int, ...]
    first: Array
    turns: Array

    def rows(self, at: WorldMotion) -> Array:
        """(n, nv): the velocities that are zero."""
        T = at.poses[self.body]
        J = at.jacobian(self.body)
        return np.concatenate([at.point_jacobian(self.body, apply_pose(T, self.first)), self.turns @ (T.R.T @ J[:3])])

    def wrench(self, at: WorldMotion, place: Array) -> Array:
        """(n, 3): what a force at a place of the body does along the rows, world axes."""
        T = at.poses[self.body]
        return np.concatenate([np.eye(3), self.turns @ (T.R.T @ skew(T.R @ (place - self.first)))])

    def bias(self, at: WorldMotion) -> Array:
        """Their rates at zero independent acceleration, as far as a body that rests has any."""
        T = at.poses[self.body]
        turn = self.turns @ (T.R.T @ at.angular_bias(self.body))
        return np.concatenate([at.point_bias(self.body, apply_pose(T, self.first)), turn])


@dataclass(frozen=True)
class Friction:
    """A friction cone about a normal, as a pyramid of `sides` inside it: every force in the pyramid is in the cone.

    `normal` (3) is a unit vector, `most` [N] the largest normal force. A side k with the direction d_k along the ground
    allows d_k . f <= coefficient cos(pi / sides) f_n. The pyramid of
    eight sides leaves out at most 8 % of the coefficient, that of four 30 %.
    """

    coefficient: float = 0.7
    sides: int = 4
    normal: ArrayLike = (0.0, 0.0, 1.0)
    most: float = np.inf

    def __post_init__(self) -> None:
        checked_number("friction coefficient", self.coefficient, "not be negative", 0.0)
        if checked_count("sides of the friction pyramid", self.sides) < 3:
            raise MethodError(f"a friction pyramid has at least 3 sides, received {self.sides}")
        n = frozen(self.normal, (3,), "normal of the ground")
        if not np.linalg.norm(n) > 0.0:
            raise MethodError("the normal of the ground is zero; give a direction")
        object.__setattr__(self, "normal", tuple(float(x) for x in n / np.linalg.norm(n)))
        if not self.most > 0.0:
            raise MethodError(f"the largest normal force must be positive, received {self.most!r}")

    @cached_property
    def axes(self) -> Array:
        """(3, 3): two directions along the ground, the first as near to x as it can be, then the normal, as rows."""
        n = np.array(self.normal)
        near = np.eye(3)[0 if abs(n[0]) < 0.9 else 1]
        along = near - (near @ n) * n
        along = along / np.linalg.norm(along)
        return np.array([along, np.cross(n, along), n])

    def pyramid(self) -> Array:
        """Rows (sides + 1, 3) [1] that are not above zero for an allowed force, in `axes`; then the normal force."""
        angle = 2.0 * np.pi * (np.arange(self.sides) + 0.5) / self.sides
        slope = np.full(self.sides, -self.coefficient * np.cos(np.pi / self.sides))
        return np.concatenate([np.stack([np.cos(angle), np.sin(angle), slope], axis=1), [[0.0, 0.0, 1.0]]])

    def bounds(self) -> tuple[Array, Array]:
        """What the rows (sides + 1) [N] of the pyramid are between."""
        high = np.zeros(self.sides + 1)
        low, high[-1] = np.full(self.sides + 1, -np.inf), self.most
        low[-1] = 0.0
        return low, high


class HeldContacts(NamedTuple):
    """All contacts: where every point is, (body, place in it), and the bodies they hold."""

    names: tuple[str, ...]
    points: tuple[tuple[int, Array], ...]
    bodies: tuple[HeldBody, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        return tuple((body, *map(float, at)) for body, at in self.points)

    def wrenches(self, at: WorldMotion) -> Array:
        """X (rows, 3 points): the wrenches on held bodies, along their rows, of forces at the points, world axes."""
        blocks = [[np.zeros((n, 3)) for _ in self.points] for n in self.row_counts]
        for held, line in zip(self.bodies, blocks, strict=True):
            for k in held.points:
                line[k] = held.wrench(at, self.points[k][1])
        return np.concatenate([np.zeros((0, 3 * len(self.points))), *(np.concatenate(x, axis=1) for x in blocks)])

    def rows(self, at: WorldMotion) -> tuple[Array, Array]:
        """Velocities that are zero, and their rates at zero independent acceleration."""
        n = at.tree.nv
        J = np.concatenate([np.zeros((0, n)), *(b.rows(at) for b in self.bodies)])
        return J, join([b.bias(at) for b in self.bodies])

    @property
    def row_counts(self) -> list[int]:
        """How many rows each body has."""
        return [3 + len(b.turns) for b in self.bodies]


def held_contacts(top: Topology, contacts: Sequence[ContactPoint | str]) -> HeldContacts:
    """Contacts by the names of frames, or as points of them."""
    names, points = [], []
    for c in contacts:
        point = ContactPoint(c) if isinstance(c, str) else c
        if point.radius:
            raise MethodError(
                f"contact {point.frame!r} is a sphere of radius {point.radius} m; whole-body control holds points: "
                "give those where it touches, with radius 0"
            )
        body, placement = find_frame(top, point.frame)
        names.append(point.name or point.frame)
        points.append((body, apply_pose(placement, np.array(point.at))))
    bodies = []
    for body in dict.fromkeys(i for i, _ in points):
        own = [k for k, (i, _) in enumerate(points) if i == body]
        places = np.array([points[k][1] for k in own], dtype=float)
        bodies.append(HeldBody(body, tuple(own), places[0], _forbidden_turns(places)))
    return HeldContacts(tuple(names), tuple(points), tuple(bodies))


def _forbidden_turns(places: Array) -> Array:
    """The angular velocities, as rows in the body's axes, that points cannot follow while the first one stays."""
    _, sizes, directions = np.linalg.svd(places - places[0])
    rank = int(np.sum(sizes > SAME_PLACE))
    return np.zeros((0, 3)) if rank == 0 else directions[1:] if rank == 1 else np.eye(3)
