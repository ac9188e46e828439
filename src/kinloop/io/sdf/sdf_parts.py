"""Poses, links, joint types and gearboxes of an SDF model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop.io.shared.draft import Draft
from kinloop.io.shared.entries import Link
from kinloop.io.shared.parse_numbers import exact_pose, number, numbers, rpy_pose
from kinloop.io.shared.safe_xml import Node
from kinloop.io.shared.shape_tags import Shapes
from kinloop.model import WORLD, Geometry, Joint, LinearCoupling
from kinloop.model import joints as jt
from kinloop.spatial import Transform

SILENT = {
    "link", "joint", "frame", "pose", "static", "self_collide", "plugin", "allow_auto_disable", "enable_wind",
    "gripper",
}  # fmt: skip


def text_number(node: Node | None, tag: str, default: float | None = None, unbounded: bool = False) -> float:
    """A number from the text of a child."""
    child = None if node is None else node.first(tag)
    if child is None or not child.text:
        if default is None and node is not None:
            raise node.error(f"has no <{tag}>; add one")
        return default if default is not None else 0.0
    return number(child.text, child.where, tag, unbounded)


def pose_of(node: Node) -> tuple[Transform, str]:
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
        T, frame = pose_of(node)
        return self._reference(frame or child, node, ()).then(T)

    def _named(self, name: str, node: Node, above: tuple[str, ...]) -> Transform:
        if name in above:
            raise node.error(f"has a pose relative to itself, by way of {', '.join(above)}; break the circle")
        if len(above) > 200:
            raise node.error("has a pose relative to more than 200 others; write it relative to the model")
        if name not in self.known:
            T, frame = pose_of(node)
            if node.tag == "joint":
                child = node.need("child").text
                self.known[name] = self._reference(frame or child, node, (*above, name)).then(T)
            else:
                frame = frame or node.get("attached_to") or ""
                self.known[name] = self._reference(frame, node, (*above, name)).then(T)
        return self.known[name]

    def _reference(self, frame: str, node: Node, above: tuple[str, ...]) -> Transform:
        if frame in ("", WORLD, "__model__"):
            return Transform.identity()
        if frame not in self.nodes:
            raise node.error(f"has a pose relative to {frame!r}, which is no link, joint or frame of this model")
        return self._named(frame, self.nodes[frame], above)


def read_link(node: Node, name: str, own: Transform, shapes: Shapes) -> Link:
    """A link whose body frame sees the file's link frame at `own`."""
    link = Link(name, node.where, mass=1.0, inertia=np.eye(3))
    inertial = node.first("inertial")
    if inertial is None:
        shapes.notes.warn(node.where, "has no inertial; SDF gives it 1 kg and 1 kg m^2 about every axis")
        link.com = own.p
    else:
        T = own.then(pose_of(inertial)[0])
        link.mass, link.com = text_number(inertial, "mass", 1.0), T.p
        if link.mass < 0:
            raise inertial.error(f"the mass of link {name!r} is {link.mass} kg; it must not be negative")
        I = inertial.first("inertia")
        if I is not None:
            xx, yy, zz = (text_number(I, k, 1.0) for k in ("ixx", "iyy", "izz"))
            xy, xz, yz = (text_number(I, k, 0.0) for k in ("ixy", "ixz", "iyz"))
            link.inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        turned_inertia = T.R @ link.inertia @ T.R.T
        link.inertia = 0.5 * (turned_inertia + turned_inertia.T)
    for role in ("visual", "collision"):
        for shape in node.all(role):
            shapes.counted(shape)
            found = _shape(shape, role, own, shapes)
            if found is not None:
                link.geometry.append(found)
    return link


