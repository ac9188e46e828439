"""Loop joints as points and welds, the only loops that MuJoCo's and Pinocchio's constraints can say."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kinloop.clusters import ClusterTree, grow
from kinloop.errors import ModelError
from kinloop.io.convert.coordinate_map import AnyRobot, tree_of
from kinloop.model import Loop, LoopJoint
from kinloop.model import joints as jt
from kinloop.spatial import Transform

ARM = 0.1
"""Where the second point of a hinge lies on its axis [m]."""

End = tuple[str, Transform]
"""A body's name and a frame on it."""


class LoopPoint(NamedTuple):
    """Two frames whose origins meet; `rigid` where their axes stay aligned too."""

    loop: str
    rigid: bool
    predecessor: End
    successor: End


def loop_points(robot: AnyRobot) -> list[LoopPoint]:
    """The loops of a robot as points and welds; a loop that these cannot say is an error.

    A ball is a point. A hinge is a point too where the rest of the mechanism keeps its axes aligned, as in planar
    linkages; else two points along its axis.
    """
    tree = tree_of(robot)
    loops = [_sayable(loop) for loop in tree.top.mechanism.loops]
    count = 1 if balls_suffice(tree) else 2
    return [point for loop in loops for point in _points(loop, count)]


def balls_suffice(tree: ClusterTree) -> bool:
    """Whether balls in place of the hinges that close loops leave as many freedoms."""
    m = tree.top.mechanism
    loops = tuple(map(_ball_for_hinge, m.loops))
    return loops == m.loops or grow(replace(m, loops=loops, independent=())).nv == tree.nv


def _ball_for_hinge(loop: Loop) -> Loop:
    if isinstance(loop, LoopJoint) and isinstance(loop.type, jt.Revolute):
        return replace(loop, type=jt.Spherical())
    return loop


def _sayable(loop: Loop) -> LoopJoint:
    if not isinstance(loop, LoopJoint):
        raise ModelError(f"loop {loop.name!r} is a {type(loop).__name__}, which points and welds cannot say")
    if not isinstance(loop.type, jt.Revolute | jt.Spherical | jt.Fixed):
        raise ModelError(
            f"loop {loop.name!r} is closed by a {loop.type.name} joint, which points and welds cannot say; "
            "they can say revolute, spherical and fixed ones"
        )
    return loop


def _points(loop: LoopJoint, hinge: int) -> list[LoopPoint]:
    ends = ((loop.predecessor, loop.predecessor_placement), (loop.successor, loop.successor_placement))
    if not isinstance(loop.type, jt.Revolute):
        return [LoopPoint(loop.name, isinstance(loop.type, jt.Fixed), *ends)]
    axis = np.array(loop.type.axis)
    moved = [[(body, Transform(at.R, at.p + ARM * k * (at.R @ axis))) for body, at in ends] for k in range(hinge)]
    return [LoopPoint(loop.name, False, *pair) for pair in moved]
