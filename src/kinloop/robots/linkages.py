"""Planar and spatial linkages.

The first five have the parameters of generalized_rbda (ROAM Lab, MIT licence, commit 45fa7c4). Bodies of theirs
that no distribution of mass can have, taken as published: link1 and link2 of `double_pendulum` (the second
has 0.2 about z and 0.015 about x and y together), and all bodies of `planar_leg_linkage`, a planar model with
inertia about z only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.model import Builder
from kinloop.robots.solid_inertias import bar, box


def double_pendulum() -> Builder:
    """Two links turning about z, two degrees of freedom, no loop."""
    b = Builder("double_pendulum")
    b.body("link1", mass=2, inertia=(0.05, 0.03, 0.01), axis="z", joint_name="joint1", accept_inertia=True)
    b.body(
        "link2", "link1", mass=1, inertia=(0.01, 0.005, 0.2), axis="z", at=(0.1, 0, 0), joint_name="joint2",
        accept_inertia=True,
    )  # fmt: skip
    return b


_LINK: dict[str, Any] = {"mass": 3.3, "inertia": (0.011253, 0.036203, 0.042673), "axis": "z"}


def four_bar() -> Builder:
    """A parallelogram of four bars in the plane, one degree of freedom."""
    b = Builder("four_bar")
    b.body("link1", **_LINK, joint_name="joint1")
    b.body("link3", **_LINK, joint_name="joint3", at=(1, 0, 0))
    b.body("link2", "link1", **_LINK, joint_name="joint2", at=(0.5, 0, 0))
    b.loop("pin", "link2", "link3", axis="z", at=(1, 0, 0), at_successor=(0.5, 0, 0))
    b.independent = ["joint1"]
    return b


def six_bar() -> Builder:
    """A ring of six bars in the plane, three degrees of freedom."""
    b = Builder("six_bar")
    b.body("link1", **_LINK, joint_name="joint1")
    b.body("link4", **_LINK, joint_name="joint4")
    b.body("link2", "link1", **_LINK, joint_name="joint2", at=(0.1, 0, 0))
    b.body("link5", "link4", **_LINK, joint_name="joint5", at=(0.4, 0, 0))
    b.body("link3", "link2", **_LINK, joint_name="joint3", at=(0.2, 0, 0))
    b.loop("pin", "link3", "link5", axis="z", at=(0.3, 0, 0), at_successor=(0.5, 0, 0))
    b.independent = ["joint1", "joint2", "joint3"]
    return b


_LEG_JOINTS = {
    "planar_leg_linkage": ("thigh_joint", "shank_driver_joint", "shank_support_joint", "foot_joint"),
    "planar_leg_linkage_urdf": ("base_to_thigh", "thigh_to_driver", "thigh_to_support", "driver_to_foot"),
}


def add_planar_leg(b: Builder, name: str, parent: str, **placed: Any) -> None:
    """Add the bodies of the planar leg to a parent body, where its hip is `placed`."""
    hip, driver, support, ankle = _LEG_JOINTS[name]

    def link(body: str, parent: str, joint: str, mass: float, com: float, izz: float, **placed: Any) -> None:
        b.body(
            body, parent, joint_name=joint, axis="z", mass=mass, com=(com, 0, 0), inertia=(0, 0, izz),
            accept_inertia=True, **placed,
        )  # fmt: skip

    link("thigh", parent, hip, 0.23, 0.0364, 4.538900000000001e-05, **placed)
    link("shank_driver", "thigh", driver, 0.004, 0.048, 3.2569999999999995e-06, at=(0.011, 0, 0))
    link("shank_support", "thigh", support, 0.225, 0.04, 2.2917999999999973e-05, at=(0.042, 0, 0))
    link("foot", "shank_driver", ankle, 0.017, 0.0635, 2.2176e-05, at=(0.096, 0, 0))
    b.loop("ankle_pin", "foot", "shank_support", axis="z", at=(0.031, 0, 0), at_successor=(0.096, 0, 0))
    b.independent = [driver]
    if name == "planar_leg_linkage":
        b.frame("end-effector", "foot", (0.127, 0, 0))
        b.end_effectors.append("end-effector")


def planar_leg_linkage(name: str = "planar_leg_linkage") -> Builder:
    """A planar leg whose foot is driven by a parallelogram, two degrees of freedom."""
    b = Builder(name)
    add_planar_leg(b, name, "world")
    return b


def planar_leg_linkage_urdf() -> Builder:
    """The planar leg with the joint names of its URDF+ file and no contact point."""
    return planar_leg_linkage("planar_leg_linkage_urdf")


def slider_crank() -> Builder:
    """A crank turning about y drives a slider along x through a connecting rod, one degree of freedom."""
    b = Builder("slider_crank")
    crank = b.body("crank", axis="y", **bar(0.5, 0.1))
    b.body("rod", "crank", axis="y", at=(0.1, 0, 0), **bar(0.8, 0.3))
    b.body("slider", joint="prismatic", axis="x", at=(0.4, 0, 0), **box(1.0, 0.08, 0.06, 0.06))
    b.loop("wrist_pin", "rod", "slider", axis="y", at=(0.3, 0, 0))
    b.independent = [crank]
    return b


def rssr() -> Builder:
    """A spatial four-bar: two cranks on crossed axes tied by a rod with ball ends, one degree of freedom."""
    b = Builder("rssr")
    crank = b.body("crank", axis="z", **bar(0.5, 0.1))
    b.body("rocker", axis="y", at=(0.3, 0.2, 0), **bar(0.8, 0.25, along="z"))
    b.rod("coupler", "crank", "rocker", (0.1, 0, 0), (0, 0, 0.25), float(np.sqrt(0.2**2 + 0.2**2 + 0.25**2)))
    b.independent = [crank]
    return b


def bennett() -> Builder:
    """Bennett's linkage: four skew hinges that move only because a / sin(alpha) = b / sin(beta)."""
    long, short, twist = 0.4, 0.2, np.pi / 2
    twist_short = float(np.arcsin(short * np.sin(twist) / long))
    b = Builder("bennett")
    crank = b.body("crank", axis="z", **bar(0.5, short))
    b.body("coupler", "crank", axis="z", at=(short, 0, 0), rpy=(twist_short, 0, 0), **bar(1.0, long))
    b.body("rocker", axis="z", at=(-long, 0, 0), rpy=(-twist, 0, 0), **bar(0.5, short, sign=-1.0))
    b.loop(
        "hinge", "coupler", "rocker", axis="z", at=(long, 0, 0), rpy=(twist, 0, 0), at_successor=(-short, 0, 0),
        rpy_successor=(-twist_short, 0, 0),
    )  # fmt: skip
    b.independent = [crank]
    return b


def bricard() -> Builder:
    """Bricard's linkage: six bars on six edges of a cube, hinges perpendicular to both neighbours."""
    b = Builder("bricard")
    parent, at = "world", (0.0, 0.0, 0.0)
    edges = (("x", 1.0, "y"), ("y", 1.0, "z"), ("z", 1.0, "x"), ("x", -1.0, "y"), ("y", -1.0, "z"))
    for k, (along, sign, axis) in enumerate(edges, start=1):
        b.body(f"bar{k}", parent, axis=axis, at=at, **bar(1.0, 1.0, 0.05, along, sign))
        tip = [0.0, 0.0, 0.0]
        tip["xyz".index(along)] = sign
        parent, at = f"bar{k}", (tip[0], tip[1], tip[2])
    b.loop("hinge", parent, "world", axis="x", at=at, at_successor=(0, 0, 1))
    return b
