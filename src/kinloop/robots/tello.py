"""Tello, whose legs are driven through differentials, written as the rods they are made of.

Hip: two cranks on the hip clamp push two rods that end on the thigh, which hangs in a gimbal below them.
Knee and ankle: the mean of two cranks turns the shin, their difference pulls the foot by a rod along it.
Cranks turn with their rotors, geared down by N. Parameters: generalized_rbda (ROAM Lab, MIT licence, commit
45fa7c4), differentials as derived there from the geometry.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.model import Builder, Topology
from kinloop.model.loops.picture import BarEnds, BarPicture
from kinloop.robots.body_tables import add_table, read, symmetric
from kinloop.scalar import Array

GEAR = 6.0


@dataclass(frozen=True)
class HipDifferential:
    """Rod lengths of the hip as equations; lengths in metres, origin at the gimbal's centre, clamp's axes."""

    radius: float = 0.08
    offset: float = 0.07
    height: float = 0.1425
    rod: float = 0.155
    gear: float = GEAR

    def crank_tip(self, rotor: Any, side: float) -> tuple[Any, Any, Any]:
        """Where a crank holds its rod, on the clamp; side +1 is left, -1 right."""
        y = rotor / self.gear
        return -self.radius * sc.cos(y), side * self.offset, self.height + self.radius * sc.sin(y)

    def thigh_point(self, gimbal: Any, thigh: Any, side: float) -> tuple[Any, Any, Any]:
        """Where the rod ends: the thigh's point (-radius, side * offset, 0) turned by Rx(gimbal) Ry(thigh)."""
        x, y, z = -self.radius * sc.cos(thigh), side * self.offset, self.radius * sc.sin(thigh)
        c, s = sc.cos(gimbal), sc.sin(gimbal)
        return x, c * y - s * z, s * y + c * z

    def __call__(self, rotor_1: Any, rotor_2: Any, gimbal: Any, thigh: Any) -> list[Any]:
        return [
            stretch(self.crank_tip(rotor, side), self.thigh_point(gimbal, thigh, side), self.rod)
            for rotor, side in ((rotor_1, 1.0), (rotor_2, -1.0))
        ]

    def bars(self, top: Topology, joints: list[int]) -> list[BarPicture]:
        """Cranks and rods, in the clamp's frame; `joints` are the two rotors, the gimbal and the thigh."""
        clamp, origin = top.parent[joints[0]], np.array(top.placement[joints[2]].p, dtype=float)
        place = [top.q_of[i].start for i in joints]

        def side_of(k: int, side: float) -> list[BarPicture]:
            pivot = origin + np.array([0.0, side * self.offset, self.height])

            def tip(q: Array) -> Array:
                x: Array = origin + np.array(self.crank_tip(q[place[k]], side), dtype=float)
                return x

            def end(q: Array) -> Array:
                x: Array = origin + np.array(self.thigh_point(q[place[2]], q[place[3]], side), dtype=float)
                return x

            return [
                crank_bar(f"crank{k + 1}", clamp, lambda q: (pivot, tip(q))),
                rod_bar(f"rod{k + 1}", clamp, lambda q: (tip(q), end(q))),
            ]

        return side_of(0, 1.0) + side_of(1, -1.0)


@dataclass(frozen=True)
class KneeAnkleDifferential:
    """The rod along the shin, and the shin's angle; plane of the shin, x from knee to ankle, origin at the knee."""

    shin: float = 0.26
    pivot: float = 0.042
    pivot_angle: float = radians(20.0)
    crank: float = 0.04
    crank_angle: float = radians(-59.16)
    lever: float = 0.035
    lever_angle: float = radians(-66.0)
    rod: float = 0.2146
    gear: float = GEAR

    def crank_tip(self, rotor_1: Any, rotor_2: Any) -> tuple[Any, Any]:
        turn = self.crank_angle - (rotor_1 - rotor_2) / (2.0 * self.gear)
        x, y = self.pivot * sc.cos(self.pivot_angle), self.pivot * sc.sin(self.pivot_angle)
        return x + self.crank * sc.cos(turn), y + self.crank * sc.sin(turn)

    def foot_point(self, foot: Any) -> tuple[Any, Any]:
        turn = self.lever_angle + foot
        return self.shin + self.lever * sc.cos(turn), self.lever * sc.sin(turn)

    def __call__(self, rotor_1: Any, rotor_2: Any, shin: Any, foot: Any) -> list[Any]:
        mean = (rotor_1 + rotor_2) / (2.0 * self.gear)
        return [stretch(self.crank_tip(rotor_1, rotor_2), self.foot_point(foot), self.rod), shin - mean]

    def bars(self, top: Topology, joints: list[int]) -> list[BarPicture]:
        """Crank and rod, in the shin's frame, whose z points from ankle to knee and whose y is the knee's axis."""
        place = [top.q_of[i].start for i in joints]

        def flat(x: float, y: float) -> Array:
            return np.array([-float(y), 0.0, -float(x)])

        def tip(q: Array) -> Array:
            return flat(*self.crank_tip(q[place[0]], q[place[1]]))

        def end(q: Array) -> Array:
            return flat(*self.foot_point(q[place[3]]))

        pivot = flat(self.pivot * np.cos(self.pivot_angle), self.pivot * np.sin(self.pivot_angle))
        return [
            crank_bar("crank", joints[2], lambda q: (pivot, tip(q))),
            rod_bar("rod", joints[2], lambda q: (tip(q), end(q))),
        ]


