"""Poses of an SDF model: `<pose>` elements, and the frames they are relative to, at rest."""

from __future__ import annotations

from kinloop.io.shared.exact_poses import rpy_pose
from kinloop.io.shared.parse_numbers import numbers
from kinloop.io.shared.safe_xml import Node
from kinloop.model import WORLD
from kinloop.spatial import Transform

LONGEST = 200
"""How many poses may be relative to one another in a row."""


def pose_element(node: Node) -> tuple[Transform, str]:
    """The pose of an element in the frame it names ('' by default)."""
    pose = node.first("pose")
    if pose is None or not pose.text:
        return Transform.identity(), (pose.get("relative_to") or "") if pose is not None else ""
    x = numbers(pose.text, 6, pose.where, "pose")
    return rpy_pose(x[:3], x[3:], pose.where), pose.get("relative_to") or pose.get("frame") or ""


class Poses:
    """Poses of links, joints and frames in the model's frame, at rest."""

    def __init__(self, model: Node) -> None:
        self.model = model
        self.nodes = {n.get("name") or "": n for tag in ("frame", "joint", "link") for n in model.all(tag)}
        self.known: dict[str, Transform] = {}

    def link(self, name: str) -> Transform:
        if name == WORLD:
            return Transform.identity()
        return self._named(name, self.nodes[name], ())

    def joint(self, node: Node, child: str) -> Transform:
        """A joint's frame: by default given in its child link."""
        T, frame = pose_element(node)
        return self.frame(frame or child, node).then(T)

    def frame(self, name: str, node: Node, above: tuple[str, ...] = ()) -> Transform:
        """A frame that `node` refers to by name; `above` are the names that led there."""
        if name in ("", WORLD, "__model__"):
            return Transform.identity()
        if name not in self.nodes:
            raise node.error(f"has a pose relative to {name!r}, which is no link, joint or frame of this model")
        return self._named(name, self.nodes[name], above)

    def _named(self, name: str, node: Node, above: tuple[str, ...]) -> Transform:
        if name in above:
            raise node.error(f"has a pose relative to itself, by way of {', '.join(above)}; break the circle")
        if len(above) > LONGEST:
            raise node.error(f"has a pose relative to more than {LONGEST} others; write it relative to the model")
        if name not in self.known:
            T, frame = pose_element(node)
            if node.tag == "joint":
                frame = frame or node.need("child").text
            else:
                frame = frame or node.get("attached_to") or ""
            self.known[name] = self.frame(frame, node, (*above, name)).then(T)
        return self.known[name]
