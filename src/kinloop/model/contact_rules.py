"""What a model file says about contact: surfaces of shapes, and which of them may touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kinloop.errors import ModelError
from kinloop.model.frozen_arrays import frozen_number, frozen_numbers

CONTACT_DIMENSIONS = (1, 3, 4, 6)
"""Without friction; with friction along the surface; also about its normal; also against rolling."""
FRICTION = (1.0, 0.005, 0.0001)
SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)


@dataclass(frozen=True)
class Surface:
    """How a shape touches others, in MuJoCo's words and with its defaults.

    `friction`: along the surface [1], about its normal [m], against rolling [m]; `condim` says how many of a contact's
    forces and torques there are (1, 3, 4, 6). Two shapes may touch if a bit of the `contype` of one is set in the
    `conaffinity` of the other. Of two shapes the one with higher `priority` says condim and friction; of equal ones
    the larger values count. Contacts act nearer than the sum of both margins [m]; MuJoCo finds them, for others to see,
    further off by the `gap`. `solref` and `solimp` say how soft MuJoCo's contacts are; nothing here depends on them.
    """

    friction: tuple[float, float, float] = FRICTION
    condim: int = 3
    contype: int = 1
    conaffinity: int = 1
    priority: int = 0
    margin: float = 0.0
    gap: float = 0.0
    solref: tuple[float, ...] = SOLREF
    solimp: tuple[float, ...] = SOLIMP

    def __post_init__(self) -> None:
        _check(self, "a surface", 3)
        for key in ("contype", "conaffinity", "priority"):
            object.__setattr__(self, key, _integer(getattr(self, key), f"{key} of a surface"))


@dataclass(frozen=True)
class ContactPair:
    """Two shapes, by name, that may touch whatever else the file says.

    `friction`: in both directions along the surface, about its normal, against rolling in both directions. The rest
    is as in a `Surface`; `solreffriction` is MuJoCo's `solref` of the directions along the surface.
    """

    name: str
    shape1: str
    shape2: str
    friction: tuple[float, float, float, float, float] = (1.0, 1.0, 0.005, 0.0001, 0.0001)
    condim: int = 3
    margin: float = 0.0
    gap: float = 0.0
    solref: tuple[float, ...] = SOLREF
    solreffriction: tuple[float, ...] = (0.0, 0.0)
    solimp: tuple[float, ...] = SOLIMP

    def __post_init__(self) -> None:
        _check(self, f"contact pair {self.name!r}", 5)
        own = frozen_numbers(self.solreffriction, 2, f"solreffriction of {self.name!r}")
        object.__setattr__(self, "solreffriction", own)


class ExcludedLinks(NamedTuple):
    """Two links of a file whose shapes never touch: names of bodies, of links lumped into them, or of the world."""

    link1: str
    link2: str


@dataclass(frozen=True)
class ContactRules:
    """Which shapes may touch, besides what their surfaces say.

    `exclude` has links whose shapes never touch, `pairs` shapes that may whatever else is said. `filter_parents` keeps
    a body from touching the nearest body with mass that carries it, if that can move. `enabled` is False where the
    file switches contact off.
    """

    exclude: tuple[ExcludedLinks, ...] = ()
    pairs: tuple[ContactPair, ...] = ()
    filter_parents: bool = True
    enabled: bool = True


def _check(x: Surface | ContactPair, what: str, count: int) -> None:
    """Numbers as floats of the right count; condim one of those there are."""
    for key, size in (("friction", count), ("solref", 2), ("solimp", 5)):
        object.__setattr__(x, key, frozen_numbers(getattr(x, key), size, f"{key} of {what}"))
    if min(x.friction) < 0.0:
        raise ModelError(f"friction of {what} is {x.friction}; it must not be negative")
    for key in ("margin", "gap"):
        object.__setattr__(x, key, frozen_number(getattr(x, key), f"{key} of {what}"))
    condim = _integer(x.condim, f"condim of {what}")
    if condim not in CONTACT_DIMENSIONS:
        raise ModelError(f"condim of {what} is {condim}; it must be one of {', '.join(map(str, CONTACT_DIMENSIONS))}")
    object.__setattr__(x, "condim", condim)


def _integer(x: object, what: str) -> int:
    if type(x) is int:
        return x
    value = frozen_number(x, what)
    if value != int(value):
        raise ModelError(f"{what} is {x!r}; give a whole number")
    return int(value)