def _shape(node: Node, role: str, own: Transform, shapes: Shapes) -> Geometry | None:
    geometry = node.first("geometry")
    kind = next((c for c in geometry if c.tag in _SIZES), None) if geometry is not None else None
    if kind is None:
        shapes.notes.warn(node.where, "has no geometry that kinloop knows; the shape is left out", dropped=True)
        return None
    mesh = path = None
    if kind.tag == "mesh":
        mesh = kind.need("uri").text
        path = shapes.find(kind, mesh)
    at = own.then(pose_of(node)[0])
    with kind.where.blamed():
        return Geometry(
            kind.tag, _SIZES[kind.tag](kind), exact_pose(at.p, at.R), role, node.get("name") or "", mesh, path
        )


def _vector(node: Node, tag: str, default: tuple[float, ...]) -> tuple[float, ...]:
    child = node.first(tag)
    return default if child is None else tuple(numbers(child.text, len(default), child.where, tag))


_SIZES: dict[str, Callable[[Node], tuple[float, ...]]] = {
    "box": lambda n: _vector(n, "size", (1.0, 1.0, 1.0)),
    "sphere": lambda n: (text_number(n, "radius"),),
    "cylinder": lambda n: (text_number(n, "radius"), text_number(n, "length")),
    "capsule": lambda n: (text_number(n, "radius"), text_number(n, "length")),
    "ellipsoid": lambda n: _vector(n, "radii", (1.0, 1.0, 1.0)),
    "plane": lambda n: _vector(n, "size", (1.0, 1.0)),
    "mesh": lambda n: _vector(n, "scale", (1.0, 1.0, 1.0)),
}

Axes = tuple[np.ndarray, np.ndarray]


def joint_kind(node: Node, kind: str) -> Callable[[Axes], jt.JointType]:
    """What makes a joint type of SDF's type name from the two axes."""
    if kind in ("revolute", "continuous", "hinge"):
        return lambda axes: jt.Revolute(jt.unit_axis(axes[0]))
    if kind == "prismatic":
        return lambda axes: jt.Prismatic(jt.unit_axis(axes[0]))
    if kind in ("universal", "revolute2"):
        return lambda axes: jt.Universal(jt.unit_axis(axes[0]), jt.unit_axis(axes[1]))
    if kind == "screw":
        pitch = text_number(node, "thread_pitch" if node.first("thread_pitch") else "screw_thread_pitch", 1.0)
        scale = -1.0 if node.first("thread_pitch") else 1.0 / (2 * np.pi)
        return lambda axes: jt.Helical(jt.unit_axis(axes[0]), pitch * scale)
    if kind in ("ball", "fixed"):
        return lambda axes: jt.Spherical() if kind == "ball" else jt.Fixed()
    known = "revolute, continuous, prismatic, universal, screw, ball, fixed, gearbox"
    raise node.error(f"has the type {kind!r}; it must be one of {known}")


def axis_of(node: Node, joint: Transform, frame: Transform, poses: Poses) -> Axes:
    """Both axes of a joint in the axes of `frame` (poses in the model)."""
    out = []
    for tag in ("axis", "axis2"):
        axis = node.first(tag)
        xyz = None if axis is None else axis.first("xyz")
        a = np.array([0.0, 0.0, 1.0]) if xyz is None else numbers(xyz.text, 3, xyz.where, "xyz")
        in_model = axis is not None and (axis.first("use_parent_model_frame") or axis).text in ("1", "true")
        named = "" if xyz is None else xyz.get("expressed_in") or ""
        R = np.eye(3) if in_model or named == "__model__" else joint.R
        if named and named != "__model__":
            R = poses._reference(named, node, ()).R
        out.append(frame.R.T @ R @ a)
    return out[0], out[1]


def turned(kind: jt.JointType) -> jt.JointType:
    """The joint as seen from its other end, with the same coordinates (but for a ball)."""
    if isinstance(kind, jt.Universal):
        return jt.Universal(tuple(-np.array(kind.axis2)), tuple(-np.array(kind.axis)))
    if isinstance(kind, jt.Helical):
        return jt.Helical(tuple(-np.array(kind.axis)), kind.pitch)
    if isinstance(kind, jt.Revolute | jt.Prismatic):
        return type(kind)(tuple(-np.array(kind.axis)))
    return kind


