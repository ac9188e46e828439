"""Gepetto's `robot.yaml` beside a URDF: which frames close loops, and which joints are of another type."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from kinloop.io.gepetto.yaml_subset import YamlValue, parse_yaml
from kinloop.io.shared.file_errors import Where
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.robot_description import RobotDescription
from kinloop.io.shared.whole_files import read_bytes
from kinloop.model import LoopJoint
from kinloop.model import joints as jt

KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
LARGEST_FILE = 1_000_000
"""A YAML file beside a URDF is read up to this size [bytes]."""
_TYPES = {"6d": jt.Fixed, "3d": jt.Spherical}
_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
_JOINTS: dict[str, jt.JointType | None] = {
    "SPHERICAL": jt.Spherical(), "REVOLUTE": None, "FIXED": jt.Fixed(), "FREEFLYER": jt.Free(),
    **{f"UJOINT_{a}{b}": jt.Universal(_AXES[a], _AXES[b]) for a in _AXES for b in _AXES if a != b},
}  # fmt: skip
"""Types that joints of the URDF are given; a revolute one stays as it is."""


def add_gepetto_loops(robot: RobotDescription, path: Path, roots: Roots) -> None:
    """Add the loops of a YAML file beside the URDF, if there is one that speaks of loops."""
    for name in dict.fromkeys((f"{path.stem}.yaml", "robot.yaml")):
        beside = path.parent / name
        if not beside.is_symlink() and not beside.is_file():
            continue
        where = Where(str(beside))
        real = roots.inside(beside)
        if real is None:
            raise where.error("lies outside the model's directory and declared packages; put the file itself there")
        text = read_bytes(real, LARGEST_FILE, where).decode("utf-8", errors="replace")
        if re.search(r"^\s*(closed_loop|joint_type)\s*:", text, re.MULTILINE):
            _apply(robot, parse_yaml(text, KEYS, where), where)
            return


def _apply(robot: RobotDescription, content: dict[str, tuple[YamlValue, Where]], where: Where) -> None:
    nowhere: tuple[YamlValue, Where] = ([], where)
    names, place = content.get("joint_name", nowhere)
    kinds, _ = content.get("joint_type", nowhere)
    for name, kind in zip(_words(names, place), _words(kinds, place), strict=False):
        _retype(robot, name, kind, place)
    loops, place = content.get("closed_loop", nowhere)
    types = _words(content.get("type", nowhere)[0], place)
    if not isinstance(loops, list):
        raise place.error("closed_loop must be a list of pairs of frames")
    for k, pair in enumerate(loops):
        ends = _words(pair, place) if isinstance(pair, list) else []
        if len(ends) != 2:
            raise place.error(f"closed_loop number {k + 1} is {pair!r}; it must name two frames")
        kind = types[k].lower() if k < len(types) else "6d"
        if kind not in _TYPES:
            raise place.error(f"type {types[k]!r} of closed_loop number {k + 1} must be 3d or 6d")
        P, S = (_link(robot, end, place) for end in ends)
        robot.add_loop(LoopJoint(f"closed_loop_{k + 1}", P, S, _TYPES[kind]()), place)
    robot.motors += _words(content.get("name_mot", nowhere)[0], where)


def _link(robot: RobotDescription, name: str, where: Where) -> str:
    """A frame is a link, or the link that a joint of that name carries."""
    if name in robot.joints and name not in robot.links:
        return robot.joints[name].child
    return robot.known_link(name, where)


def _retype(robot: RobotDescription, name: str, kind: str, where: Where) -> None:
    if name not in robot.joints:
        raise where.error(f"joint_name {name!r} is not a joint of the URDF; name one of its joints")
    if kind.upper() not in _JOINTS:
        raise where.error(f"joint_type {kind!r} of joint {name!r} must be one of {', '.join(_JOINTS)}")
    made = _JOINTS[kind.upper()]
    if made is None:
        return
    joint = robot.joints[name]
    with where.blamed():
        robot.joints[name] = replace(joint, type=made, lower=-np.inf, upper=np.inf)
    if np.isfinite(joint.lower) or np.isfinite(joint.upper):
        reason = (
            f"makes joint {name!r} {kind}, which has no bounds of its position here; those of the URDF are left out"
        )
        robot.notes.warn(where, reason, dropped=True)


def _words(value: YamlValue, where: Where) -> list[str]:
    found = [value] if isinstance(value, str) else value
    words = [x for x in found if isinstance(x, str)]
    if len(words) != len(found):
        raise where.error(f"{value!r} must be a list of names")
    return words
