"""URDF and its dialects: links, joints, mimics here; loops in `urdf_loops`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kinloop.io.gepetto.robot_yaml import add_gepetto_loops
from kinloop.io.shared.draft import Draft
from kinloop.io.shared.entries import Link, Options
from kinloop.io.shared.failure import Notes
from kinloop.io.shared.parse_numbers import attribute, pose_of, vector
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Node
from kinloop.io.shared.shape_tags import Shapes
from kinloop.io.urdf.loop_tags import LOOP_TAGS, looks_like_a_loop, read_loop
from kinloop.model import Joint, LinearCoupling, Mechanism
from kinloop.model import joints as jt

SILENT = {
    "material", "transmission", "gazebo", "sensor", "ros2_control", "mujoco", "verbose", "group_state",
    "drake:collision_filter_group",
}  # fmt: skip
"""Elements of a robot that say nothing about its dynamics."""


def read_urdf(robot: Node, path: Path, roots: Roots, options: Options, notes: Notes) -> Mechanism:
    """The mechanism of a `<robot>`."""
    draft = Draft(robot.get("name") or path.stem, robot.where, options, notes)
    shapes = Shapes(roots, notes, options.limits.shapes)
    moving = sum(node.tag == "joint" and node.get("type") != "fixed" for node in robot)
    if moving > options.limits.bodies:
        raise robot.error(f"has {moving} joints that move; limits allow {options.limits.bodies} bodies")
    shapes.named_materials(robot)
    for node in robot:
        if node.tag == "link":
            draft.add_link(read_link(node, shapes))
        elif node.tag == "joint":
            read_joint(draft, node)
        elif node.tag in LOOP_TAGS:
            read_loop(draft, node)
        elif node.tag == "gravity":
            draft.gravity = vector(node)
        else:
            _other(node, notes)
    shapes.report()
    add_gepetto_loops(draft, path, roots)
    return draft.finish()


def _other(node: Node, notes: Notes) -> None:
    """What is neither link, joint nor loop: silent, noted, or an error if it may close a loop."""
    if node.tag in SILENT:
        for part in node.walk() if node.tag == "gazebo" else ():
            if part.tag == "joint" and part.first("parent") is not None and part.first("child") is not None:
                notes.warn(
                    part.where, "is a joint for Gazebo only; write it as a <loop> to close it here", dropped=True
                )
        return
    if looks_like_a_loop(node.tag):
        raise node.error(
            f"looks like a loop, but is none of {', '.join(sorted(LOOP_TAGS))}; write it as one of these, or remove it"
        )
    notes.warn(node.where, "is not an element of URDF that kinloop knows; it is left out", dropped=True)


def read_link(node: Node, shapes: Shapes) -> Link:
    """A link with its inertial figures, about the centre of mass and in the link's axes."""
    link = Link(node.attribute("name"), node.where, geometry=shapes.read(node))
    inertial = node.first("inertial")
    if inertial is None:
        return link
    mass = inertial.first("mass")
    if mass is not None:
        link.mass = attribute(mass, "value")
    if link.mass < 0:
        raise (mass or inertial).error(f"the mass of link {link.name!r} is {link.mass} kg; it must not be negative")
    T = pose_of(inertial.first("origin"))
    I = inertial.first("inertia")
    if I is not None:
        xx, yy, zz = (attribute(I, k) for k in ("ixx", "iyy", "izz"))
        xy, xz, yz = (attribute(I, k, 0.0) for k in ("ixy", "ixz", "iyz"))
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        turned = T.R @ tensor @ T.R.T
        link.inertia = tensor if np.array_equal(T.R, np.eye(3)) else 0.5 * (turned + turned.T)
    link.com = T.p
    return link


def read_joint(draft: Draft, node: Node) -> None:
    """A tree joint, and its mimic if it has one."""
    name, kind = node.attribute("name"), node.attribute("type")
    parent, child = (node.need(end).attribute("link") for end in ("parent", "child"))
    if kind not in TYPES:
        raise node.error(f"has the type {kind!r}; it must be one of {', '.join(TYPES)}")
    with node.where.blamed():
        joint_type = TYPES[kind](node)
        figures = _figures(node, kind)
        home = node.first("home")
        if home is not None:
            figures["home"] = tuple(vector(home, "q", (0.0,) * joint_type.nq))
        joint = Joint(name, parent, child, joint_type, pose_of(node.first("origin")), **figures)
    draft.add_joint(joint, node.where)
    flag = node.get("independent")
    if flag is not None and flag not in ("true", "True"):
        draft.dependent.add(name)
    mimic = node.first("mimic")
    if mimic is not None and joint.type.nv == 0:
        draft.notes.warn(mimic.where, f"stands in joint {name!r}, which is fixed; it has no effect")
    elif mimic is not None:
        ratio, offset = attribute(mimic, "multiplier", 1.0), attribute(mimic, "offset", 0.0)
        coupling = LinearCoupling(f"{name}_mimic", (name,), (mimic.attribute("joint"),), [[ratio]], [offset])
        draft.add_coupling(coupling, mimic.where)


def _axis(node: Node) -> tuple[float, float, float]:
    axis = node.first("axis")
    with (axis or node).where.blamed():
        return jt.unit_axis(vector(axis, "xyz", (1.0, 0.0, 0.0)))


def _axis2(node: Node) -> tuple[float, float, float]:
    with node.where.blamed():
        return jt.unit_axis(vector(node.need("axis2"), "xyz", (0.0, 1.0, 0.0)))


TYPES = {
    "revolute": lambda node: jt.Revolute(_axis(node)),
    "continuous": lambda node: jt.Revolute(_axis(node)),
    "prismatic": lambda node: jt.Prismatic(_axis(node)),
    "fixed": lambda node: jt.Fixed(),
    "floating": lambda node: jt.Free(),
    "planar": lambda node: jt.Planar(_axis(node)),
    "spherical": lambda node: jt.Spherical(),
    "ball": lambda node: jt.Spherical(),
    "helical": lambda node: jt.Helical(_axis(node), attribute(node.need("axis"), "pitch")),
    "cylindrical": lambda node: jt.Cylindrical(_axis(node)),
    "universal": lambda node: jt.Universal(_axis(node), _axis2(node)),
}
"""Joint types: URDF's own, and those of kinloop that URDF has no word for."""


def _figures(node: Node, kind: str) -> dict[str, Any]:
    """Limits, damping, friction, and (beyond URDF) armature and spring of a joint."""
    out: dict[str, Any] = {}
    limit, dynamics = node.first("limit"), node.first("dynamics")
    if limit is not None:
        if kind in ("revolute", "prismatic", "helical") and (limit.get("lower") or limit.get("upper")):
            out["lower"] = attribute(limit, "lower", 0.0, unbounded=True)
            out["upper"] = attribute(limit, "upper", 0.0, unbounded=True)
            if out["lower"] > out["upper"]:
                raise limit.error(f"has lower {out['lower']} above upper {out['upper']}; exchange them")
        for ours, theirs in (("max_velocity", "velocity"), ("max_force", "effort")):
            if limit.get(theirs) is not None:
                out[ours] = abs(attribute(limit, theirs, unbounded=True))
    if dynamics is not None:
        for key in ("damping", "friction", "armature", "stiffness", "rest"):
            if dynamics.get(key) is not None:
                out[key] = attribute(dynamics, key)
    return out
