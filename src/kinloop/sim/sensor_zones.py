"""Volumes in which contacts are felt: whether a line that begins at a point meets one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array

PARALLEL = 1e-30
"""Added where a line may be parallel to what it is to meet."""

Interval = tuple[Any, Any]
"""From where to where along the line it is inside; the second is less than the first where it never is."""


def meets(kind: str, size: Sequence[float], p: Array, d: Array) -> Any:
    """Whether the line from p along the unit vector d, both in the frame of the volume, is anywhere inside of it."""
    found: Any = False
    for first, last in WITHIN[kind](size, p, d):
        found = sc.logical_or(found, last >= sc.maximum(first, 0.0))
    return found


def _ball(p: Array, d: Array, radii: Any) -> Interval:
    """Inside of |x / radii| = 1; the line may lie in a plane, for a round tube."""
    x, y = p / radii, d / radii
    a, b = y @ y + PARALLEL, x @ y
    square = b * b - a * (x @ x - 1.0)
    way = sc.sqrt(sc.maximum(square, 0.0)) / a
    return -b / a - way, sc.where(square < 0.0, -np.inf, -b / a + way)


def _slab(x: Any, y: Any, half: float) -> Interval:
    """Between two planes."""
    rate = sc.where(sc.abs(y) < PARALLEL, PARALLEL, y)
    ends = (-half - x) / rate, (half - x) / rate
    return sc.minimum(*ends), sc.maximum(*ends)


def _both(*parts: Interval) -> Interval:
    first, last = parts[0]
    for a, b in parts[1:]:
        first, last = sc.maximum(first, a), sc.minimum(last, b)
    return first, last


def _cylinder(size: Sequence[float], p: Array, d: Array) -> list[Interval]:
    return [_both(_ball(p[:2], d[:2], size[0]), _slab(p[2], d[2], 0.5 * size[1]))]


def _capsule(size: Sequence[float], p: Array, d: Array) -> list[Interval]:
    ends = [np.array([0.0, 0.0, 0.5 * s * size[1]]) for s in (-1.0, 1.0)]
    return [*_cylinder(size, p, d), *(_ball(p - end, d, size[0]) for end in ends)]


WITHIN: dict[str, Callable[[Sequence[float], Array, Array], list[Interval]]] = {
    "sphere": lambda size, p, d: [_ball(p, d, size[0])],
    "ellipsoid": lambda size, p, d: [_ball(p, d, np.array(size))],
    "box": lambda size, p, d: [_both(*(_slab(x, y, 0.5 * s) for x, y, s in zip(p, d, size, strict=True)))],
    "cylinder": _cylinder,
    "capsule": _capsule,
}
"""Stretches of a line inside of a volume of each kind (`model.sensor.ZONES`)."""
