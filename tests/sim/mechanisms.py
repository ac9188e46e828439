"""Mechanisms the simulator's tests share."""

from __future__ import annotations

from dataclasses import replace

import kinloop as kl
from kinloop.model import Builder
from kinloop.model.joints import Fixed, Free
from kinloop.robots.solid_inertias import bar, box


def crank_rocker(independent: str | None = None) -> kl.Robot:
    """A Grashof four-bar whose crank can turn fully; no configuration of it is singular in all charts."""
    b = Builder("crank_rocker")
    b.body("crank", axis="y", **bar(0.5, 0.2))
    b.body("coupler", "crank", axis="y", at=(0.2, 0, 0), **bar(0.8, 0.6))
    b.body("rocker", axis="y", at=(0.6, 0, 0), **bar(0.6, 0.5))
    b.loop("pin", "coupler", "rocker", axis="y", at=(0.6, 0, 0), at_successor=(0.5, 0, 0))
    if independent:
        b.independent = [independent]
    return b.build()


def pendulum(**joint: float) -> kl.Robot:
    b = Builder("pendulum")
    b.body("rod", axis="y", **bar(1.0, 0.5, along="z", sign=-1.0), **joint)
    return b.build()


def free_box(mass: float = 2.0, x: float = 0.2, y: float = 0.3, z: float = 0.1) -> kl.Robot:
    b = Builder("box")
    b.body("box", joint="free", **box(mass, x, y, z))
    return b.build()


def on_fixed_base(name: str) -> kl.Robot:
    """A robot of the zoo with its free base fixed to the world."""
    m = kl.robots.mechanism(name)
    joints = tuple(replace(j, type=Fixed()) if isinstance(j.type, Free) else j for j in m.joints)
    return replace(m, joints=joints).build()
