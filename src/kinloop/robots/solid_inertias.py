"""Mass properties of simple solids, for robots that have no published parameters."""

from __future__ import annotations

from typing import Any

AXES = "xyz"


def box(mass: float, x: float, y: float, z: float, com: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> dict[str, Any]:
    """A uniform box with edges x, y, z [m]."""
    m = mass / 12.0
    return {"mass": mass, "com": com, "inertia": (m * (y * y + z * z), m * (x * x + z * z), m * (x * x + y * y))}


def bar(mass: float, length: float, width: float = 0.03, along: str = "x", sign: float = 1.0) -> dict[str, Any]:
    """A uniform square bar that starts at the body's origin and runs along one of its axes."""
    size, com = [width] * 3, [0.0] * 3
    k = AXES.index(along)
    size[k], com[k] = length, 0.5 * sign * length
    return box(mass, size[0], size[1], size[2], (com[0], com[1], com[2]))


def disc(mass: float, radius: float, thickness: float, axis: str = "z") -> dict[str, Any]:
    """A uniform disc that turns about one of the body's axes: a rotor, a wheel."""
    across = mass * (3.0 * radius * radius + thickness * thickness) / 12.0
    inertia = [across] * 3
    inertia[AXES.index(axis)] = 0.5 * mass * radius * radius
    return {"mass": mass, "com": (0.0, 0.0, 0.0), "inertia": tuple(inertia)}
