"""The words URDF's dialects have for loops: URDF+, Isaac's loop_joint, Drake's ball constraint."""

from __future__ import annotations

import re

import numpy as np

from kinloop.io.shared.exact_poses import origin_pose
from kinloop.io.shared.parse_numbers import attribute, numbers
from kinloop.io.shared.robot_description import PathCoupling, RobotDescription
from kinloop.io.shared.safe_xml import Node
from kinloop.io.urdf.urdf_joint_types import LOOP_TYPES
from kinloop.model import Coupling, LinearCoupling, LoopJoint, PolynomialCoupling, Rod, placement
from kinloop.model import joints as jt

UNFELT = ("dynamics", "limit", "mimic", "calibration", "safety_controller", "inertial")
LOOP_PARTS = (
    "predecessor", "successor", "axis", "axis2", "ratio", "dependent", "link1", "link2", "body_A", "body_B", "p_AP",
    "p_BQ", "ball_constraint_body_A", "ball_constraint_body_B", "ball_constraint_p_AP", "ball_constraint_p_BQ",
)  # fmt: skip
"""What loop elements are made of, and parts of joints that have no effect in a loop."""
MOST_JOINTS = 1_000
"""How many joints one coupling may make follow, and how many they may follow."""
_SUSPECT = re.compile(r"loop|constraint|coupling|closure|equality|gearbox|linkage|mimic|weld", re.IGNORECASE)


def looks_like_a_loop(tag: str) -> bool:
    return bool(_SUSPECT.search(tag))


def read_loop(robot: RobotDescription, node: Node) -> None:
    """Add what one loop element says to the robot; forces and limits in a loop are left out with a warning."""
    LOOP_TAGS[node.tag](robot, node)
    for part in node:
        if part.tag in UNFELT:
            robot.notes.warn(
                part.where, f"stands in {node.where.element}, where kinloop feels no such force; it is left out", True
            )
        elif part.tag not in LOOP_PARTS and not part.tag.startswith("drake:"):
            robot.notes.warn(part.where, f"is no part of {node.where.element} that kinloop knows; it is left out", True)


def _type(node: Node, kind: str) -> jt.JointType:
    if kind not in LOOP_TYPES:
        known = "revolute, continuous, prismatic, planar, fixed, spherical, universal, cylindrical, helical, rod"
        raise node.error(f"has the type {kind!r}; it must be one of {known}")
    with node.blamed():
        return LOOP_TYPES[kind](node)


def _urdf_plus_loop(robot: RobotDescription, node: Node) -> None:
    name, kind = node.attribute("name"), node.attribute("type")
    ends = [node.need(end) for end in ("predecessor", "successor")]
    P, S = (end.attribute("link") for end in ends)
    T_P, T_S = (origin_pose(end.first("origin")) for end in ends)
    with node.blamed():
        if kind == "rod":
            robot.add_loop(Rod(name, P, S, T_P.p, T_S.p, attribute(node, "length")), node.where)
        else:
            robot.add_loop(LoopJoint(name, P, S, _type(node, kind), T_P, T_S), node.where)


def _urdf_plus_coupling(robot: RobotDescription, node: Node) -> None:
    name = node.attribute("name")
    if node.first("dependent") is not None:
        robot.add_coupling(_joint_coupling(name, node), node.where)
        return
    P, S = (node.need(end).attribute("link") for end in ("predecessor", "successor"))
    ratio = node.first("ratio")
    value = 1.0 if ratio is None else attribute(ratio, "value", 1.0)
    robot.add_coupling(PathCoupling(name, P, S, value), node.where)


def _joint_coupling(name: str, node: Node) -> Coupling:
    """kinloop's own form: `<dependent joint offset>` with `<term joint ratio>`s, or with coefficients."""
    rows = node.all("dependent")
    dependent = tuple(row.attribute("joint") for row in rows)
    text = rows[0].get("coefficients")
    with node.blamed():
        if text is not None:
            words = text.split()
            if len(rows) > 1 or not 1 <= len(words) <= 50:
                raise rows[0].error("a polynomial has one dependent joint and 1 to 50 coefficients")
            values = tuple(float(x) for x in numbers(text, len(words), rows[0], "coefficients"))
            return PolynomialCoupling(name, dependent, (rows[0].need("term").attribute("joint"),), values)
        terms = [(k, t) for k, row in enumerate(rows) for t in row.all("term")]
        joints = {name: k for k, name in enumerate(dict.fromkeys(t.attribute("joint") for _, t in terms))}
        if max(len(rows), len(joints)) > MOST_JOINTS:
            raise node.error(f"couples {len(rows)} joints to {len(joints)}; {MOST_JOINTS} may follow as many")
        matrix = np.zeros((len(rows), len(joints)))
        for k, t in terms:
            matrix[k, joints[t.attribute("joint")]] += attribute(t, "ratio", 1.0)
        offsets = [attribute(row, "offset", 0.0) for row in rows]
        return LinearCoupling(name, dependent, tuple(joints), matrix, offsets)


def _isaac_loop(robot: RobotDescription, node: Node) -> None:
    name, kind = node.attribute("name"), node.attribute("type")
    ends = [node.need(end) for end in ("link1", "link2")]
    P, S = (end.attribute("link") for end in ends)
    robot.add_loop(LoopJoint(name, P, S, _type(node, kind), origin_pose(ends[0]), origin_pose(ends[1])), node.where)


def _drake_ball(robot: RobotDescription, node: Node) -> None:
    """body_A, body_B, p_AP, p_BQ, with or without Drake's prefixes, as attribute or text."""
    found: dict[str, tuple[str, Node]] = {}
    for child in node:
        key = child.tag.removeprefix("drake:").removeprefix("ball_constraint_")
        found[key] = (child.get("name") or child.get("value") or child.text, child)
    for key in ("body_A", "body_B"):
        if key not in found or not found[key][0]:
            raise node.error(f'names no {key}; add <drake:ball_constraint_{key} name="..."/>')
    points = [
        numbers(found[key][0], 3, found[key][1], key) if key in found else np.zeros(3) for key in ("p_AP", "p_BQ")
    ]
    name = node.get("name") or f"ball_constraint_{len(robot.loops)}"
    with node.blamed():
        frames = [placement(p) for p in points]
    robot.add_loop(LoopJoint(name, found["body_A"][0], found["body_B"][0], jt.Spherical(), *frames), node.where)


def _drake_bushing(robot: RobotDescription, node: Node) -> None:
    robot.notes.warn(node.where, "is a soft bushing, which kinloop does not model; it is left out", dropped=True)


LOOP_TAGS = {
    "loop": _urdf_plus_loop,
    "coupling": _urdf_plus_coupling,
    "loop_joint": _isaac_loop,
    "drake:ball_constraint": _drake_ball,
    "drake:linear_bushing_rpy": _drake_bushing,
}
"""Elements of a robot that close loops, and who reads them."""
