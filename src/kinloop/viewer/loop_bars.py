"""Bars between bodies: rods without mass, and the cranks and rods that users' functions stand for."""

from __future__ import annotations

from dataclasses import dataclass

from kinloop.model.loops.picture import BarEnds, BarPicture
from kinloop.robot import Robot
from kinloop.viewer.body_shapes import Color

PIN: Color = (52, 58, 68)
LOOP: Color = (214, 40, 48)


@dataclass(frozen=True, eq=False)
class Bar:
    """A bar between points of two bodies (-1: the world), given as functions of q in the bodies' frames."""

    name: str
    bodies: tuple[int, int]
    ends: BarEnds
    radius: float
    color: Color


def bars(robot: Robot, radius: float) -> list[Bar]:
    """The bars of all closures: rods in the colour of loops, cranks dark."""
    top = robot.tree.top
    return [_bar(x, radius) for loop in robot.mechanism.closures for x in loop.picture(top).bars]


def _bar(x: BarPicture, radius: float) -> Bar:
    return Bar(x.name, x.bodies, x.ends, x.width * radius, PIN if x.crank else LOOP)
