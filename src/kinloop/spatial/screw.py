"""Screw motion: where a constant twist leads in unit time, on numbers or symbols."""

from __future__ import annotations

import numpy as np

from kinloop import scalar as sc
from kinloop.linear import solve
from kinloop.scalar import Array
from kinloop.spatial.transform import cross


def screw_translation(w: Array, v: Array) -> Array:
    """Where a point moving with the constant body twist (w, v) arrives after unit time, in the start frame."""
    squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    small = squared < 1e-6
    safe = sc.where(small, 1.0, squared)
    angle = sc.sqrt(safe)
    half_sine = sc.sin(0.5 * angle)  # 1 - cos without cancellation
    a = sc.where(small, 0.5 - squared / 24.0 + squared * squared / 720.0, 2.0 * half_sine * half_sine / safe)
    b = sc.where(
        small, 1.0 / 6.0 - squared / 120.0 + squared * squared / 5040.0, (angle - sc.sin(angle)) / (safe * angle)
    )
    turned = cross(w, v)
    arrived: Array = v + a * turned + b * cross(w, turned)
    return arrived


def screw_velocity(w: Array, arrived: Array) -> Array:
    """The linear velocity v with which `screw_translation(w, v)` is the given point."""
    columns = np.stack([screw_translation(w, e) for e in np.eye(3)], axis=1)
    return solve(columns, arrived[:, None])[:, 0]
