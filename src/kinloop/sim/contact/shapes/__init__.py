"""Shapes beside each other: gap, point and normal of every pair that has a formula.

- `proximity`: what a pair gives, `Proximity`, and the vector algebra that all pairs share.
- `swept`: spheres and capsules, with each other and over planes.
- `patches`: four points that stand for the patch in which two surfaces meet.
- `flat`: boxes, cylinders, ellipsoids and hulls of meshes over planes.
- `box_swept`: spheres and capsules with boxes, spheres with cylinders.
- `box_box`: two boxes.
- `height_fields`: spheres and capsules over height fields.
- `convex`: convex shapes by numbers: hulls of meshes, where lines leave a shape.
- `supports`: how far convex shapes reach along a direction, in a kernel.
- `simplex`: the point of a simplex nearest to the origin.
- `couple`: two convex shapes, and whether they are near at all.
- `meeting`: where two convex shapes meet, searched for inside a kernel.
- `patch_corners`: corners of the patch in which they meet.
- `convex_pairs`: pairs of convex shapes without a formula, through `coal`.
- `over_fields`: convex shapes over height fields, triangle by triangle.
- `outlines`: polygons in a plane, and what two of them share.
- `pairs`: the table of all pairs.
"""

from kinloop.sim.contact.shapes.flat import HullAt
from kinloop.sim.contact.shapes.height_fields import Heights
from kinloop.sim.contact.shapes.pairs import DATA_PAIRS, FORMULAS, PAIRS, PairFunction, pair_function, pair_points
from kinloop.sim.contact.shapes.proximity import FAR, Proximity

__all__ = [
    "DATA_PAIRS",
    "FAR",
    "FORMULAS",
    "PAIRS",
    "Heights",
    "HullAt",
    "PairFunction",
    "Proximity",
    "pair_function",
    "pair_points",
]
