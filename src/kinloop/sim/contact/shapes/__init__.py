"""Shapes beside each other: gap, point and normal of every pair that has a formula.

- `proximity`: what a pair gives, `Proximity`, and the vector algebra that all pairs share.
- `swept`: spheres and capsules, with each other and over planes.
- `flat`: boxes, cylinders and ellipsoids over planes.
- `box_swept`: spheres and capsules with boxes.
- `box_box`: two boxes.
- `pairs`: the table of all pairs.
"""

from kinloop.sim.contact.shapes.pairs import PAIRS, PairFunction, pair_function, pair_points
from kinloop.sim.contact.shapes.proximity import FAR, Proximity

__all__ = ["FAR", "PAIRS", "PairFunction", "Proximity", "pair_function", "pair_points"]
