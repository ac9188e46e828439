"""Links of an SDF model: mass, inertia and shapes, in the frame of the body they become."""

from __future__ import annotations

import numpy as np

from kinloop.io.sdf.sdf_shapes import SdfShapes
from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.parse_numbers import child_number, symmetric_matrix, truth
from kinloop.io.shared.robot_description import Link
from kinloop.io.shared.safe_xml import Node
from kinloop.spatial import Transform


def read_link(node: Node, name: str, at: Transform, shapes: SdfShapes, notes: Notes) -> Link:
    """A link; its own frame lies at `at` in its body."""
    link = Link(name, node.where, mass=1.0, inertia=np.eye(3))
    inertial = node.first("inertial")
    if inertial is None:
        notes.warn(node.where, "has no inertial; SDF gives it 1 kg and 1 kg m^2 about every axis")
        link.com = at.p
    else:
        _read_inertial(link, inertial, at.then(shapes.poses.in_link(inertial)))
    link.geometry += shapes.read(node, at)
    return link


def _read_inertial(link: Link, inertial: Node, T: Transform) -> None:
    """Mass and inertia of a link whose inertial frame lies at T in its body."""
    if truth(inertial.get("auto") or "false", inertial, "auto"):
        raise inertial.error("asks for an inertia made from collision shapes; write mass and inertia as numbers")
    link.mass, link.com = child_number(inertial, "mass", 1.0), T.p
    if link.mass < 0:
        raise inertial.error(f"the mass of link {link.name!r} is {link.mass} kg; it must not be negative")
    I = inertial.first("inertia")
    if I is not None:
        xx, yy, zz = (child_number(I, k, 1.0) for k in ("ixx", "iyy", "izz"))
        xy, xz, yz = (child_number(I, k, 0.0) for k in ("ixy", "ixz", "iyz"))
        link.inertia = symmetric_matrix(xx, yy, zz, xy, xz, yz)
    turned = T.R @ link.inertia @ T.R.T
    link.inertia = 0.5 * (turned + turned.T)
