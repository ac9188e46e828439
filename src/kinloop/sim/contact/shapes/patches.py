"""Four points that stand for the patch in which two surfaces meet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from kinloop import scalar as sc
from kinloop.sim.contact.shapes.proximity import FAR, NEAR, choose

APART = 1e-6
"""Points of a patch that are nearer to each other count as one [m]."""

STEEP = 100.0
"""What a height above the other surface costs beside a length along it: a face that is tilted by more than 1 / STEEP
meets the other one in its lowest edge or corner, one that is tilted less in all its corners."""


def completed(chosen: Sequence[Any], nearest: Any, least: Any) -> list[list[Any]]:
    """Four points of a patch, where the nearest of all takes the place of its neighbour if none is as near.

    Points are rows of coordinates with a gap at the end, which becomes no smaller than `least`. Points that stand for
    the same place are `FAR` but for the first.
    """
    missing = _least([x[-1] for x in chosen]) > nearest[-1] + NEAR
    away = [_apart(x, nearest) for x in chosen]
    closest = _least(away)
    out = [choose(sc.logical_and(missing, r <= closest), nearest, x) for r, x in zip(away, chosen, strict=True)]
    gaps = [sc.maximum(x[-1], least) for x in out]
    for k, other in combinations(range(4), 2):
        same = _apart(out[k], out[other]) < APART
        gaps[k] = sc.where(same, sc.minimum(gaps[k], gaps[other]), gaps[k])
        gaps[other] = sc.where(same, FAR, gaps[other])
    return [[*x[:-1], gap] for x, gap in zip(out, gaps, strict=True)]


def _apart(x: Any, y: Any) -> Any:
    """The largest difference of coordinates of two points."""
    most = sc.abs(x[0] - y[0])
    for a, b in zip(x[1:-1], y[1:-1], strict=True):
        most = sc.maximum(most, sc.abs(a - b))
    return most


def _least(x: list[Any]) -> Any:
    return sc.minimum(sc.minimum(x[0], x[1]), sc.minimum(x[2], x[3]))
