"""Visual and collision shapes of links, with mesh files looked up inside the allowed roots."""

from __future__ import annotations

import numpy as np

from kinloop.io.shared.failure import Notes
from kinloop.io.shared.parse_numbers import attribute, number, numbers, pose_of, vector
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Node
from kinloop.model import Geometry

Color = tuple[float, float, float, float]


class Shapes:
    """Reads shapes of a URDF; meshes not found are counted and reported once."""

    def __init__(self, roots: Roots, notes: Notes, limit: int = 4_000) -> None:
        self.roots, self.notes, self.limit = roots, notes, limit
        self.count = 0
        self.colors: dict[str, Color] = {}
        self.missing: list[tuple[Node, str]] = []
        self.outside: list[tuple[Node, str]] = []

    def named_materials(self, robot: Node) -> None:
        for material in robot.all("material"):
            self.color(material)

    def color(self, material: Node | None) -> Color | None:
        """The colour of a material, or the one its name was given before."""
        if material is None:
            return None
        name, rgba = material.get("name") or "", material.first("color")
        if rgba is not None and rgba.get("rgba") is not None:
            r, g, b, a = (float(x) for x in np.clip(vector(rgba, "rgba", (0.5, 0.5, 0.5, 1.0)), 0.0, 1.0))
            if name:
                self.colors[name] = r, g, b, a
            return r, g, b, a
        return self.colors.get(name)

    def read(self, link: Node) -> list[Geometry]:
        """All shapes of a link; ones of unknown kind are noted and left out."""
        out = []
        for role in ("visual", "collision"):
            for node in link.all(role):
                self.counted(node)
                shape = node.first("geometry")
                kind = next((c for c in shape if c.tag in _SIZES), None) if shape is not None else None
                if kind is None:
                    self.notes.warn(
                        node.where, "has no geometry that kinloop knows; the shape is left out", dropped=True
                    )
                    continue
                out.append(self._shape(node, kind, role))
        return out

    def _shape(self, node: Node, kind: Node, role: str) -> Geometry:
        mesh = path = None
        if kind.tag == "mesh":
            mesh = kind.get("filename") or kind.get("uri") or ""
            path = self.find(kind, mesh)
        with kind.where.blamed():
            return Geometry(
                kind.tag, _SIZES[kind.tag](kind), pose_of(node.first("origin")), role, node.get("name") or "",
                mesh, path, self.color(node.first("material")),
            )  # fmt: skip

    def counted(self, node: Node) -> None:
        self.count += 1
        if self.count > self.limit:
            raise node.error(f"is shape number {self.count}; limits allow {self.limit} shapes")

    def find(self, node: Node, reference: str) -> str | None:
        found = self.roots.find(reference)
        if found is None:
            (self.outside if self.roots.escapes(reference) else self.missing).append((node, reference))
        return None if found is None else str(found)

    def report(self) -> None:
        """Note how many meshes were not taken, and why."""
        for found, why in (
            (self.outside, "outside the model's directory and declared packages"),
            (self.missing, "not found in the model's directory and declared packages"),
        ):
            if found:
                node, reference = found[0]
                self.notes.warn(
                    node.where,
                    f"mesh {reference!r}{f' and {len(found) - 1} more' if len(found) > 1 else ''} {why}; "
                    "shapes keep the reference only: declare packages=[...] to find files",
                )


def _box(node: Node) -> tuple[float, ...]:
    return tuple(vector(node, "size", (1.0, 1.0, 1.0)))


def _round(node: Node) -> tuple[float, ...]:
    return attribute(node, "radius"), attribute(node, "length")


def _scale(node: Node) -> tuple[float, ...]:
    text = node.get("scale") or "1 1 1"
    if len(text.split()) == 1:
        return (number(text, node.where, "scale"),) * 3
    return tuple(numbers(text, 3, node.where, "scale"))


_SIZES = {
    "box": _box,
    "sphere": lambda node: (attribute(node, "radius"),),
    "cylinder": _round,
    "capsule": _round,
    "mesh": _scale,
}
