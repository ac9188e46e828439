"""Joints of an SDF model: their types, axes and parameters, from either end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop.io.sdf.sdf_poses import Poses
from kinloop.io.shared.parse_numbers import child_number, numbers
from kinloop.io.shared.safe_xml import Node
from kinloop.model import joints as jt
from kinloop.spatial import Transform

Axes = tuple[np.ndarray, np.ndarray]

NO_LIMIT = 1e15
"""Limits beyond this mean that there is none; SDF's own default is 1e16."""


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
        pitch = child_number(node, "thread_pitch" if node.first("thread_pitch") else "screw_thread_pitch", 1.0)
        scale = -1.0 if node.first("thread_pitch") else 1.0 / (2 * np.pi)
        return lambda axes: jt.Helical(jt.unit_axis(axes[0]), pitch * scale)
    if kind in ("ball", "fixed"):
        return lambda axes: jt.Spherical() if kind == "ball" else jt.Fixed()
    known = "revolute, continuous, prismatic, universal, screw, ball, fixed, gearbox"
    raise node.error(f"has the type {kind!r}; it must be one of {known}")


def axes_of(node: Node, joint: Transform, frame: Transform, poses: Poses) -> Axes:
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


def joint_parameters(node: Node, kind: jt.JointType) -> dict[str, Any]:
    """Limits, damping, friction and spring of a joint."""
    axis = node.first("axis")
    limit = None if axis is None else axis.first("limit")
    dynamics = None if axis is None else axis.first("dynamics")
    out: dict[str, Any] = {}
    if kind.nv == 1 and limit is not None:
        lower, upper = (child_number(limit, k, d, True) for k, d in (("lower", -np.inf), ("upper", np.inf)))
        out["lower"], out["upper"] = (x if abs(x) < NO_LIMIT else np.sign(x) * np.inf for x in (lower, upper))
        if out["lower"] > out["upper"]:
            raise limit.error(f"has lower {lower} above upper {upper}; exchange them")
        for ours, theirs in (("max_force", "effort"), ("max_velocity", "velocity")):
            value = child_number(limit, theirs, -1.0, True)
            if value >= 0:
                out[ours] = value
    if dynamics is not None:
        out["damping"], out["friction"] = (child_number(dynamics, k, 0.0) for k in ("damping", "friction"))
        if kind.nv == 1:
            out["stiffness"] = child_number(dynamics, "spring_stiffness", 0.0)
            out["rest"] = child_number(dynamics, "spring_reference", 0.0)
    return out
