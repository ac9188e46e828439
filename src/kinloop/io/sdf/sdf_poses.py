"""Poses of an SDF model: `<pose>` elements, and the frames they are relative to, at rest."""

from __future__ import annotations

import numpy as np

from kinloop.io.shared.exact_poses import is_identity, quaternion_pose, rpy_pose
from kinloop.io.shared.parse_numbers import numbers, truth
from kinloop.io.shared.safe_xml import Node
from kinloop.model import WORLD
from kinloop.spatial import Transform

MODEL_FRAME = "__model__"
"""SDF's name of the frame of a model."""
LONGEST = 200
"""How many poses may be relative to one another in a row."""


def pose_element(node: Node) -> tuple[Transform, str]:
    """The pose of an element in the frame it names ('' by default)."""
    pose = node.first("pose")
    if pose is None:
        return Transform.identity(), ""
    frame = pose.get("relative_to") or pose.get("frame") or ""
    form = pose.get("rotation_format") or "euler_rpy"
    if form not in ("euler_rpy", "quat_xyzw"):
        raise pose.error(f"has the rotation_format {form!r}; it must be euler_rpy or quat_xyzw")
    degrees = truth(pose.get("degrees") or "false", pose, "degrees")
    if form == "quat_xyzw" and degrees:
        raise pose.error("has degrees beside a quaternion, which has none; remove one of them")
    if not pose.text:
        return Transform.identity(), frame
    if form == "quat_xyzw":
        x = numbers(pose.text, 7, pose, "pose")
        return quaternion_pose(x[:3], x[[6, 3, 4, 5]], pose.where), frame
    x = numbers(pose.text, 6, pose, "pose")
    rpy = np.deg2rad(x[3:]) if degrees else x[3:]
    return rpy_pose(x[:3], rpy.tolist(), pose), frame


class Poses:
    """Poses of links, joints and frames in the model's frame, at rest."""

    def __init__(self, model: Node) -> None:
        self.model = model
        self.nodes = {n.get("name") or "": n for tag in ("frame", "joint", "link") for n in model.all(tag)}
        self.link_of = {part: link.get("name") or "" for link in model.all("link") for part in link}
        """The link that a part of a link belongs to."""
        self.known: dict[str, Transform] = {}
        self.model_in_world: Transform | None = None
        """The pose of the model in the world, where they differ."""
        T = self._model_in_world()
        self.model_in_world = None if is_identity(T) else T

    def _model_in_world(self) -> Transform:
        """The pose of the model; it is that of the placement frame, where the model names one."""
        T, frame = pose_element(self.model)
        if frame not in ("", WORLD):
            if not self._is_of_world(frame):
                raise self.model.error(f"has a pose relative to {frame!r}; give it in the world, or in a frame of that")
            T = self.frame(frame, self.model).then(T)  # as long as the model has no place, poses are in the world
            self.known = {}
        placed = self.model.get("placement_frame")
        if not placed:
            return T
        inside = self.frame(placed, self.model)
        self.known = {}  # what is relative to the world is known once the model has its place
        return T.then(inside.inverse())

    def _is_of_world(self, name: str) -> bool:
        """Whether a frame lies in the world, by way of other frames perhaps."""
        for _ in range(LONGEST):
            found = self.nodes.get(name)
            if found is None or found.tag != "frame":
                return name == WORLD
            name = pose_element(found)[1] or self._default_frame(found)
        return False

    def in_world(self, T: Transform) -> Transform:
        """A pose in the model as one in the world."""
        return T if self.model_in_world is None else self.model_in_world.then(T)

    def world(self) -> Transform:
        """The pose of the world in the model."""
        return Transform.identity() if self.model_in_world is None else self.model_in_world.inverse()

    def in_link(self, part: Node) -> Transform:
        """The pose of a part of a link (its inertial, a shape) in the frame of that link."""
        T, frame = pose_element(part)
        link = self.link_of[part]
        return T if frame in ("", link) else self.link(link).inverse().then(self.frame(frame, part)).then(T)

    def link(self, name: str) -> Transform:
        return self.world() if name == WORLD else self._named(name, self.nodes[name], ())

    def joint(self, node: Node, child: str) -> Transform:
        """A joint's frame: by default given in its child link."""
        T, frame = pose_element(node)
        return self.frame(frame or child, node).then(T)

    def frame(self, name: str, node: Node, above: tuple[str, ...] = ()) -> Transform:
        """A frame that `node` refers to by name; `above` are the names that led there."""
        if name in ("", "__model__"):
            return Transform.identity()
        if name == WORLD:
            return self.world()
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
            frame = frame or self._default_frame(node)
            at = self.frame(frame, node, (*above, name)).then(T)
            placed = node.get("placement_frame") if node.tag == "frame" else None
            if placed:
                at = at.then(self._inside(placed, name, node, 0).inverse())
            self.known[name] = at
        return self.known[name]

    def _inside(self, name: str, model: str, node: Node, depth: int) -> Transform:
        """The pose of a frame in the nested model that has the frame `model`."""
        if name == model:
            return Transform.identity()
        if name not in self.nodes or depth > LONGEST:
            raise node.error(f"has the placement frame {name!r}, which is no link, joint or frame in it")
        found = self.nodes[name]
        T, frame = pose_element(found)
        return self._inside(frame or self._default_frame(found), model, node, depth + 1).then(T)

    def _default_frame(self, node: Node) -> str:
        """What the pose of a part is relative to, where it does not say."""
        return node.need("child").text if node.tag == "joint" else node.get("attached_to") or ""

    def link_below(self, name: str, node: Node, depth: int = 0) -> str:
        """The link that a frame is fixed to: itself, what it is attached to, or the first link of its model."""
        found = self.nodes.get(name)
        if name == WORLD or (found is not None and found.tag == "link"):
            return name
        if depth > LONGEST:
            raise node.error(f"has an end at {name!r}, which is attached to itself; attach it to a link")
        if found is not None and found.tag == "joint":
            return self.link_below(found.need("child").text, node, depth + 1)
        scope = name.rpartition("::")[0]
        attached = None if found is None or name.endswith(MODEL_FRAME) else found.get("attached_to")
        if attached:
            return self.link_below(attached, node, depth + 1)
        first = next(
            (n for n in self.nodes if self.nodes[n].tag == "link" and n.startswith(f"{scope}::" if scope else "")), None
        )
        if first is None or (found is None and name != MODEL_FRAME):
            raise node.error(
                f"has an end at {name!r}, which is no link, joint or frame of this model; name one of them"
            )
        return first
