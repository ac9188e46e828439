"""Shapes of SDF: sizes in the texts of children, poses in the frame of the file's link."""

from __future__ import annotations

import numpy as np

from kinloop.io.sdf.sdf_poses import Poses
from kinloop.io.shared.exact_poses import exact_pose
from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.parse_numbers import child_number, child_truth, child_vector
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Node
from kinloop.io.shared.shape_reader import ShapeReader, Sizes, friction
from kinloop.model import Surface
from kinloop.model.contact_rules import FRICTION
from kinloop.spatial import Transform

ALL_BITS = 0xFFFF
"""Bits of a shape that touches all others."""
PATCH = 3.0 * np.pi / 16.0
"""Torque that a round patch of contact resists, per coefficient, radius and force, with the pressure of a sphere."""


def _round(node: Node) -> tuple[float, ...]:
    return child_number(node, "radius"), child_number(node, "length")


def _bits(node: Node) -> int:
    """A mask of sixteen bits, written as a whole number."""
    try:
        bits = int(node.text, 0)
    except ValueError:
        bits = -1
    if not 0 <= bits <= ALL_BITS:
        raise node.error(f"is {node.text[:40]!r}; give a whole number from 0 to {ALL_BITS}")
    return bits


class SdfShapes(ShapeReader):
    """Reads the shapes of a `<model>`."""

    sizes: Sizes = {
        "box": lambda node: child_vector(node, "size", (1.0, 1.0, 1.0)),
        "sphere": lambda node: (child_number(node, "radius"),),
        "cylinder": _round,
        "capsule": _round,
        "ellipsoid": lambda node: child_vector(node, "radii", (1.0, 1.0, 1.0)),
        "plane": lambda node: child_vector(node, "size", (1.0, 1.0)),
        "mesh": lambda node: child_vector(node, "scale", (1.0, 1.0, 1.0)),
    }

    def __init__(self, roots: Roots, notes: Notes, limit: int, poses: Poses) -> None:
        super().__init__(roots, notes, limit)
        self.poses = poses

    def surface(self, shape: Node, link: Node) -> Surface | None:
        """Friction and bits of contact, where the file says so."""
        drake, found = shape.first("drake:proximity_properties"), shape.first("surface")
        mu = None if drake is None else drake.first("drake:mu_static")
        if mu is not None:
            with mu.blamed():
                return Surface((friction(mu), 0.0, 0.0))
        return None if found is None else self._surface(found)

    def _surface(self, node: Node) -> Surface:
        slide, turn, bits = FRICTION[0], 0.0, ALL_BITS
        for part in node:
            for inner in part:
                if inner.tag == "ode" and part.tag == "friction":
                    slide = self._along(inner)
                elif inner.tag == "torsional":
                    turn = self._about_normal(inner)
                elif inner.tag == "collide_bitmask" and inner.text:
                    bits = _bits(inner)
        with node.blamed():
            return Surface((slide, turn, 0.0), 4 if turn else 3, bits, bits)

    def _along(self, ode: Node) -> float:
        first, second = (
            None if part is None or not part.text else friction(part) for part in map(ode.first, ("mu", "mu2"))
        )
        directed = any(child_vector(ode, "fdir1", (0.0, 0.0, 0.0)))
        if directed or first != (first if second is None else second):
            self.notes.warn(ode.where, "has friction that depends on the direction; mu is used in all of them")
        return FRICTION[0] if first is None else first

    def _about_normal(self, torsional: Node) -> float:
        """The torque per force of a round patch [m]."""
        if not child_truth(torsional, "use_patch_radius", True):
            self.notes.warn(torsional.where, "has a patch that grows with the depth of a contact; it is left out", True)
            return 0.0
        radius = child_number(torsional, "patch_radius", 0.0)
        return PATCH * child_number(torsional, "coefficient", 1.0) * radius

    def mesh_reference(self, geometry: Node) -> str:
        return geometry.need("uri").text

    def placement(self, shape: Node, link: Transform) -> Transform:
        at = link.then(self.poses.in_link(shape))
        return exact_pose(at.p, at.R)
