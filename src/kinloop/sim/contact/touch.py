"""One candidate at a pose of its body: how far it is from the ground, its axes of contact, how fast it may go."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import Candidate
from kinloop.sim.contact.ground import Ground
from kinloop.sim.contact.solver import Impulses
from kinloop.spatial import Transform
from kinloop.spatial.transform import cross

LIFT = 0.02
"""A point below the surface comes up no faster than sqrt(LIFT g depth), the speed after a fall of a hundredth of its
depth: a bad start costs that much energy at most."""

LEAST = 9.81
"""The gravity that contacts reckon with where there is less [m/s^2]."""


class Touch(NamedTuple):
    """One candidate at a configuration: its gap [m], and the axes of contact (normal, two tangents) as columns.

    Axes are in the world; `wrench` (6, 3) has the wrenches of unit forces along them, in the body's frame. `point` is
    in the world, halfway between the candidate and the ground.
    """

    body: int
    gap: Any
    axes: Array
    wrench: Array
    point: Array


def touch(ground: Ground, c: Candidate, T: Transform) -> Touch:
    """A candidate over the ground, with its body at the pose T."""
    centre = T.p + T.R @ c.at
    gap, axes = ground.surface(centre)
    inside = T.R.T @ axes
    lever = c.at - c.radius * inside[:, 0]
    point = centre - (0.5 * (gap + c.radius)) * axes[:, 0]
    return Touch(c.body, gap - c.radius, axes, np.concatenate([cross(lever, inside), inside]), point)


def gravity_of(top: Topology) -> float:
    """Size of the gravity, and at least `LEAST` [m/s^2]: what is lifted as slowly as it would fall, and what is a blow.

    Without weight, too, things are pressed together, and would sink into each other by what steps do wrong.
    """
    return max(float(np.linalg.norm(top.mechanism.gravity)), LEAST)


def lowest_rate(g: float, gap: Any, h: Any) -> Any:
    """The smallest normal velocity after a step that begins with a gap, by (1) of `impact`."""
    lift = 0.5 * h * g + sc.sqrt(LIFT * g * sc.maximum(-gap, 0.0))
    return sc.minimum(-gap / h, lift)


def recorded(touches: list[Touch], impulses: list[Array], stops: list[Any], found: Impulses, h: Any) -> dict[str, Any]:
    """What can be recorded: forces in the world, gaps, impulses of joints, and how exactly the solver solved."""
    forces = [t.axes @ x / h for t, x in zip(touches, impulses, strict=True)]
    return {
        "contact_force": np.array(forces).reshape(len(forces), 3),
        "gap": np.array([t.gap for t in touches]),
        "joint_impulse": np.array(stops),
        "residual": np.array([found.residual]),
        "iterations": np.array([found.rounds]),
        "touching": [
            [*t.point, *t.axes[:, 0], *f, float(k)] for k, (t, f) in enumerate(zip(touches, forces, strict=True))
        ],
    }
