"""URDF's words for types of joints, in the tree and in loops, and kinloop's own for types that URDF lacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from kinloop.io.shared.parse_numbers import attribute, vector
from kinloop.io.shared.safe_xml import Node
from kinloop.model import joints as jt


def _axis(node: Node) -> tuple[float, float, float]:
    axis = node.first("axis")
    with (axis or node).blamed():
        return jt.unit_axis(vector(axis, "xyz", (1.0, 0.0, 0.0)))


def _axis2(node: Node) -> tuple[float, float, float]:
    with node.blamed():
        return jt.unit_axis(vector(node.need("axis2"), "xyz", (0.0, 1.0, 0.0)))


Types = Mapping[str, Callable[[Node], jt.JointType]]

TREE_TYPES: Types = {
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
"""Types of tree joints."""

DRAKE_TYPES: Types = {
    "ball": TREE_TYPES["ball"],
    "planar": TREE_TYPES["planar"],
    "screw": lambda node: jt.Helical(_axis(node), attribute(node.need("drake:screw_thread_pitch"), "value") / math.tau),
    "universal": lambda node: jt.Universal((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
}
"""Types of `drake:joint`: a thread advances by its pitch in a turn, a universal joint turns about x, then y."""

LOOP_TYPES: Types = {**TREE_TYPES, "hinge": TREE_TYPES["revolute"], "free": TREE_TYPES["floating"]}
"""Types of joints that close loops; Isaac and others have more words for them."""
