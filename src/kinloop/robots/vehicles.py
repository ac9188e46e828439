"""Vehicles with local loops: suspensions and coupled wheels, the examples of Jain2009."""

from __future__ import annotations

import numpy as np

from kinloop.model import Builder, Geometry, pose
from kinloop.robots.solid_inertias import bar, box, disc

_CORNERS = (("front_left", 1, 1), ("front_right", 1, -1), ("rear_left", -1, 1), ("rear_right", -1, -1))


def _chassis(name: str, mass: float, x: float, y: float, z: float) -> Builder:
    b = Builder(name)
    b.body("chassis", joint="free", **box(mass, x, y, z))
    return b


def _wheel(b: Builder, name: str, carrier: str, at: tuple[float, float, float], mass: float, radius: float) -> str:
    """A wheel that turns about y, drawn as the disc it is; returns its joint's name."""
    width = 0.4 * radius
    shape = Geometry("cylinder", (radius, width), pose(rpy=(np.pi / 2, 0.0, 0.0)), role="visual")
    return b.body(f"{name}_wheel", carrier, axis="y", at=at, geometry=(shape,), **disc(mass, radius, width, "y"))


def wishbone() -> Builder:
    """A car on four double-wishbone suspensions, each a planar four-bar with a wheel on its upright.

    Link a is the lower arm, c the upper one, b the upright between them; the cut is the hinge of b and c.
    """
    b = _chassis("wishbone", 600.0, 3.0, 0.8, 0.5)
    for corner, forward, left in _CORNERS:
        x = 1.25 * forward
        lower = b.body(f"{corner}_a", "chassis", axis="x", at=(x, 0.3 * left, -0.1), **bar(4.0, 0.35, 0.04, "y", left))
        b.body(f"{corner}_b", f"{corner}_a", axis="x", at=(0, 0.35 * left, 0), **bar(6.0, 0.2, 0.06, "z"))
        b.body(f"{corner}_c", "chassis", axis="x", at=(x, 0.37 * left, 0.1), **bar(3.0, 0.28, 0.04, "y", left))
        _wheel(b, corner, f"{corner}_b", (0, 0.1 * left, 0.1), 15.0, 0.3)
        b.loop(
            f"{corner}_hinge", f"{corner}_b", f"{corner}_c", axis="x", at=(0, 0, 0.2), at_successor=(0, 0.28 * left, 0)
        )
        b.independent.append(lower)
    return b


def rocker() -> Builder:
    """A rover on two rockers that a differential turns against each other, four free wheels."""
    b = _chassis("rocker", 20.0, 0.6, 0.4, 0.2)
    joints = {}
    for side, left in (("left", 1), ("right", -1)):
        joints[side] = b.body(f"{side}_rocker", "chassis", axis="y", at=(0, 0.3 * left, 0), **box(3.0, 0.7, 0.04, 0.06))
        for end, forward in (("front", 1), ("rear", -1)):
            _wheel(b, f"{end}_{side}", f"{side}_rocker", (0.35 * forward, 0.08 * left, -0.15), 1.0, 0.12)
    b.gear(joints["right"], joints["left"], -1.0, name="differential")
    b.independent.append(joints["left"])
    return b


def skid_rover() -> Builder:
    """A skid-steered rover: the two wheels of a side turn together."""
    b = _chassis("skid_rover", 30.0, 0.8, 0.5, 0.25)
    joint = {
        corner: _wheel(b, corner, "chassis", (0.3 * forward, 0.32 * left, -0.08), 2.0, 0.16)
        for corner, forward, left in _CORNERS
    }
    for side in ("left", "right"):
        b.gear(joint[f"rear_{side}"], joint[f"front_{side}"], 1.0, name=f"{side}_chain")
        b.independent.append(joint[f"front_{side}"])
    return b