def joint_figures(node: Node, kind: jt.JointType) -> dict[str, Any]:
    """Limits, damping, friction and spring of a joint."""
    axis = node.first("axis")
    limit = None if axis is None else axis.first("limit")
    dynamics = None if axis is None else axis.first("dynamics")
    out: dict[str, Any] = {}
    if kind.nv == 1 and limit is not None:
        lower, upper = (text_number(limit, k, d, True) for k, d in (("lower", -np.inf), ("upper", np.inf)))
        out["lower"], out["upper"] = (x if abs(x) < 1e15 else np.sign(x) * np.inf for x in (lower, upper))
        if out["lower"] > out["upper"]:
            raise limit.error(f"has lower {lower} above upper {upper}; exchange them")
        for ours, theirs in (("max_force", "effort"), ("max_velocity", "velocity")):
            value = text_number(limit, theirs, -1.0, True)
            if value >= 0:
                out[ours] = value
    if dynamics is not None:
        out["damping"], out["friction"] = (text_number(dynamics, k, 0.0) for k in ("damping", "friction"))
        if kind.nv == 1:
            out["stiffness"] = text_number(dynamics, "spring_stiffness", 0.0)
            out["rest"] = text_number(dynamics, "spring_reference", 0.0)
    return out


def gearbox(node: Node, name: str, entry: dict, draft: Draft, poses: Poses) -> LinearCoupling:
    """theta_2 = -ratio theta_1: angles from the reference body to parent (axis) and child (axis2)."""
    reference = node.need("gearbox_reference_body").text
    ratio = text_number(node, "gearbox_ratio", 1.0)
    names = [reference, node.need("parent").text, node.need("child").text]
    for link in names:
        if link not in entry:
            raise node.error(f"names the link {link!r}, which this model lacks; name one of its links")
    carriers = {j.child: j for j in draft.joints.values()}
    axes = axis_of(node, poses.joint(node, names[2]), Transform.identity(), poses)
    row: dict[str, float] = {}
    for link, axis, factor in ((names[1], axes[0], ratio), (names[2], axes[1], 1.0)):
        for joint, sign in _path(carriers, entry[reference][0], entry[link][0]):
            if joint.type.nv and joint.type.spin_axis is None:
                raise node.error(f"passes joint {joint.name!r} of type {joint.type.name}; gears turn revolute joints")
            if joint.type.nv:
                turn = _direction(joint, entry) @ jt.unit_axis(axis)
                row[joint.name] = row.get(joint.name, 0.0) + factor * sign * float(np.round(turn, 9))
    row = {k: c for k, c in row.items() if c}
    if not row:
        raise node.error("joins links that do not turn against each other; name links that do")
    dependent = max(row, key=lambda k: abs(row[k]))
    others = tuple(k for k in row if k != dependent)
    matrix = np.array([[-row[k] / row[dependent] for k in others]]).reshape(1, len(others))
    return LinearCoupling(name, (dependent,), others, matrix)


def _direction(joint: Joint, entry: dict) -> np.ndarray:
    """A revolute joint's axis in the model's frame, at rest."""
    T = next(T for link, T in entry.values() if link == joint.child)
    return T.R @ np.array(joint.type.axis)  # type: ignore[attr-defined]


def _path(carriers: dict[str, Joint], start: str, end: str) -> list[tuple[Joint, float]]:
    """Joints from one link to another with the sign in which each is passed."""

    def support(link: str) -> list[Joint]:
        out = []
        while link != WORLD and link in carriers:
            out.append(carriers[link])
            link = carriers[link].parent
        return out

    up, down = support(start), support(end)
    while up and down and up[-1] is down[-1]:
        up.pop()
        down.pop()
    return [(j, -1.0) for j in up] + [(j, 1.0) for j in reversed(down)]
