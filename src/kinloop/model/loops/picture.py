"""How a closure looks, as plain data: a viewer decides on colours and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kinloop.model.joints import JointType
from kinloop.scalar import Array
from kinloop.spatial import Transform

BarEnds = Callable[[Array], tuple[Array, Array]]
"""Both ends of a bar as a function of q, each in the frame of its body."""


class Mark(NamedTuple):
    """What shows where a body is held, at `placement` in its frame: the pin of a joint type, or a ball (None)."""

    body: str
    placement: Transform
    type: JointType | None = None


class BarPicture(NamedTuple):
    """A bar between a point of each of two bodies (-1: the world); `crank` tells a driven lever from a rod.

    `width` is relative to the bars that show links.
    """

    name: str
    bodies: tuple[int, int]
    ends: BarEnds
    crank: bool = False
    width: float = 1.0


class Picture(NamedTuple):
    """Points where bodies are held, as (body, point in its frame); marks; and bars without mass."""

    points: tuple[tuple[str, Array], ...] = ()
    marks: tuple[Mark, ...] = ()
    bars: tuple[BarPicture, ...] = ()
