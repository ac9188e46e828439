"""The zoo: robots with loops, ready to load by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kinloop.errors import MethodError, unknown
from kinloop.model import Builder, Mechanism
from kinloop.robots import link_chains as chains
from kinloop.robots import linkages, tello, vehicles
from kinloop.robots import parallel_robots as parallel
from kinloop.robots import published_robots as published
from kinloop.robots import tip_constrained_trees as ladder

if TYPE_CHECKING:
    from kinloop.robot import Robot

_ZOO: dict[str, Callable[..., Builder]] = {
    f.__name__: f
    for f in (
        published.mini_cheetah, published.mit_humanoid, published.mit_humanoid_no_rotors, published.mit_humanoid_leg,
        tello.tello, tello.tello_with_arms, published.jvrc1, published.jvrc1_urdf, published.teleop_arm,
        linkages.double_pendulum, linkages.four_bar, linkages.six_bar, linkages.planar_leg_linkage,
        linkages.planar_leg_linkage_urdf, linkages.slider_crank, linkages.rssr, linkages.bennett, linkages.bricard,
        parallel.stewart, chains.revolute_rotor_chain, chains.geared_chain, chains.belt_chain, chains.four_bar_chain,
        vehicles.wishbone, vehicles.rocker, vehicles.skid_rover, ladder.ladder, ladder.stalk, ladder.serial_chain,
    )
}  # fmt: skip


def names() -> list[str]:
    """Names of all robots in the zoo."""
    return list(_ZOO)


def describe(name: str) -> str:
    """One line about a robot."""
    return (inspect.getdoc(_find(name)) or "").splitlines()[0]


def mechanism(name: str, /, **options: Any) -> Mechanism:
    """The mechanism of a robot of the zoo. Some take options: `mechanism("geared_chain", links=24)`."""
    build = _find(name)
    allowed = _options(build)
    for option in options:
        if option not in allowed:
            takes = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            raise MethodError(f"robot {name!r} has no option {option!r}; {takes}")
    return build(**options).mechanism()


def load(name: str, /, **options: Any) -> Robot:
    """A robot of the zoo, ready to compute."""
    return mechanism(name, **options).build()


def _find(name: str) -> Callable[..., Builder]:
    if name not in _ZOO:
        raise unknown("robot", name, _ZOO)
    return _ZOO[name]


def _options(build: Callable[..., Builder]) -> list[str]:
    return [p for p in inspect.signature(build).parameters if p != "name"]
