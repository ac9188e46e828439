"""Serial chains of any length with geared, belted and linked joints."""

from __future__ import annotations

from typing import Any

from kinloop.model import Builder
from kinloop.robots.option_checks import whole_number
from kinloop.robots.solid_inertias import bar, disc

QUARTER_TURN = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
"""Turns each hinge against the one before it, so that the chains move in space."""

_LENGTH = 0.3
_LINK = bar(1.0, _LENGTH, 0.05)
_ROTOR = disc(0.1, 0.03, 0.02)


def revolute_rotor_chain() -> Builder:
    """Three links of 1 m and their geared rotors, all turning about z, parameters of generalized_rbda."""
    b = Builder("revolute_rotor_chain")
    parent, x = "world", 0.0
    for k in range(3):
        link = b.body(
            f"link-{k}", parent, axis="z", at=(x, 0, 0), mass=1, com=(0.5, 0, 0), inertia=(1, 1, 1),
            joint_name=f"joint{k + 1}",
        )  # fmt: skip
        rotor = b.body(
            f"rotor-{k}", parent, axis="z", at=(x, 0, 0), inertia=(1e-4, 1e-4, 1e-4), joint_name=f"joint{k + 1}r"
        )
        b.gear(rotor, link, 6.0, name=f"gear-{k}")
        b.independent.append(link)
        parent, x = f"link-{k}", 1.0
    return b


def geared_chain(links: int = 12, ratio: float = 6.0) -> Builder:
    """Serial chain with geared transmissions, a link and a rotor per joint (Robot A of Chignoli2023b)."""
    b = Builder("geared_chain")
    parent, at = "world", (0.0, 0.0, 0.0)
    for k in range(whole_number("links", links, 1)):
        place: dict[str, Any] = {"axis": "z", "at": at, "rotation": QUARTER_TURN}
        link = b.body(f"link-{k}", parent, **place, **_LINK)
        rotor = b.body(f"rotor-{k}", parent, **place, **_ROTOR)
        b.gear(rotor, link, ratio, name=f"gear-{k}")
        b.independent.append(link)
        parent, at = f"link-{k}", (_LENGTH, 0.0, 0.0)
    return _with_tip(b, parent)


def belt_chain(links: int = 12, gear: float = 6.0, belt: float = 2.0) -> Builder:
    """Serial chain with parallel belt transmissions, two links and two rotors each (Robot B of Chignoli2023b).

    Both rotors of a pair sit before its first link; the second one's belt runs over the first hinge, so
    its angle follows both links.
    """
    b = Builder("belt_chain")
    parent, at = "world", (0.0, 0.0, 0.0)
    for k in range(0, whole_number("links", links, 2, step=2), 2):
        place: dict[str, Any] = {"axis": "z", "at": at, "rotation": QUARTER_TURN}
        near, far = f"link-{k}", f"link-{k + 1}"
        first = b.body(near, parent, **place, **_LINK)
        rotors = [b.body(f"rotor-{k + i}", parent, **place, **_ROTOR) for i in range(2)]
        second = b.body(far, near, axis="z", at=(_LENGTH, 0, 0), **_LINK)
        b.linear(rotors, [first, second], [[gear * belt, 0.0], [gear * belt, gear * belt]], name=f"belts-{k // 2}")
        b.independent += [first, second]
        parent, at = far, (_LENGTH, 0.0, 0.0)
    return _with_tip(b, parent)


def _with_tip(b: Builder, last: str) -> Builder:
    b.frame("tip", last, (_LENGTH, 0, 0))
    b.end_effectors.append("tip")
    return b


def four_bar_chain(links: int = 20) -> Builder:
    """Chain of planar four-bars, each on the rocker of the one before, one degree of freedom each."""
    b = Builder("four_bar_chain")
    parent, x = "world", 0.0

    def rod(name: str, on: str, at: float, mass: float, length: float) -> str:
        across = mass * length * length / 12.0
        return b.body(
            name, on, axis="y", at=(at, 0, 0), mass=mass, com=(length / 2, 0, 0), inertia=(1e-3, across, across)
        )

    for k in range(whole_number("links", links, 1)):
        crank = rod(f"crank-{k}", parent, x, 1.0, 0.4)
        rod(f"coupler-{k}", f"crank-{k}", 0.4, 2.0, 1.0)
        rod(f"rocker-{k}", parent, x + 1.2, 1.5, 0.8)
        b.loop(f"pin-{k}", f"coupler-{k}", f"rocker-{k}", axis="y", at=(1, 0, 0), at_successor=(0.8, 0, 0))
        b.independent.append(crank)
        parent, x = f"rocker-{k}", 0.1
    return b
