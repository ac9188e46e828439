"""Gearboxes of an SDF model as linear couplings of the joints between their links."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinloop.io.sdf.sdf_joints import axes_of
from kinloop.io.sdf.sdf_poses import Poses
from kinloop.io.shared.parse_numbers import child_number
from kinloop.io.shared.safe_xml import Node
from kinloop.model import WORLD, Joint, LinearCoupling
from kinloop.model import joints as jt
from kinloop.spatial import Transform

Placed = Mapping[str, tuple[str, Transform]]
"""By the file's name of a link: the name of the link it became, and that link's pose in the model at rest."""


def read_gearbox(node: Node, name: str, placed: Placed, joints: Mapping[str, Joint], poses: Poses) -> LinearCoupling:
    """theta_2 = -ratio theta_1: angles from the reference body to parent (axis) and child (axis2)."""
    reference = node.need("gearbox_reference_body").text
    ratio = child_number(node, "gearbox_ratio", 1.0)
    names = [reference, node.need("parent").text, node.need("child").text]
    for link in names:
        if link not in placed:
            raise node.error(f"names the link {link!r}, which this model lacks; name one of its links")
    carriers = {j.child: j for j in joints.values()}
    axes = axes_of(node, poses.joint(node, names[2]), Transform.identity(), poses)
    row: dict[str, float] = {}
    for link, axis, factor in ((names[1], axes[0], ratio), (names[2], axes[1], 1.0)):
        for joint, sign in _path(carriers, placed[reference][0], placed[link][0]):
            if joint.type.nv == 0:
                continue
            if joint.type.spin_axis is None:
                raise node.error(f"passes joint {joint.name!r} of type {joint.type.name}; gears turn revolute joints")
            turn = _direction(joint.child, joint.type.spin_axis, placed) @ jt.unit_axis(axis)
            row[joint.name] = row.get(joint.name, 0.0) + factor * sign * float(np.round(turn, 9))
    row = {k: c for k, c in row.items() if c}
    if not row:
        raise node.error("joins links that do not turn against each other; name links that do")
    dependent = max(row, key=lambda k: abs(row[k]))
    others = tuple(k for k in row if k != dependent)
    matrix = np.array([[-row[k] / row[dependent] for k in others]]).reshape(1, len(others))
    return LinearCoupling(name, (dependent,), others, matrix)


def _direction(child: str, axis: jt.Axis, placed: Placed) -> np.ndarray:
    """The axis of the joint that carries a link, in the model's frame, at rest."""
    R = next(T.R for link, T in placed.values() if link == child)
    direction: np.ndarray = R @ np.array(axis)
    return direction


def _path(carriers: Mapping[str, Joint], start: str, end: str) -> list[tuple[Joint, float]]:
    """Joints from one link to another with the sign in which each is passed."""
    up, down = _support(carriers, start), _support(carriers, end)
    while up and down and up[-1] is down[-1]:
        up.pop()
        down.pop()
    return [(j, -1.0) for j in up] + [(j, 1.0) for j in reversed(down)]


def _support(carriers: Mapping[str, Joint], link: str) -> list[Joint]:
    """Joints between a link and the world, the nearest first."""
    out = []
    while link != WORLD and link in carriers:
        out.append(carriers[link])
        link = carriers[link].parent
    return out
