"""Shapes of URDF: sizes in attributes, poses as `<origin>`, colours as materials that have names."""

from __future__ import annotations

from kinloop.io.shared.exact_poses import origin_pose
from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.parse_numbers import attribute, number, number_list, vector_list
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Node
from kinloop.io.shared.shape_reader import Color, ShapeReader, Sizes, friction
from kinloop.model import Surface
from kinloop.model.contact_rules import FRICTION
from kinloop.spatial import Transform


def _box(node: Node) -> tuple[float, ...]:
    return tuple(vector_list(node, "size", (1.0, 1.0, 1.0)))


def _round(node: Node) -> tuple[float, ...]:
    return attribute(node, "radius"), attribute(node, "length")


def _scale(node: Node) -> tuple[float, ...]:
    text = node.get("scale") or "1 1 1"
    if len(text.split()) == 1:
        return (number(text, node, "scale"),) * 3
    return tuple(number_list(text, 3, node, "scale"))


def _surface(node: Node, slide: float, turn: float = 0.0, roll: float = 0.0, condim: int = 3) -> Surface:
    with node.blamed():
        return Surface((slide, turn, roll), condim)


class UrdfShapes(ShapeReader):
    """Reads the shapes of a `<robot>`; a material with a name and a colour is remembered."""

    sizes: Sizes = {
        "box": _box,
        "sphere": lambda node: (attribute(node, "radius"),),
        "cylinder": _round,
        "capsule": _round,
        "mesh": _scale,
    }

    def __init__(self, robot: Node, roots: Roots, notes: Notes, limit: int) -> None:
        super().__init__(roots, notes, limit)
        self.colors: dict[str, Color] = {}
        for material in robot.all("material"):
            self._material_color(material)
        self.gazebo = {node.get("reference"): mu for node in robot.all("gazebo") for mu in node.all("mu1")}
        """Gazebo's friction of links, by their names."""

    def color(self, shape: Node) -> Color | None:
        material = shape.first("material")
        return None if material is None else self._material_color(material)

    def _material_color(self, material: Node) -> Color | None:
        """The colour of a material, or the one its name was given before."""
        name, rgba = material.get("name") or "", material.first("color")
        if rgba is None or rgba.get("rgba") is None:
            return self.colors.get(name)
        r, g, b, a = (min(max(x, 0.0), 1.0) for x in vector_list(rgba, "rgba", (0.5, 0.5, 0.5, 1.0)))
        if name:
            self.colors[name] = r, g, b, a
        return r, g, b, a

    def surface(self, shape: Node, link: Node) -> Surface | None:
        """Friction as Drake, Bullet or Gazebo would find it in the file; URDF itself has none."""
        properties, contact = shape.first("drake:proximity_properties"), link.first("contact")
        drake = None if properties is None else properties.first("drake:mu_static")
        if drake is not None:
            return _surface(drake, friction(drake))
        if contact is not None:
            parts = {tag: contact.first(f"{tag}_friction") for tag in ("lateral", "spinning", "rolling")}
            slide, turn, roll = (None if part is None else friction(part) for part in parts.values())
            if slide is not None or turn or roll:
                slide = FRICTION[0] if slide is None else slide
                return _surface(contact, slide, turn or 0.0, roll or 0.0, 6 if roll else 4 if turn else 3)
        mu = self.gazebo.get(link.get("name"))
        return None if mu is None else _surface(mu, friction(mu))

    def mesh_reference(self, geometry: Node) -> str:
        return geometry.get("filename") or geometry.get("uri") or ""

    def placement(self, shape: Node, link: Transform) -> Transform:
        return origin_pose(shape.first("origin"))  # the frame of a link of URDF is its body's
