"""The table of pairs of shapes that have a formula, by the kinds of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from kinloop.errors import MethodError
from kinloop.sim.contact.shapes.box_box import box_box
from kinloop.sim.contact.shapes.box_swept import capsule_box, sphere_box, sphere_cylinder
from kinloop.sim.contact.shapes.flat import box_plane, cylinder_plane, ellipsoid_plane, mesh_plane
from kinloop.sim.contact.shapes.height_fields import (
    capsule_heightfield,
    capsule_terrain,
    sphere_heightfield,
    sphere_terrain,
)
from kinloop.sim.contact.shapes.proximity import Proximity
from kinloop.sim.contact.shapes.swept import capsule_capsule, capsule_plane, sphere_capsule, sphere_plane, sphere_sphere
from kinloop.spatial import Transform

PairFunction: TypeAlias = Callable[[Any, Transform, Any, Transform], list[Proximity]]
"""`collide(size_a, pose_a, size_b, pose_b)`: sizes as `Geometry` has them (of a mesh, the vertices of its hull; of a
height field, `Heights`) and poses in the world, all of them numbers or symbols."""


class Pair(NamedTuple):
    """How a pair of shapes is computed, and how many proximities it has at most."""

    collide: PairFunction
    points: int


PAIRS: dict[tuple[str, str], Pair] = {
    ("sphere", "sphere"): Pair(sphere_sphere, 1),
    ("sphere", "capsule"): Pair(sphere_capsule, 1),
    ("capsule", "capsule"): Pair(capsule_capsule, 3),
    ("sphere", "box"): Pair(sphere_box, 1),
    ("capsule", "box"): Pair(capsule_box, 2),
    ("sphere", "cylinder"): Pair(sphere_cylinder, 1),
    ("box", "box"): Pair(box_box, 4),
    ("sphere", "plane"): Pair(sphere_plane, 1),
    ("capsule", "plane"): Pair(capsule_plane, 2),
    ("box", "plane"): Pair(box_plane, 4),
    ("cylinder", "plane"): Pair(cylinder_plane, 4),
    ("ellipsoid", "plane"): Pair(ellipsoid_plane, 1),
}
"""Pairs by their kinds, each in one order: those of shapes that a few numbers describe."""

DATA_PAIRS: dict[tuple[str, str], Pair] = {
    ("mesh", "plane"): Pair(mesh_plane, 4),
    ("sphere", "heightfield"): Pair(sphere_heightfield, 3),
    ("capsule", "heightfield"): Pair(capsule_heightfield, 6),
    ("sphere", "terrain"): Pair(sphere_terrain, 1),
    ("capsule", "terrain"): Pair(capsule_terrain, 2),
}
"""Pairs of which one shape has data in place of a size: vertices of a hull, `Heights` of a field, a ground."""


FORMULAS = PAIRS | DATA_PAIRS
"""All pairs that have a formula."""


def pair_function(kind_a: str, kind_b: str) -> PairFunction:
    """The function of a pair of kinds, in either order.

    It gives a fixed number of proximities, those that are not needed at a gap of `FAR`. The normal points from b to a.
    """
    if (kind_a, kind_b) in FORMULAS:
        return FORMULAS[kind_a, kind_b].collide
    collide = _exchanged(kind_a, kind_b).collide

    def exchanged(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
        return [p.turned_round() for p in collide(size_b, pose_b, size_a, pose_a)]

    return exchanged


def pair_points(kind_a: str, kind_b: str) -> int:
    """How many proximities a pair of kinds has, in either order."""
    return (FORMULAS.get((kind_a, kind_b)) or _exchanged(kind_a, kind_b)).points


def _exchanged(kind_a: str, kind_b: str) -> Pair:
    """The pair with the second shape first."""
    if (kind_b, kind_a) not in FORMULAS:
        names = ", ".join(f"{a}-{b}" for a, b in FORMULAS)
        raise MethodError(
            f"a {kind_a} against a {kind_b} has no formula; pairs with one are {names}, "
            "convex pairs without one go through `coal` (pip install 'kinloop[collision]')"
        )
    return FORMULAS[kind_b, kind_a]
