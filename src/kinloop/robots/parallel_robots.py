"""Parallel robots."""

from __future__ import annotations

import numpy as np

from kinloop.errors import MethodError
from kinloop.model import Builder
from kinloop.robots.solid_inertias import bar, disc

_BASE_RADIUS, _PLATFORM_RADIUS, _HEIGHT = 0.5, 0.3, 0.6


def _ring(radius: float, spread: float, turn: float) -> list[np.ndarray]:
    """Six points on a circle, in three pairs `spread` apart [rad]."""
    angles = [turn + k * 2 * np.pi / 3 + s * spread / 2 for k in range(3) for s in (-1, 1)]
    return [np.array([radius * np.cos(a), radius * np.sin(a), 0.0]) for a in angles]


def _pointing(z: np.ndarray) -> np.ndarray:
    """A rotation whose third column points along z."""
    z = z / np.linalg.norm(z)
    x = np.cross([0.0, 1.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def stewart(independent: str = "platform") -> Builder:
    """A Stewart-Gough platform on six legs (universal, prismatic, ball), six degrees of freedom.

    `independent="platform"` makes v the platform's twist, `"legs"` the rates of the six slides.
    """
    if independent not in ("platform", "legs"):
        raise MethodError(f"independent={independent!r} is not one of 'platform', 'legs'")
    b = Builder("stewart")
    platform = b.body("platform", joint="free", at=(0, 0, _HEIGHT), **disc(5.0, _PLATFORM_RADIUS, 0.03))
    # each foot belongs to the nearest point of the platform, whose pairs are turned by 60 degrees
    feet = _ring(_BASE_RADIUS, 0.5, 0.0)
    tops = _ring(_PLATFORM_RADIUS, 2 * np.pi / 3 - 0.5, 0.0)
    slides = []
    for k, (foot, top) in enumerate(zip(feet, tops, strict=True), start=1):
        leg = top + np.array([0.0, 0.0, _HEIGHT]) - foot
        length = float(np.linalg.norm(leg))
        b.body(f"tube{k}", joint="universal", at=foot, rotation=_pointing(leg), **bar(0.5, 0.3, along="z"))
        piston = bar(0.3, 0.3, 0.02, along="z", sign=-1.0)
        slides.append(b.body(f"piston{k}", f"tube{k}", joint="prismatic", axis="z", at=(0, 0, length), **piston))
        b.loop(f"ball{k}", f"piston{k}", "platform", "spherical", at_successor=top)
    b.independent = [platform] if independent == "platform" else slides
    return b
