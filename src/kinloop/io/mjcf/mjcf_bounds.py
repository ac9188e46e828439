"""What an MJCF document asks MuJoCo's compiler for, counted before it is compiled.

`<replicate>` multiplies, built-in meshes grow with the square of a resolution, and every keyframe has a number for
each coordinate: a short file can ask for hours and gigabytes. Each is refused here at the element that asks.
"""

from __future__ import annotations

from collections import Counter

from kinloop.io.shared.parse_numbers import attribute
from kinloop.io.shared.reading_options import Limits
from kinloop.io.shared.safe_xml import Node

FINEST = 100
"""Resolution of a built-in mesh; MuJoCo makes about its square of vertices."""
VERTICES = 50_000
"""Vertices of all built-in meshes, and of those written out in the document, together."""
HEIGHTS = 1_000_000
"""Heights of all height fields together."""
TENDONS = ("spatial", "fixed")
"""Elements whose children name joints, sites and geoms."""
KEY_NUMBERS = 1_000_000
"""Numbers of all keyframes together."""
JOINTS = 2
"""Joints and actuators that there may be for each of the bodies that limits allow."""
JOINT_NUMBERS, ACTUATOR_NUMBERS = 13, 2
"""Numbers of a keyframe for a joint (position and velocity of a free one) and for an actuator."""


class Bounds:
    """Counts elements, with the copies that `<replicate>` makes of them, and refuses what limits do not allow."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.counts: Counter[str] = Counter()
        self.vertices = self.actuators = 0
        self.heights = 0.0
        bodies = min(limits.bodies, limits.compiled_bodies)
        self.most = {"body": bodies, "geom": limits.shapes, "site": limits.shapes, "joint": JOINTS * bodies}

    def copies(self, node: Node, copies: int) -> int:
        """How many copies of the children of an element there will be."""
        return copies * max(1, int(min(attribute(node, "count", 1.0), 1e9))) if node.tag == "replicate" else copies

    def add(self, node: Node, copies: int, parent: str = "") -> None:
        """Count an element that there will be so many copies of; in a tendon it names a part and is none."""
        self.counts["element"] += copies
        self.counts[node.tag] += copies * (parent not in TENDONS)
        if self.counts["element"] > self.limits.elements:
            raise node.error(f"brings the model above {self.limits.elements} elements; raise limits")
        count, most = self.counts[node.tag], self.most.get(node.tag)
        if most is not None and count > most:
            raise node.error(f"brings the model to {count} elements <{node.tag}>; limits allow {most}")
        if node.tag == "actuator":
            self.actuators += len(node.children)
            if self.actuators > self.most["joint"]:
                raise node.error(f"has {self.actuators} actuators; limits allow {self.most['joint']}")
        if node.tag == "mesh":
            finest = self._finest(node) if node.get("builtin") else 0.0
            self.vertices += int(finest * finest) + len((node.get("vertex") or "").split()) // 3
            if self.vertices > VERTICES:
                raise node.error(f"brings meshes above {VERTICES} vertices; use lower resolutions, or mesh files")

        if node.tag == "hfield" and not node.get("file"):
            rows, columns = (attribute(node, key, 0.0) for key in ("nrow", "ncol"))
            self.add_heights(node, rows * columns)

    def add_model(self, node: Node, other: Bounds, copies: int) -> None:
        """Count the parts of another model that an element attaches, all of them for each copy."""
        for tag, count in other.counts.items():
            self.counts[tag] += copies * count
            most = self.limits.elements if tag == "element" else self.most.get(tag)
            if most is not None and self.counts[tag] > most:
                raise node.error(f"brings the model to {self.counts[tag]} elements <{tag}>; limits allow {most}")
        self.actuators += copies * other.actuators
        self.vertices += copies * other.vertices
        if self.actuators > self.most["joint"] or self.vertices > VERTICES:
            raise node.error(f"brings the model above {self.most['joint']} actuators or {VERTICES} vertices of meshes")
        self.add_heights(node, copies * other.heights)

    def add_heights(self, node: Node, count: float) -> None:
        """Count the heights of a height field."""
        self.heights += count
        if not self.heights <= HEIGHTS:
            raise node.error(f"brings height fields above {HEIGHTS} heights; use fewer rows and columns")

    def _finest(self, node: Node) -> float:
        """The resolution of a built-in mesh: the largest of its parameters."""
        words = (node.get("params") or "").split()
        try:
            finest = max((abs(float(word)) for word in words), default=0.0)
        except ValueError:
            raise node.error(f"asks for a built-in mesh with params {node.get('params')!r}; give numbers") from None
        if not finest <= FINEST:
            raise node.error(
                f"asks for a built-in mesh with params {node.get('params')!r}; use numbers of at most {FINEST}"
            )
        return finest

    def check_keys(self, root: Node) -> None:
        """Refuse keyframes that would be too many numbers together."""
        joints = self.counts["joint"] + self.counts["freejoint"]
        numbers = self.counts["key"] * (JOINT_NUMBERS * joints + ACTUATOR_NUMBERS * self.actuators)
        if numbers > KEY_NUMBERS:
            raise root.error(
                f"has {self.counts['key']} keyframes of {joints} joints; {KEY_NUMBERS} numbers are allowed"
            )
