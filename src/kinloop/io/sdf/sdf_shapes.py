"""Shapes of SDF: sizes in the texts of children, poses in the frame of the file's link."""

from __future__ import annotations

from kinloop.io.sdf.sdf_poses import Poses
from kinloop.io.shared.exact_poses import exact_pose
from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.parse_numbers import child_number, child_vector
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Node
from kinloop.io.shared.shape_reader import ShapeReader, Sizes
from kinloop.spatial import Transform


def _round(node: Node) -> tuple[float, ...]:
    return child_number(node, "radius"), child_number(node, "length")


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

    def mesh_reference(self, geometry: Node) -> str:
        return geometry.need("uri").text

    def placement(self, shape: Node, link: Transform) -> Transform:
        at = link.then(self.poses.in_link(shape))
        return exact_pose(at.p, at.R)
