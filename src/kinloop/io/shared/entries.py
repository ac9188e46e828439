"""What a file says before it is a mechanism: links, path couplings, and how the user wants it read."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinloop.io.shared.failure import Where
from kinloop.io.shared.safe_xml import Limits
from kinloop.model import Geometry


@dataclass
class Link:
    """A link of the file: mass [kg], centre of mass [m], inertia about it [kg m^2], shapes."""

    name: str
    where: Where
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    geometry: list[Geometry] = field(default_factory=list)


@dataclass
class PathCoupling:
    """URDF+: ratio * (joints from the nearest common ancestor to `predecessor`) = joints to `successor`."""

    name: str
    predecessor: str
    successor: str
    ratio: float


@dataclass
class Options:
    """How the user wants a file to be read."""

    floating_base: bool | None = None
    keep_fixed: bool = False
    accept_inertia: bool = False
    limits: Limits = field(default_factory=Limits)
