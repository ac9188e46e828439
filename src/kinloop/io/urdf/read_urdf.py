"""URDF and its dialects: links, joints and mimics here; loops in `loop_tags`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kinloop.errors import unknown
from kinloop.io.gepetto.robot_yaml import add_gepetto_loops
from kinloop.io.shared.exact_poses import origin_pose, turns_nothing
from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.make_mechanism import make_mechanism
from kinloop.io.shared.parse_numbers import attribute, symmetric_matrix, vector
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.reading_options import Options
from kinloop.io.shared.robot_description import Link, RobotDescription
from kinloop.io.shared.safe_xml import Node
from kinloop.io.shared.shape_reader import ShapeReader
from kinloop.io.urdf.loop_tags import LOOP_TAGS, looks_like_a_loop, read_loop
from kinloop.io.urdf.urdf_joint_types import DRAKE_TYPES, TREE_TYPES
from kinloop.io.urdf.urdf_shapes import UrdfShapes
from kinloop.model import Joint, LinearCoupling, Mechanism

SILENT = {
    "material", "transmission", "gazebo", "sensor", "ros2_control", "mujoco", "verbose", "group_state",
    "drake:collision_filter_group",
}  # fmt: skip
"""Elements of a robot that say nothing about its dynamics."""


JOINT_TAGS = {"joint": TREE_TYPES, "drake:joint": DRAKE_TYPES}
"""Tags of joints, and the types that each may have."""

JOINT_PARTS = {
    "parent", "child", "origin", "axis", "axis2", "limit", "dynamics", "mimic", "home", "calibration",
    "safety_controller", "property", "hardwareInterface", "drake:screw_thread_pitch",
}  # fmt: skip
"""What joints are made of; calibration and controllers say nothing about dynamics."""


def read_urdf(root: Node, path: Path, roots: Roots, options: Options, notes: Notes) -> Mechanism:
    """The mechanism of a `<robot>`."""
    description = RobotDescription(root.get("name") or path.stem, root.where, options, notes)
    moving = sum(node.tag in JOINT_TAGS and node.get("type") != "fixed" for node in root)
    if moving > options.limits.bodies:
        raise root.error(f"has {moving} joints that move; limits allow {options.limits.bodies} bodies")
    shapes = UrdfShapes(root, roots, notes, options.limits.shapes)
    for node in root:
        if node.tag == "link":
            description.add_link(read_link(node, shapes))
        elif node.tag in JOINT_TAGS:
            read_joint(description, node)
        elif node.tag in LOOP_TAGS:
            read_loop(description, node)
        elif node.tag == "gravity":
            description.gravity = vector(node)
        else:
            _other(node, notes)
    for node in root.all("transmission"):
        _read_rotor(description, node)
    shapes.report()
    add_gepetto_loops(description, path, roots)
    return make_mechanism(description)


def _read_rotor(description: RobotDescription, node: Node) -> None:
    """Drake's rotor behind the gear of a transmission: an armature of its joint."""
    parts = {part.tag: part for part in node.walk()}
    rotor, gear = parts.get("drake:rotor_inertia"), parts.get("drake:gear_ratio")
    if rotor is None:
        return
    name = node.need("joint").attribute("name")
    if name not in description.joints:
        raise node.error(f"refers to a missing joint: {unknown('joint', name, description.joints)}")
    joint = description.joints[name]
    if joint.type.nv != 1:
        raise rotor.error(f"turns joint {name!r} of type {joint.type.name}; a rotor turns a joint of one coordinate")
    ratio = 1.0 if gear is None else attribute(gear, "value", 1.0)
    with rotor.blamed():
        armature = joint.armature + attribute(rotor, "value") * ratio**2
        description.joints[name] = replace(joint, armature=armature)


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


