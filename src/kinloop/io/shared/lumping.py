"""Links that move as one made into one body, and a check that some distribution of mass could be it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kinloop.io.shared.file_errors import Notes, Where
from kinloop.io.shared.robot_description import Link
from kinloop.model import WORLD, Body, Geometry, Joint
from kinloop.spatial import Transform, apply_pose

PUBLISHED = 1.3
"""Published moments of inertia exceed the sum of the other two by up to this factor (CAD exports, rotors)."""
EXCESS, TINY_EXCESS = 1e-6, 1e-15
"""What digits of a file let a moment exceed the sum of the other two by [of that sum; kg m^2]; as `Mechanism` does."""
NEGATIVE, TINY_NEGATIVE = 1e-9, 1e-12
"""Negative moments below these come from rounding [of the largest moment; kg m^2]."""
SPIN = 1e-2
"""How far from a joint's axis the axis of the largest moment may be [rad] for a body to count as a rotor."""
PARALLEL = 1e-9
"""Axes closer than this are one direction [rad]."""


@dataclass
class Lump:
    """A body in the making: its own link, and links fixed to it with their places in it."""

    name: str
    links: list[tuple[Link, Transform]] = field(default_factory=list)

    def add(self, link: Link, at: Transform) -> None:
        self.links.append((link, at))

    @property
    def where(self) -> Where:
        return self.links[0][0].where

    def inertia(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre of mass and inertia about it; parameters of a single link stay as they are."""
        heavy = [(link, T) for link, T in self.links if link.mass or np.any(link.inertia)]
        if not heavy:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        if len(heavy) == 1 and heavy[0][0].name == self.name:
            link = heavy[0][0]
            return link.mass, link.com, link.inertia
        mass = sum(link.mass for link, _ in heavy)
        coms = [apply_pose(T, link.com) for link, T in heavy]
        com = sum((link.mass * c for (link, _), c in zip(heavy, coms, strict=True)), np.zeros(3))
        com = com / mass if mass > 0 else np.zeros(3)
        total = np.zeros((3, 3))
        for (link, T), c in zip(heavy, coms, strict=True):
            d = c - com
            total += T.R @ link.inertia @ T.R.T + link.mass * ((d @ d) * np.eye(3) - np.outer(d, d))
        return mass, com, 0.5 * (total + total.T)

    def geometry(self) -> tuple[Geometry, ...]:
        return tuple(
            g if link.name == self.name else replace(g, placement=T.then(g.placement), link=link.name)
            for link, T in self.links
            for g in link.geometry
        )


def make_bodies(
    lumps: Sequence[Lump], carriers: Mapping[str, Joint], geared: set[str], accept: bool, notes: Notes
) -> tuple[Body, ...]:
    """The bodies of lumps; moments of inertia that no mass has are judged by `_judge`.

    `geared` are the joints of couplings: what they carry may be a rotor.
    """
    found = [lump.inertia() for lump in lumps]
    inertias = np.array([inertia for _, _, inertia in found])
    finite = np.isfinite(inertias).all(axis=(1, 2))
    moments = np.linalg.eigvalsh(np.where(finite[:, None, None], inertias, 0.0))
    clear = (moments[:, 0] >= 0.0) & (moments[:, 2] <= moments[:, 0] + moments[:, 1])  # most are, seen of all at once
    bodies = []
    for k, (lump, (mass, com, inertia)) in enumerate(zip(lumps, found, strict=True)):
        if not finite[k]:
            raise lump.where.error("its inertia overflows; check units of mass, inertia and origin")
        odd = False
        if not clear[k]:
            inertia = _nonnegative(lump, inertia)
            odd = not accept and _judge(lump, inertia, carriers, geared, notes)
        with lump.where.blamed():
            bodies.append(Body(lump.name, mass, com, inertia, accept or odd, lump.geometry()))
    return tuple(bodies)


def _nonnegative(lump: Lump, I: np.ndarray) -> np.ndarray:
    """The inertia, with principal moments that are negative by rounding made zero."""
    moments, axes = np.linalg.eigh(I)
    if moments[0] >= -NEGATIVE * abs(moments[2]):
        return I
    if moments[0] < -TINY_NEGATIVE:
        raise lump.where.error(
            f"body {lump.name!r} has the negative principal moment {moments[0]:.4g} kg m^2; correct its inertia"
        )
    mended: np.ndarray = (axes * np.maximum(moments, 0.0)) @ axes.T
    return mended


def _judge(lump: Lump, I: np.ndarray, carriers: Mapping[str, Joint], geared: set[str], notes: Notes) -> bool:
    """Whether impossible moments are accepted all the same, with a warning.

    They are where they never act (the body turns about one fixed direction only), for geared rotors (whose
    inertia about their own axis is what is published), and where they miss by no more than published ones
    do. Otherwise the error names the body and the way to accept it.
    """
    moments = np.linalg.eigvalsh(I)
    if moments[2] <= (moments[0] + moments[1]) * (1 + EXCESS) + TINY_EXCESS:
        return False
    shown = ", ".join(f"{x:.4g}" for x in moments)
    said = f"body {lump.name!r} has principal moments {shown} kg m^2, the largest above the sum of the others"
    if _turns_about_one_axis(lump.name, carriers):
        notes.warn(lump.where, f"{said}; it turns about one direction only, where this does not act")
        return True
    joint = carriers[lump.name]
    spin = joint.type.spin_axis
    if joint.name in geared and spin is not None and _spins(I, moments[2], spin):
        notes.warn(lump.where, f"{said}; it is a rotor about that axis, its moments are used as given")
        return True
    if moments[2] <= PUBLISHED * (moments[0] + moments[1]):
        notes.warn(lump.where, f"{said}; no distribution of mass has these, they are used as given")
        return True
    raise lump.where.error(
        f"{said}; no distribution of mass has these: correct them, or load with accept_inertia=True to use them"
    )


def _spins(I: np.ndarray, largest: float, axis: tuple[float, float, float]) -> bool:
    """Whether the largest moment is the one about a joint's axis."""
    a = np.array(axis)
    return bool(np.linalg.norm(I @ a - largest * a) <= SPIN * largest)


def _turns_about_one_axis(name: str, carriers: Mapping[str, Joint]) -> bool:
    """Whether every rotation between the world and a link is about one and the same direction."""
    axis: np.ndarray | None = None  # in the frame of the link `at`
    at = name
    while at != WORLD:
        joint = carriers[at]
        for mine in joint.type.turning_axes():
            if axis is not None and np.linalg.norm(np.cross(axis, mine)) > PARALLEL:
                return False
            axis = mine
        axis = None if axis is None else joint.placement.R @ axis
        at = joint.parent
    return True