def crank_bar(name: str, body: int, ends: BarEnds) -> BarPicture:
    """How a crank on a body looks."""
    return BarPicture(name, (body, body), ends, crank=True, width=1.2)


def rod_bar(name: str, body: int, ends: BarEnds) -> BarPicture:
    """How a rod looks whose ends are given in the frame of one body."""
    return BarPicture(name, (body, body), ends, width=0.8)


def stretch(a: tuple[Any, ...], b: tuple[Any, ...], length: float) -> Any:
    """(|a - b|^2 - L^2) / (2 L): how far two points are from a rod's length apart [m], to first order."""
    return (sum((x - y) * (x - y) for x, y in zip(a, b, strict=True)) - length * length) / (2.0 * length)


HIP = HipDifferential()
KNEE_ANKLE = KneeAnkleDifferential()

_DOWN = ((1, 0, 0), (0, -1, 0), (0, 0, -1))
_LEFTWARD = ((-1, 0, 0), (0, 0, 1), (0, 1, 0))
_RIGHTWARD = ((1, 0, 0), (0, 0, -1), (0, 1, 0))

_ROTOR: dict[str, Any] = {"mass": 0.07, "inertia": (2.5984e-05, 2.5984e-05, 5.1512e-05), "axis": "z"}


def _link(mass: float, com: tuple[float, float, float], *moments: float) -> dict[str, Any]:
    return {"mass": mass, "com": com, "inertia": symmetric(list(moments))}


_TORSO = _link(2.3008, (0.007300000000000001, -0.0013, -0.0023), 0.0366, 0.0142, 0.0291, 0, -0.0006, -0.0002)
_CLAMP = _link(1.3289, (-0.001, 0, -0.0069), 0.0032, 0.0033, 0.0027, 0, 0.0001, 0)
_GIMBAL = _link(
    0.4433, (-0.0026999999999999997, 0, 0.0258), 0.0017999999999999997, 0.0016999999999999997, 0.0015
)  # fmt: skip
_THIGH = _link(1.5424, (0.0029999999999999996, -0.0001, -0.0323), 0.0103, 0.0097, 0.0027, 0, -0.0005, 0)
_SHIN = _link(0.3072, (0.0047, -0.0003, -0.1043), 0.005400000000000001, 0.0054, 0.0001, 0, -0.0002, 0)
_FOOT = _link(0.1025, (0.0042, 0, -0.0251), 9.4e-05, 0.0001773, 9.01e-05, 0, -3.8e-06, 0)


def _leg(b: Builder, side: str, y: float) -> None:
    clamp, gimbal, thigh, shin, foot = (f"{side}-{part}" for part in ("hip-clamp", "gimbal", "thigh", "shin", "foot"))

    def add(part: str, parent: str, joint: str, **parameters: Any) -> str:
        return b.body(f"{side}-{part}", parent, joint_name=joint, **parameters)

    yaw = add("hip-clamp", "torso", f"torso-to-{clamp}", axis="z", at=(0, y, -0.087), **_CLAMP)
    motor = add("hip-clamp-rotor", "torso", f"torso-to-{clamp}-rotor", at=(0, y, -0.026), rotation=_DOWN, **_ROTOR)
    b.gear(motor, yaw, GEAR, name=clamp)
    hip = [
        add("hip-rotor-1", clamp, f"{clamp}-to-hip-rotor-1", at=(0, 0.04, 0), rotation=_LEFTWARD, **_ROTOR),
        add("hip-rotor-2", clamp, f"{clamp}-to-hip-rotor-2", at=(0, -0.04, 0), rotation=_RIGHTWARD, **_ROTOR),
        add("gimbal", clamp, f"{clamp}-to-gimbal", axis="x", at=(0, 0, -0.1425), **_GIMBAL),
        add("thigh", gimbal, f"{gimbal}-to-thigh", axis="y", **_THIGH),
    ]
    rotor = f"{thigh}-to-knee-ankle-rotor"
    knee = [
        add("knee-ankle-rotor-1", thigh, f"{rotor}-1", at=(0, 0.02655, 0), rotation=_RIGHTWARD, **_ROTOR),
        add("knee-ankle-rotor-2", thigh, f"{rotor}-2", at=(0, -0.02655, 0), rotation=_LEFTWARD, **_ROTOR),
        add("shin", thigh, f"{thigh}-to-shin", axis="y", at=(0, 0, -0.2268), **_SHIN),
        add("foot", shin, f"{shin}-to-foot", axis="y", at=(0, 0, -0.26), **_FOOT),
    ]
    b.loop_function(f"{side}-hip-differential", hip, HIP)
    b.loop_function(f"{side}-knee-ankle-differential", knee, KNEE_ANKLE)
    b.independent += [yaw, *hip[:2], *knee[:2]]
    b.frame(f"{side}-toe_contact", foot, (0.1 if side == "left" else -0.1, 0, -0.041))
    b.frame(f"{side}-heel_contact", foot, (-0.05, 0, -0.041))


def tello(name: str = "tello") -> Builder:
    """Tello's legs with hip and knee-ankle differentials, 16 degrees of freedom."""
    b = Builder(name)
    b.body("torso", joint="free", joint_name="torso-to-ground", **_TORSO)
    _leg(b, "left", 0.126)
    _leg(b, "right", -0.126)
    b.end_effectors.append("left-toe_contact")
    return b


def tello_with_arms() -> Builder:
    """Tello with differentials in its legs and geared arms, 24 degrees of freedom."""
    b = tello("tello_with_arms")
    add_table(b, read("tello_arms"))
    return b