def read_link(node: Node, shapes: ShapeReader) -> Link:
    """A link with its inertial parameters, about the centre of mass and in the link's axes."""
    link = Link(node.attribute("name"), node.where, geometry=shapes.read(node))
    inertial = node.first("inertial")
    if inertial is None:
        return link
    mass = inertial.first("mass")
    if mass is not None:
        link.mass = attribute(mass, "value")
    if link.mass < 0:
        raise (mass or inertial).error(f"the mass of link {link.name!r} is {link.mass} kg; it must not be negative")
    T = origin_pose(inertial.first("origin"))
    I = inertial.first("inertia")
    if I is not None:
        xx, yy, zz = attribute(I, "ixx"), attribute(I, "iyy"), attribute(I, "izz")
        xy, xz, yz = attribute(I, "ixy", 0.0), attribute(I, "ixz", 0.0), attribute(I, "iyz", 0.0)
        link.inertia = symmetric_matrix(xx, yy, zz, xy, xz, yz)
        if not turns_nothing(T.R):
            turned = T.R @ link.inertia @ T.R.T
            link.inertia = 0.5 * (turned + turned.T)
    link.com = T.p
    return link


def read_joint(description: RobotDescription, node: Node) -> None:
    """A tree joint, and its mimic if it has one."""
    name, kind = node.attribute("name"), node.attribute("type")
    parent, child = (node.need(end).attribute("link") for end in ("parent", "child"))
    types = JOINT_TAGS[node.tag]
    if kind not in types:
        raise node.error(f"has the type {kind!r}; it must be one of {', '.join(types)}")
    axis = node.first("axis")
    if types is DRAKE_TYPES and kind == "universal" and axis is not None:
        description.notes.warn(axis.where, "is no axis of Drake's universal joints, which turn about x, then y", True)
    with node.blamed():
        joint_type = types[kind](node)
        parameters = _parameters(node, kind, description.notes)
        home = node.first("home")
        if home is not None:
            parameters["home"] = tuple(vector(home, "q", (0.0,) * joint_type.nq))
        joint = Joint(name, parent, child, joint_type, origin_pose(node.first("origin")), **parameters)
    description.add_joint(joint, node.where)
    for part in node:
        if part.tag not in JOINT_PARTS:
            reason = f"is no part of {node.where.element} that kinloop knows; it is left out"
            description.notes.warn(part.where, reason, dropped=True)
    _warn_of_limits(node, joint, description.notes)
    flag = node.get("independent")
    if flag is not None and flag not in ("true", "True"):
        description.dependent.add(name)
    mimic = node.first("mimic")
    if mimic is not None and joint.type.nv == 0:
        description.notes.warn(mimic.where, f"stands in joint {name!r}, which is fixed; it has no effect")
    elif mimic is not None:
        ratio, offset = attribute(mimic, "multiplier", 1.0), attribute(mimic, "offset", 0.0)
        coupling = LinearCoupling(f"{name}_mimic", (name,), (mimic.attribute("joint"),), [[ratio]], [offset])
        description.add_coupling(coupling, mimic.where)


def _warn_of_limits(node: Node, joint: Joint, notes: Notes) -> None:
    """Note bounds of positions on joints that have more than one coordinate, or none that ends."""
    limit = node.first("limit")
    given = [key for key in ("lower", "upper") if limit is not None and limit.get(key)]
    if limit is not None and joint.type.nv > 1 and any(attribute(limit, key, unbounded=True) for key in given):
        reason = f"bounds the position of joint {joint.name!r} of type {joint.type.name}, which has no bounds here"
        notes.warn(limit.where, f"{reason}; it is left out", dropped=True)


def _parameters(node: Node, kind: str, notes: Notes) -> dict[str, Any]:
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
            if key == "damping" and kind == "planar" and len((dynamics.get(key) or "").split()) == 3:
                x, y, turn = vector(dynamics, key)
                if x != y or y != turn:
                    notes.warn(dynamics.where, "has dampings that differ, which are one number per joint here", True)
                out |= {key: x} if x == y == turn else {}
            elif dynamics.get(key) is not None:
                out[key] = attribute(dynamics, key)
    return out
