"""What moves, resists and limits a joint of an SDF model; what kinloop has no place for is listed."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.parse_numbers import attribute, child_number, child_vector
from kinloop.io.shared.safe_xml import Node
from kinloop.model import LinearCoupling
from kinloop.model import joints as jt

NO_LIMIT = 1e15
"""Limits beyond this mean that there is none; SDF's own default is 1e16."""
FORCES = {"damping": "damping", "friction": "friction", "stiffness": "spring_stiffness", "rest": "spring_reference"}
"""Passive forces: our names, and those of SDF's `<dynamics>`."""


def joint_parameters(node: Node, kind: jt.JointType, notes: Notes) -> dict[str, Any]:
    """Limits, armature, damping, friction and spring of a tree joint."""
    if node.tag == "drake:joint":
        return _planar_damping(node, notes)
    axis, axis2 = node.first("axis"), node.first("axis2")
    forces = _forces(axis)
    if kind.nv == 1:
        _warn_of_rest(node, axis2, notes, "has one axis")
        return {**_limits(axis), **_armature(node, axis), **forces}
    if kind.nv == 0:
        return {}
    if kind.nv == 2:
        same = forces == _forces(axis2)
        said = (
            "" if same else ", and its axes differ in damping, friction or spring, which are one number per joint here"
        )
        _warn_of_rest(node, axis, notes, f"has two axes{said}", () if same else FORCES, axis2)
        return forces if same else {}
    _warn_of_rest(node, axis, notes, "is a ball", ("stiffness",), axis2)
    return {k: v for k, v in forces.items() if k in ("damping", "friction")}


def _planar_damping(node: Node, notes: Notes) -> dict[str, Any]:
    """Damping of Drake's planar joint along x and y and about z, where it is one number."""
    x, y, turn = child_vector(node, "drake:damping", (0.0, 0.0, 0.0))
    if x == y == turn:
        return {"damping": x}
    notes.warn(node.where, "has dampings that differ, which are one number per joint here; they are left out", True)
    return {}


def warn_of_loop(node: Node, notes: Notes) -> None:
    """List what a joint that closes a loop says besides its type and axes."""
    _warn_of_rest(node, node.first("axis"), notes, "closes a loop", FORCES, node.first("axis2"))


def _forces(axis: Node | None) -> dict[str, float]:
    dynamics = None if axis is None else axis.first("dynamics")
    return {} if dynamics is None else {ours: child_number(dynamics, tag, 0.0) for ours, tag in FORCES.items()}


def _limits(axis: Node | None) -> dict[str, float]:
    limit = None if axis is None else axis.first("limit")
    if limit is None:
        return {}
    out: dict[str, float] = {}
    lower, upper = (child_number(limit, k, d, True) for k, d in (("lower", -np.inf), ("upper", np.inf)))
    out["lower"], out["upper"] = (x if abs(x) < NO_LIMIT else np.sign(x) * np.inf for x in (lower, upper))
    if out["lower"] > out["upper"]:
        raise limit.error(f"has lower {lower} above upper {upper}; exchange them")
    for ours, theirs in (("max_force", "effort"), ("max_velocity", "velocity")):
        value = child_number(limit, theirs, -1.0, True)
        if value >= 0:
            out[ours] = value
    return out


def _armature(node: Node, axis: Node | None) -> dict[str, float]:
    """Drake's rotor behind a gear: its inertia as felt at the joint."""
    places = [place for place in (node, axis) if place is not None]
    rotor = next((p for p in places if p.first("drake:rotor_inertia") is not None), None)
    if rotor is None:
        return {}
    gear = next((p for p in places if p.first("drake:gear_ratio") is not None), rotor)
    return {"armature": child_number(rotor, "drake:rotor_inertia") * child_number(gear, "drake:gear_ratio", 1.0) ** 2}


def _warn_of_rest(
    node: Node, axis: Node | None, notes: Notes, said: str, forces: Any = FORCES, axis2: Node | None = None
) -> None:
    """List limits, rotors and those of `forces` on axes whose joint cannot have them."""
    words: list[str] = []
    for a in (axis, axis2):
        words += [FORCES[k] for k, v in _forces(a).items() if v and k in forces and k != "rest"]
        words += [k for k, v in _limits(a).items() if np.isfinite(v)]
    if axis is not node.first("axis2") and _armature(node, axis):
        words.append("drake:rotor_inertia")
    if words:
        names = ", ".join(dict.fromkeys(words))
        notes.warn(node.where, f"{said}, so that kinloop has no place for its {names}; left out", dropped=True)


def read_mimics(node: Node, name: str) -> list[tuple[LinearCoupling, Node]]:
    """Couplings of a joint to joints it mimics: q = multiplier (leader - reference) + offset."""
    out = []
    for axis in (*node.all("axis"), *node.all("axis2")):
        for mimic in axis.all("mimic"):
            if axis.tag != "axis" or mimic.get("axis", "axis") != "axis":
                raise mimic.error("couples the second axis of a joint; kinloop couples joints of one axis")
            ratio, offset = child_number(mimic, "multiplier", 1.0), child_number(mimic, "offset", 0.0)
            out.append((mimic, ratio, offset - ratio * child_number(mimic, "reference", 0.0)))
    for mimic in node.all("drake:mimic"):
        out.append((mimic, attribute(mimic, "multiplier", 1.0), attribute(mimic, "offset", 0.0)))
    return [
        (LinearCoupling(f"{name}_mimic", (name,), (m.attribute("joint"),), [[ratio]], [offset]), m)
        for m, ratio, offset in out
    ]
