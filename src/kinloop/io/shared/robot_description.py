"""A robot as a file describes it: links, joints and loops by the file's own names, with their places in the file.

Every XML format is read into a `RobotDescription`; `make_mechanism` turns it into bodies.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinloop.errors import ModelError, unknown
from kinloop.io.shared.file_errors import Notes, Where
from kinloop.io.shared.reading_options import Options
from kinloop.model import (
    WORLD,
    Actuator,
    CarriedWeight,
    ContactRules,
    Coupling,
    Frame,
    Geometry,
    Joint,
    Keyframe,
    Loop,
    Sensor,
    Tendon,
)
from kinloop.model.mechanism import GRAVITY


@dataclass
class Link:
    """A link of the file: mass [kg], centre of mass [m], inertia about it [kg m^2], shapes."""

    name: str
    where: Where
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    geometry: list[Geometry] = field(default_factory=list)


@dataclass(frozen=True)
class PathCoupling:
    """URDF+: ratio * (joints from the nearest common ancestor to `predecessor`) = joints to `successor`."""

    name: str
    predecessor: str
    successor: str
    ratio: float


def check_spring(joint: Joint) -> None:
    """Refuse a spring on a joint that has no angle or length to pull on: a ball, a free body."""
    if joint.stiffness and joint.type.nq != joint.type.nv:
        raise ModelError(
            f"joint {joint.name!r} of type {joint.type.name} has stiffness {joint.stiffness:g}; springs act on joints "
            "with an angle or a length for each coordinate, leave it out"
        )


@dataclass
class RobotDescription:
    """Everything a file says. `places` has the place of every joint, `dependent` the joints URDF+ calls so."""

    name: str
    where: Where
    options: Options
    notes: Notes
    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    places: dict[str, Where] = field(default_factory=dict)
    loops: list[tuple[Loop, Where]] = field(default_factory=list)
    couplings: list[tuple[Coupling | PathCoupling, Where]] = field(default_factory=list)
    frames: list[tuple[Frame, Where]] = field(default_factory=list)
    closures: set[str] = field(default_factory=set)
    dependent: set[str] = field(default_factory=set)
    gravity: np.ndarray | tuple[float, float, float] = GRAVITY
    actuators: list[Actuator] = field(default_factory=list)
    keyframes: list[Keyframe] = field(default_factory=list)
    motors: list[str] = field(default_factory=list)
    world_geometry: list[Geometry] = field(default_factory=list)
    contact_rules: ContactRules = field(default_factory=ContactRules)
    inactive: list[str] = field(default_factory=list)
    tendons: list[Tendon] = field(default_factory=list)
    carried: list[CarriedWeight] = field(default_factory=list)
    sensors: list[Sensor] = field(default_factory=list)

    def add_link(self, link: Link) -> None:
        if link.name in self.links:
            raise link.where.error(f"a second link is named {link.name!r}; link names must be unique")
        if len(self.links) >= self.options.limits.links:
            raise link.where.error(f"is link number {len(self.links) + 1}, more than limits allow")
        self.links[link.name] = link

    def add_joint(self, joint: Joint, where: Where) -> None:
        if joint.name in self.joints:
            raise where.error(f"a second joint is named {joint.name!r}; joint names must be unique")
        with where.blamed():
            check_spring(joint)
        self.joints[joint.name] = joint
        self.places[joint.name] = where

    def add_loop(self, loop: Loop, where: Where) -> None:
        self._new_closure(loop.name, where)
        self.loops.append((loop, where))

    def add_coupling(self, coupling: Coupling | PathCoupling, where: Where) -> None:
        self._new_closure(coupling.name, where)
        self.couplings.append((coupling, where))

    def _new_closure(self, name: str, where: Where) -> None:
        if name in self.closures:
            raise where.error(f"a second loop or coupling is named {name!r}; their names must be unique")
        if len(self.closures) >= self.options.limits.links:
            raise where.error(f"is loop or coupling number {len(self.closures) + 1}, more than limits allow")
        self.closures.add(name)

    def known_link(self, name: str, where: Where, world: bool = True) -> str:
        """`name`, if the file has such a link (or it is the world)."""
        if name not in self.links and not (world and name == WORLD):
            raise where.error(f"refers to a missing link: {unknown('link', name, self.links)}")
        return name

    def unused_joint_name(self, name: str) -> str:
        """`name`, lengthened by underscores until no joint has it."""
        while name in self.joints:
            name += "_"
        return name
