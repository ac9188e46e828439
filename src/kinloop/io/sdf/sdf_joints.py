"""Joints of an SDF model: their types and axes, from either end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinloop.io.sdf.sdf_poses import Poses
from kinloop.io.shared.parse_numbers import child_number, child_truth, numbers
from kinloop.io.shared.safe_xml import Node
from kinloop.model import joints as jt
from kinloop.spatial import Transform

Axes = tuple[np.ndarray, np.ndarray]


@dataclass(eq=False)
class SdfJoint:
    """A joint of the file: its ends and the pose of its frame in the model at rest."""

    node: Node
    name: str
    kind: str
    parent: str
    child: str
    at: Transform

    def type_in(self, frame: Transform, poses: Poses) -> jt.JointType:
        """The type of the joint, its axes in the axes of `frame` (a pose in the model)."""
        return type_maker(self.node, self.kind)(axes_of(self.node, self.at, frame, poses))


def type_maker(node: Node, kind: str) -> Callable[[Axes], jt.JointType]:
    """What makes a joint type of SDF's type name from the two axes."""
    if kind in ("revolute", "continuous", "hinge"):
        return lambda axes: jt.Revolute(jt.unit_axis(axes[0]))
    if kind == "prismatic":
        return lambda axes: jt.Prismatic(jt.unit_axis(axes[0]))
    if kind in ("universal", "revolute2"):
        return lambda axes: jt.Universal(jt.unit_axis(axes[0]), jt.unit_axis(axes[1]))
    if kind == "screw":
        pitch = _pitch(node)
        return lambda axes: jt.Helical(jt.unit_axis(axes[0]), pitch)
    if kind in ("ball", "fixed"):
        return lambda axes: jt.Spherical() if kind == "ball" else jt.Fixed()
    if kind == "planar":
        return lambda axes: jt.Planar(jt.unit_axis(axes[0]))
    known = "revolute, continuous, prismatic, universal, screw, ball, fixed, gearbox"
    raise node.error(f"has the type {kind!r}; it must be one of {known}")


def _pitch(node: Node) -> float:
    """The advance of a screw [m/rad]: from metres per turn, or from SDF 1.9's radians per metre, left-handed."""
    old = node.first("thread_pitch")
    if old is None or node.first("screw_thread_pitch") is not None:
        return child_number(node, "screw_thread_pitch", 1.0) / (2 * np.pi)
    turns = child_number(node, "thread_pitch", 1.0)
    if not turns:
        raise old.error("is 0 radians per metre, a screw of endless pitch; write a prismatic joint")
    return -1.0 / turns


def axes_of(node: Node, joint: Transform, frame: Transform, poses: Poses) -> Axes:
    """Both axes of a joint in the axes of `frame` (poses in the model)."""
    out = []
    for tag in ("axis", "axis2"):
        axis = node.first(tag)
        xyz = None if axis is None else axis.first("xyz")
        a = np.array([0.0, 0.0, 1.0]) if xyz is None else numbers(xyz.text, 3, xyz, "xyz")
        in_model = axis is not None and child_truth(axis, "use_parent_model_frame")
        named = "" if xyz is None else xyz.get("expressed_in") or ""
        R = np.eye(3) if in_model or named == "__model__" else joint.R
        if named and named != "__model__":
            R = poses.frame(named, node).R
        out.append(frame.R.T @ R @ a)
    return out[0], out[1]


def turned_round(kind: jt.JointType) -> jt.JointType:
    """The joint as seen from its other end, with the same coordinates (but for a ball)."""
    if isinstance(kind, jt.Universal):
        return jt.Universal(tuple(-np.array(kind.axis2)), tuple(-np.array(kind.axis)))
    if isinstance(kind, jt.Helical):
        return jt.Helical(tuple(-np.array(kind.axis)), kind.pitch)
    if isinstance(kind, jt.Revolute | jt.Prismatic):
        return type(kind)(tuple(-np.array(kind.axis)))
    return kind
