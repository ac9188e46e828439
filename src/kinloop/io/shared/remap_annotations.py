"""Actuators, tendons, sensors and carried weights of links, as those of the bodies that links were made into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinloop.io.shared.exact_poses import composed
from kinloop.io.shared.remap_closures import Places
from kinloop.model import WORLD, Actuator, CarriedWeight, Frame, Pulley, Sensor, Tendon, Wrap
from kinloop.spatial import apply_pose


def _frame(f: Frame, of: Places) -> Frame:
    body, T = of[f.body]
    return Frame(f.name, body, composed(T, f.placement))


def _maybe(f: Frame | None, of: Places) -> Frame | None:
    return None if f is None else _frame(f, of)


def remap_actuator(a: Actuator, of: Places) -> Actuator:
    return a if a.site is None else replace(a, site=_frame(a.site, of), reference=_maybe(a.reference, of))


def remap_sensor(s: Sensor, of: Places) -> Sensor:
    return s if s.frame is None else replace(s, frame=_frame(s.frame, of), reference=_maybe(s.reference, of))


def remap_tendon(t: Tendon, of: Places) -> Tendon:
    return replace(t, path=tuple(_part(x, of) for x in t.path)) if t.path else t


def _part(x: Frame | Wrap | Pulley, of: Places) -> Frame | Wrap | Pulley:
    match x:
        case Frame():
            return _frame(x, of)
        case Wrap():
            return replace(x, frame=_frame(x.frame, of), side=_maybe(x.side, of))
    return x


def carried_weights(given: Sequence[CarriedWeight], of: Places) -> tuple[CarriedWeight, ...]:
    """One weight for every body that moves: those of its links together."""
    found: dict[str, list[tuple[float, np.ndarray]]] = {}
    for w in given:
        body, T = of[w.body]
        if body != WORLD:
            found.setdefault(body, []).append((w.mass, apply_pose(T, w.at)))
    out = []
    for body, parts in found.items():
        mass = sum(m for m, _ in parts)
        if mass:
            at = sum((m * p for m, p in parts), np.zeros(3)) / mass
            out.append(CarriedWeight(body, mass, tuple(at.tolist())))
    return tuple(out)
