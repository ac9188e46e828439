"""What tendons do by themselves: springs with a dead band, damping, and limits of their lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.model import Tendon


@dataclass(frozen=True, eq=False)
class TendonForce:
    """The force of a tendon along its own length; without that of its limits where it is not `limited`."""

    tendon: Tendon
    limited: bool = True

    def force(self, length: Any, rate: Any) -> Any:
        """The force that makes it longer, at a length [m or rad] and its rate."""
        t = self.tendon
        out: Any = -t.damping * rate if t.damping else 0.0
        if t.stiffness:
            out = out - t.stiffness * self._stretch(length)
        for bound, way in self._limits() if self.limited else ():
            out = out - way * self._resistance(bound, way, length, rate)[0]
        return out

    def armature(self, length: Any, rate: Any, h: Any) -> Any:
        """What an implicit step of length h adds to the inertia along it."""
        t, spring = self.tendon, 0.25 * h * h
        out: Any = h * t.damping if t.damping else 0.0
        if t.stiffness:
            low, high = t.rest
            slack = sc.logical_and(length > low, length < high) if low < high else False
            out = out + sc.where(slack, 0.0, spring * t.stiffness)
        for bound, way in self._limits() if self.limited else ():
            pushes = self._resistance(bound, way, length, rate)[1]
            out = out + sc.where(pushes, spring * t.limit_stiffness + h * t.limit_damping, 0.0)
        return out

    def energy(self, length: Any) -> Any:
        """Energy in its springs [J]."""
        t, out = self.tendon, 0.5 * self.tendon.stiffness * self._stretch(length) ** 2
        for bound, way in self._limits():
            out = out + 0.5 * t.limit_stiffness * sc.maximum(way * (length - bound), 0.0) ** 2
        return out

    def _stretch(self, length: Any) -> Any:
        low, high = self.tendon.rest
        return length - (low if low == high else sc.minimum(sc.maximum(length, low), high))

    def _limits(self) -> list[tuple[float, float]]:
        """Bounds of the length, and in which direction there is beyond: 1 upward, -1 downward."""
        t = self.tendon
        pairs = zip(t.length_range, (-1.0, 1.0), strict=True)
        return [(bound, way) for bound, way in pairs if np.isfinite(bound) and t.is_limited]

    def _resistance(self, bound: float, way: float, length: Any, rate: Any) -> tuple[Any, Any]:
        """How hard a limit pushes back, and whether it does."""
        beyond = way * (length - bound)
        force = self.tendon.limit_stiffness * beyond + self.tendon.limit_damping * (way * rate)
        pushes = sc.logical_and(beyond > 0.0, force > 0.0)
        return sc.where(pushes, force, 0.0), pushes
