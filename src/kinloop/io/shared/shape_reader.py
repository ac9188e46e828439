"""Visual and collision shapes of links: counted, their mesh files looked up inside the allowed roots.

What the formats write differently (sizes, poses, colours) their own subclasses of `ShapeReader` say.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.parse_numbers import number
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Node
from kinloop.model import Geometry, Surface
from kinloop.spatial import Transform

Color = tuple[float, float, float, float]
Sizes = Mapping[str, Callable[[Node], tuple[float, ...]]]


STICKS = 1e6
"""Files write any large number, or infinity, for friction that nothing overcomes; here it is this."""
_HERE = Transform.identity()


def friction(node: Node) -> float:
    """Friction from an element's attribute `value`, or from its text."""
    return min(number(node.get("value") or node.text, node, "friction", unbounded=True), STICKS)


class ShapeReader(ABC):
    """Reads the shapes of a model; meshes that are not found are reported together, once."""

    sizes: Sizes
    """By the tag of a geometry: what reads its size, in the order of `Geometry.size`."""

    def __init__(self, roots: Roots, notes: Notes, limit: int) -> None:
        self.roots, self.notes, self.limit = roots, notes, limit
        self.count = 0
        self.missing: list[tuple[Node, str]] = []
        self.outside: list[tuple[Node, str]] = []

    @abstractmethod
    def mesh_reference(self, geometry: Node) -> str:
        """The file a mesh names."""

    @abstractmethod
    def placement(self, shape: Node, link: Transform) -> Transform:
        """The pose of a shape in its body, where the frame of the file's link lies at `link`."""

    def color(self, shape: Node) -> Color | None:
        """The colour of a shape, where the format gives one."""
        return None

    def surface(self, shape: Node, link: Node) -> Surface | None:
        """How a collision shape of a link touches others, where the file says so."""
        return None

    def read(self, link: Node, at: Transform = _HERE) -> list[Geometry]:
        """All shapes of a link whose frame lies at `at` in its body; ones of unknown kind are noted and left out."""
        out = []
        for role in ("visual", "collision"):
            for shape in link.all(role):
                self._counted(shape)
                geometry = shape.first("geometry")
                kind = next((c for c in geometry if c.tag in self.sizes), None) if geometry is not None else None
                if kind is None:
                    reason = "has no geometry that kinloop knows; the shape is left out"
                    self.notes.warn(shape.where, reason, dropped=True)
                else:
                    surface = self.surface(shape, link) if role == "collision" else None
                    out.append(self._shape(shape, kind, role, at, surface))
        return out

    def _shape(self, shape: Node, kind: Node, role: str, at: Transform, surface: Surface | None) -> Geometry:
        mesh = path = None
        if kind.tag == "mesh":
            mesh = self.mesh_reference(kind)
            path = self._find(kind, mesh)
        with kind.blamed():
            size = self.sizes[kind.tag](kind)
            name, placed = shape.get("name") or "", self.placement(shape, at)
            return Geometry(kind.tag, size, placed, role, name, mesh, path, self.color(shape), surface)

    def _counted(self, shape: Node) -> None:
        self.count += 1
        if self.count > self.limit:
            raise shape.error(f"is shape number {self.count}; limits allow {self.limit} shapes")

    def _find(self, node: Node, reference: str) -> str | None:
        found = self.roots.find(reference)
        if found is None and "://" not in reference:  # beside the included file that names it
            found = self.roots.find(os.path.join(os.path.dirname(node.file), reference))
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
