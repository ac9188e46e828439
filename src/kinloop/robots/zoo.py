"""The robots of the zoo by name: list, describe, build, load them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kinloop.errors import MethodError, unknown
from kinloop.model import Body, Builder, Mechanism
from kinloop.robots import linkages, parallel_robots, published_robots, tello, vehicles
from kinloop.robots.floating_bases import with_base
from kinloop.robots.link_chains import belt_chain, four_bar_chain, geared_chain, revolute_rotor_chain
from kinloop.robots.tip_constrained_trees import ladder, serial_chain, stalk

if TYPE_CHECKING:
    from kinloop.robot import Robot

_ZOO: dict[str, Callable[..., Builder]] = {
    f.__name__: f
    for f in (
        published_robots.mini_cheetah, published_robots.mit_humanoid, published_robots.mit_humanoid_no_rotors,
        published_robots.mit_humanoid_leg, tello.tello, tello.tello_with_arms, published_robots.jvrc1,
        published_robots.jvrc1_urdf, published_robots.teleop_arm, linkages.double_pendulum, linkages.four_bar,
        linkages.six_bar, linkages.planar_leg_linkage, linkages.planar_leg_linkage_urdf, linkages.slider_crank,
        linkages.rssr, linkages.bennett, linkages.bricard, parallel_robots.stewart, revolute_rotor_chain, geared_chain,
        belt_chain, four_bar_chain, vehicles.wishbone, vehicles.rocker, vehicles.skid_rover, ladder, stalk,
        serial_chain,
    )
}  # fmt: skip


def names() -> list[str]:
    """Names of all robots in the zoo."""
    return list(_ZOO)


def describe(name: str) -> str:
    """One line about a robot."""
    return (inspect.getdoc(_find(name)) or "").splitlines()[0]


def mechanism(name: str, /, floating_base: bool | Body | None = None, **options: Any) -> Mechanism:
    """The mechanism of a robot of the zoo. Some take options: `mechanism("geared_chain", links=24)`.

    `floating_base`: None as the robot is, True frees the base, False fixes it. Where a robot stands on the world
    itself, a `kinloop.Body` takes the world's place and floats.
    """
    build = _find(name)
    allowed = _options(build)
    for option in options:
        if option not in allowed:
            takes = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            raise MethodError(f"robot {name!r} has no option {option!r}; {takes}")
    return with_base(build(**options).mechanism(), floating_base)


def load(name: str, /, floating_base: bool | Body | None = None, **options: Any) -> Robot:
    """A robot of the zoo, ready to compute; options as for `mechanism`."""
    return mechanism(name, floating_base, **options).build()


def _find(name: str) -> Callable[..., Builder]:
    if name not in _ZOO:
        raise unknown("robot", name, _ZOO)
    return _ZOO[name]


def _options(build: Callable[..., Builder]) -> list[str]:
    return [p for p in inspect.signature(build).parameters if p != "name"]
