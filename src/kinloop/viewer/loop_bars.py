"""Bars between bodies: rods without mass, and the cranks and rods behind Tello's differentials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinloop.model.parts import LoopFunction
from kinloop.robot import Robot
from kinloop.robots.tello import HipDifferential, KneeAnkleDifferential
from kinloop.spatial.transform import Array
from kinloop.viewer.body_shapes import Color

PIN: Color = (52, 58, 68)
LOOP: Color = (214, 40, 48)

Ends = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Bar:
    """A bar between points of two bodies (-1: the world), given as functions of q in the bodies' frames."""

    name: str
    bodies: tuple[int, int]
    ends: Ends
    radius: float
    color: Color


def differential_bars(robot: Robot, loop: LoopFunction, radius: float) -> list[Bar]:
    """Cranks and rods of a Tello differential; other functions of joints have no picture."""
    top = robot.tree.top
    joints = [top.joint_index[j] for j in loop.joints]
    if isinstance(loop.phi, HipDifferential):
        parts = _hip(loop.phi, [top.q_of[i].start for i in joints], np.array(top.placement[joints[2]].p, dtype=float))
        body = top.parent[joints[0]]
    elif isinstance(loop.phi, KneeAnkleDifferential):
        parts = _knee_ankle(loop.phi, [top.q_of[i].start for i in joints])
        body = joints[2]
    else:
        return []
    out = []
    for name, ends in parts.items():
        wide, color = (1.2, PIN) if name.startswith("crank") else (0.8, LOOP)
        out.append(Bar(f"{loop.name}_{name}", (body, body), ends, wide * radius, color))
    return out


def _hip(phi: HipDifferential, place: list[int], origin: Array) -> dict[str, Ends]:
    """In the clamp's frame; `place` are the positions in q of the two rotors, the gimbal and the thigh."""

    def side_of(k: int, side: float) -> dict[str, Ends]:
        pivot = origin + np.array([0.0, side * phi.offset, phi.height])

        def tip(q: Array) -> Array:
            return origin + np.array(phi.crank_tip(q[place[k]], side), dtype=float)

        def held(q: Array) -> Array:
            return origin + np.array(phi.thigh_point(q[place[2]], q[place[3]], side), dtype=float)

        return {f"crank{k + 1}": lambda q: (pivot, tip(q)), f"rod{k + 1}": lambda q: (tip(q), held(q))}

    return side_of(0, 1.0) | side_of(1, -1.0)


def _knee_ankle(phi: KneeAnkleDifferential, place: list[int]) -> dict[str, Ends]:
    """In the shin's frame, whose z points from ankle to knee and whose y is the knee's axis."""

    def flat(x: float, y: float) -> Array:
        return np.array([-float(y), 0.0, -float(x)])

    def tip(q: Array) -> Array:
        return flat(*phi.crank_tip(q[place[0]], q[place[1]]))

    def held(q: Array) -> Array:
        return flat(*phi.foot_point(q[place[3]]))

    pivot = flat(phi.pivot * np.cos(phi.pivot_angle), phi.pivot * np.sin(phi.pivot_angle))
    return {"crank": lambda q: (pivot, tip(q)), "rod": lambda q: (tip(q), held(q))}
