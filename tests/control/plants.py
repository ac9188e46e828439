"""Robots that the tests of control share."""

from __future__ import annotations

from functools import cache

import numpy as np

import kinloop as kl


@cache
def four_bar() -> tuple[kl.Robot, np.ndarray]:
    """A four-bar linkage, and where it begins."""
    b = kl.Builder("four_bar")
    _linkage(b, "world")
    b.independent = ["crank_joint"]
    robot = b.build()
    return robot, robot.close([-0.5, 0.3, -1.5])


@cache
def floating() -> kl.Robot:
    """A free base that carries a four-bar linkage and a ball."""
    b = kl.Builder("floating")
    b.body("base", mass=2.0, com=(0.02, 0.01, 0.0), inertia=(0.03, 0.02, 0.04), joint="free")
    _linkage(b, "base")
    b.body(
        "ball", "base", at=(0, 0.1, 0.2), mass=0.4, com=(0.0, 0.05, 0.1), inertia=(4e-3, 3e-3, 2e-3), joint="spherical"
    )
    b.frame("tip", "coupler", at=(0.3, 0.0, 0.2))
    b.independent = ["crank_joint"]
    return b.build()


def _linkage(b: kl.Builder, parent: str) -> None:
    for name, below, length, mass, at in (
        ("crank", parent, 0.2, 0.5, 0.0), ("coupler", "crank", 0.6, 1.2, 0.2), ("rocker", parent, 0.4, 0.8, 0.5),
    ):  # fmt: skip
        across = mass * length**2 / 12
        inertial = {"mass": mass, "com": (length / 2, 0, 0), "inertia": (1e-4, across, across)}
        b.body(name, below, axis="y", at=(at, 0, 0), **inertial)
    b.loop("pin", "coupler", "rocker", "revolute", axis="y", at=(0.6, 0, 0), at_successor=(0.4, 0, 0))
