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


class Gearboxes:
    """Reads the gearboxes of a model whose links have their places."""

    def __init__(self, placed: Placed, joints: Mapping[str, Joint], poses: Poses) -> None:
        self.placed, self.poses = placed, poses
        self.carriers = {j.child: j for j in joints.values()}
        self.turns = dict(placed.values())
        """The pose of every link of the description, at rest."""

    def read(self, node: Node, name: str) -> LinearCoupling:
        """theta_2 = -ratio theta_1: angles from the reference body to parent (axis) and child (axis2)."""
        reference = node.need("gearbox_reference_body").text
        ratio = child_number(node, "gearbox_ratio", 1.0)
        names = [reference, node.need("parent").text, node.need("child").text]
        for link in names:
            if link not in self.placed:
                raise node.error(f"names the link {link!r}, which this model lacks; name one of its links")
        axes = axes_of(node, self.poses.joint(node, names[2]), Transform.identity(), self.poses)
        row: dict[str, float] = {}
        for link, axis, factor in ((names[1], axes[0], ratio), (names[2], axes[1], 1.0)):
            along = jt.unit_axis(axis)
            for joint, sign in _path(self.carriers, self.placed[reference][0], self.placed[link][0]):
                if joint.type.nv == 0:
                    continue
                if joint.type.spin_axis is None:
                    raise node.error(
                        f"passes joint {joint.name!r} of type {joint.type.name}; gears turn revolute joints"
                    )
                turn = self.turns[joint.child].R @ np.array(joint.type.spin_axis) @ along
                row[joint.name] = row.get(joint.name, 0.0) + factor * sign * float(np.round(turn, 9))
        return _solved(node, name, {k: c for k, c in row.items() if c})


def _solved(node: Node, name: str, row: Mapping[str, float]) -> LinearCoupling:
    """sum of row * q = 0, solved for the joint with the largest factor."""
    if not row:
        raise node.error("joins links that do not turn against each other; name links that do")
    dependent = max(row, key=lambda k: abs(row[k]))
    others = tuple(k for k in row if k != dependent)
    matrix = np.array([[-row[k] / row[dependent] for k in others]]).reshape(1, len(others))
    return LinearCoupling(name, (dependent,), others, matrix)


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
