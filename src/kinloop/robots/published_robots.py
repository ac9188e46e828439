"""Robots with published parameters, from tables in `data/`.

Inertials that no distribution of mass can have, taken as published (`accept_inertia` in the tables): the
rotors of JVRC-1 and the hip links of Mini Cheetah, whose largest principal moment exceeds the sum of the others.
"""

from __future__ import annotations

from kinloop.model import Builder
from kinloop.robots.body_tables import from_table


def mini_cheetah() -> Builder:
    """MIT Mini Cheetah with its rotors, 18 degrees of freedom."""
    return from_table("mini_cheetah")


def mit_humanoid() -> Builder:
    """MIT Humanoid with its rotors and belts, 24 degrees of freedom."""
    return from_table("mit_humanoid")


def mit_humanoid_no_rotors() -> Builder:
    """MIT Humanoid as a tree of its links, 24 degrees of freedom."""
    return from_table("mit_humanoid_no_rotors", "mit_humanoid", rotors=False)


def mit_humanoid_leg() -> Builder:
    """One leg of the MIT Humanoid on a fixed base, with rotors and belts, 5 degrees of freedom."""
    return from_table("mit_humanoid_leg")


def teleop_arm() -> Builder:
    """Teleoperation arm with belts to elbow and wrist, 7 degrees of freedom."""
    return from_table("teleop_arm")


def jvrc1() -> Builder:
    """JVRC-1 with a geared rotor at every joint, 38 degrees of freedom."""
    return from_table("jvrc1")


def jvrc1_urdf() -> Builder:
    """JVRC-1 as its URDF+ file has it, 38 degrees of freedom, 25 rotors."""
    return from_table("jvrc1_urdf")
